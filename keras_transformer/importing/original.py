"""Import of models in Marian's own format, as published by OPUS-MT.

References: marian-dev's `src/models/transformer.h` and `src/layers/generic.h`.
"""

import pathlib
import re

from keras_transformer.constants import SPECIAL_TOKENS, UNK_ID
from keras_transformer.errors import InputError, shown
from keras_transformer.importing.folders import (
    read_head,
    read_yaml,
    yaml_mapping,
)
from keras_transformer.importing.foreign import (
    ForeignModel,
    refused,
    require_understood,
    without_counterpart,
)
from keras_transformer.importing.tensors import read_npz
from keras_transformer.importing.vocabulary import read_vocabulary

DECODER = "decoder.yml"
_SETTINGS = "special:model.yml"
# Settings that change Marian's computation, with the supported value.
_UNDERSTOOD = {
    "type": "transformer",
    "input-types": [],
    "right-left": False,
    "transformer-decoder-autoreg": "self-attention",
    "transformer-no-projection": False,
    "transformer-no-bias": False,
    "transformer-no-affine": False,
    "transformer-preprocess": "",
    "transformer-postprocess": "dan",
    "transformer-postprocess-emb": "d",
    "transformer-postprocess-top": "",
    "transformer-train-position-embeddings": False,
    "transformer-tied-layers": [],
    "transformer-ffn-depth": 2,
    "transformer-depth-scaling": False,
    "transformer-rnn-projection": False,
    "transformer-pool": False,
    "lemma-dim-emb": 0,
    "lemma-dependency": "",
    "layer-normalization": False,
    "ulr": False,
    "output-approx-knn": [],
    "output-omit-bias": False,
    "factors-dim-emb": 0,
}
# Settings that searches here don't have, with the values that turn them off.
_NEUTRAL = {"max-length-factor": 3, "output-sampling": False}
_SIZES = {
    "d_model": "dim-emb",
    "num_heads": "transformer-heads",
    "d_ff": "transformer-dim-ffn",
    "num_encoder_layers": "enc-depth",
    "num_decoder_layers": "dec-depth",
}
_ACTIVATION = "transformer-ffn-activation"
_LETTERS = {"q": "q", "k": "k", "v": "v", "o": "out"}
_NORMS = {"scale": "weight", "bias": "bias"}
_MAX_LENGTH = 512


def read_original(folder: pathlib.Path) -> ForeignModel:
    """Reads a folder with `decoder.yml`, weights, vocabularies and `.spm`s.

    Raises:
        InputError: a file is missing or damaged, or a setting isn't supported.
    """
    path = folder / DECODER
    decoder = read_yaml(path, "Marian")
    weights, names = _named_files(folder, decoder)
    arrays = read_npz(weights)
    settings = _settings(weights, arrays)
    source, target = (read_vocabulary(folder / name) for name in names)
    spm = folder / "source.spm", folder / "target.spm"
    return ForeignModel(
        folder=folder,
        kind="Marian",
        tensors=_renamed(weights, arrays, settings),
        sizes={ours: settings[theirs] for ours, theirs in _SIZES.items()},
        activation=settings[_ACTIVATION],
        tied_embeddings=_tied(weights, settings),
        vocabularies=(source, target),
        paddings=(None, None),
        starts=(None, None),
        sentencepiece=spm,
        max_length=_MAX_LENGTH,
        decoding=_decoding(folder, decoder),
        left_out=without_counterpart(decoder, _NEUTRAL),
        languages=_languages(folder),
        punctuation=_punctuation(folder),
        files=(
            path,
            weights,
            *(folder / name for name in dict.fromkeys(names)),
            *spm,
        ),
    )


def _named_files(folder, decoder):
    """Returns the weights' path and the names of both vocabularies."""
    path = folder / DECODER
    models, names = decoder.get("models"), decoder.get("vocabs")
    for key, value, count in (("models", models, 1), ("vocabs", names, 2)):
        fits = isinstance(value, list) and len(value) == count
        if not fits or not all(isinstance(name, str) for name in value):
            accepted = f"{count} file name{'s' * (count > 1)}"
            raise refused(path, key, value, accepted)
    for name in (*models, *names):
        if pathlib.PurePath(name).name != name:
            raise InputError(
                f"{path}: {shown(name, 60)} is outside the folder. Accepted: "
                "a file name"
            )
    if not models[0].endswith(".npz"):
        raise InputError(
            f"{path}: {shown(models[0], 60)}, as of quantised models. "
            "Accepted: .npz"
        )
    factored = [n for n in names if not n.endswith((".yml", ".yaml"))]
    if factored:
        raise InputError(
            f"{path}: {shown(factored[0], 60)}, a vocabulary with factors or "
            "of another kind. Accepted: .yml"
        )
    return folder / models[0], names


def _settings(path, arrays):
    """Reads the model's settings, which are stored among its weights."""
    raw = arrays.pop(_SETTINGS, None)
    if raw is None:
        raise InputError(f"{path}: no {_SETTINGS} in it, not a Marian model")
    content = raw.tobytes().rstrip(b"\0")
    settings = yaml_mapping(content, f"{path}: {_SETTINGS}")
    require_understood(path, settings, _UNDERSTOOD)
    activation = settings.setdefault(_ACTIVATION, "swish")
    if activation not in ("relu", "silu", "swish"):
        raise refused(path, _ACTIVATION, activation, "relu, swish")
    for key in _SIZES.values():
        size = settings.get(key)
        if type(size) is not int or size < 1:
            raise refused(path, key, size, "1 or more")
    return settings


def _tied(path, settings):
    if settings.get("tied-embeddings-all"):
        return "all"
    if settings.get("tied-embeddings-src"):
        raise InputError(
            f"{path}: tied-embeddings-src without tied-embeddings-all, which "
            "isn't understood"
        )
    return "target" if settings.get("tied-embeddings") else "none"


def _renamed(path, arrays, settings):
    """Renames arrays to transformers' names, and transposes kernels."""
    tensors = {}

    def take(theirs, ours, kernel=False):
        if theirs not in arrays:
            raise InputError(f"{path}: no tensor {theirs}")
        array = arrays.pop(theirs)
        tensors[ours] = array.T if kernel else array.ravel()

    for side, count in (
        ("encoder", settings["enc-depth"]),
        ("decoder", settings["dec-depth"]),
    ):
        kinds = {"self": "self_attn"}
        if side == "decoder":
            kinds["context"] = "encoder_attn"
        for i in range(count):
            theirs, ours = f"{side}_l{i + 1}", f"model.{side}.layers.{i}"
            for short, long in kinds.items():
                for x, y in _LETTERS.items():
                    name = f"{ours}.{long}.{y}_proj"
                    take(f"{theirs}_{short}_W{x}", f"{name}.weight", True)
                    take(f"{theirs}_{short}_b{x}", f"{name}.bias")
                for x, y in _NORMS.items():
                    name = f"{ours}.{long}_layer_norm.{y}"
                    take(f"{theirs}_{short}_Wo_ln_{x}", name)
            for n in (1, 2):
                take(f"{theirs}_ffn_W{n}", f"{ours}.fc{n}.weight", True)
                take(f"{theirs}_ffn_b{n}", f"{ours}.fc{n}.bias")
            for x, y in _NORMS.items():
                name = f"{ours}.final_layer_norm.{y}"
                take(f"{theirs}_ffn_ffn_ln_{x}", name)
    return tensors | _renamed_embeddings(path, arrays)


def _renamed_embeddings(path, arrays):
    names = {
        "Wemb": "model.shared.weight",
        "encoder_Wemb": "model.encoder.embed_tokens.weight",
        "decoder_Wemb": "model.decoder.embed_tokens.weight",
    }
    tensors = {
        ours: arrays.pop(theirs)
        for theirs, ours in names.items()
        if theirs in arrays
    }
    if "decoder_ff_logit_out_W" in arrays:
        tensors["lm_head.weight"] = arrays.pop("decoder_ff_logit_out_W").T
    if "decoder_ff_logit_out_b" in arrays:
        bias = arrays.pop("decoder_ff_logit_out_b")
        tensors["final_logits_bias"] = bias.reshape(1, -1)
    if arrays:
        raise InputError(
            f"{path}: {len(arrays)} tensors that aren't understood, such as "
            f"{shown(next(iter(arrays)))}"
        )
    return tensors


def _decoding(folder, decoder):
    require_understood(folder / DECODER, decoder, {"word-penalty": 0})
    alpha = decoder.get("normalize", 0)
    return {
        "beam_size": decoder.get("beam-size", 12),
        "length_penalty": 1.0 if alpha is True else alpha,
        "length_normalization": "average",
        "banned_tokens": []
        if decoder.get("allow-unk")
        else [SPECIAL_TOKENS[UNK_ID]],
    }


def _languages(folder):
    """Guesses languages from folders such as `opus-2020-07-17.en-zh`."""
    match = re.search(
        r"(?<![a-z])([a-z]{2,3})-([a-z]{2,3})$", folder.resolve().name
    )
    return match.groups() if match else ("", "")


def _punctuation(folder):
    """Returns the normalisation in the script that prepared the training."""
    script = folder / "preprocess.sh"
    if not script.is_file():
        return "none"
    said = "normalize-punctuation" in read_head(script)
    return "moses" if said else "none"
