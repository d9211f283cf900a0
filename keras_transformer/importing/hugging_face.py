"""Folders of Hugging Face's MarianMTModel.

References: transformers' `modeling_marian.py`, `tokenization_marian.py` and
`convert_marian_to_pytorch.py`.
"""

import pathlib

from keras_transformer.errors import InputError
from keras_transformer.files import read_json
from keras_transformer.importing.foreign import ACTIVATIONS, ForeignModel
from keras_transformer.importing.tensors import (
    read_safetensors,
    read_state_dict,
)
from keras_transformer.importing.vocabulary import read_vocabulary

CONFIG = "config.json"
# What the model would compute otherwise, by the values that are understood.
_UNDERSTOOD = {
    "model_type": ("marian",),
    "scale_embedding": (True,),
    "normalize_before": (False,),
    "normalize_embedding": (False,),
    "add_final_layer_norm": (False,),
    "static_position_embeddings": (True,),
    "quantization_config": (None,),
    "extra_pos_embeddings": (0,),
}
_SIZES = {
    "d_model": "d_model",
    "num_heads": "encoder_attention_heads",
    "d_ff": "encoder_ffn_dim",
    "num_encoder_layers": "encoder_layers",
    "num_decoder_layers": "decoder_layers",
}
_POSITIONS = "max_position_embeddings"
# Of the model that `convert_marian_to_pytorch.py` makes, unless it says so.
_DEFAULTS = {
    "scale_embedding": False,
    "activation_function": "gelu",
    _POSITIONS: 512,
}
_LARGEST = 1 << 16  # Of any size; the largest models have 16,384.


def read_hugging_face(folder: pathlib.Path) -> ForeignModel:
    """A folder with `config.json`, weights, vocabulary and `.spm` files.

    Raises:
        InputError: a file is missing or damaged, or says something that
            isn't understood.
    """
    config = _DEFAULTS | read_json(folder / CONFIG)
    _check(folder / CONFIG, config)
    weights = folder / "model.safetensors"
    if not weights.is_file():
        weights = folder / "pytorch_model.bin"
    if not weights.is_file():
        raise InputError(
            f"{folder}: no weights. Accepted: model.safetensors or "
            "pytorch_model.bin, in one file"
        )
    described = _optional(folder / "tokenizer_config.json")
    names = ["vocab.json"]
    if described.get("separate_vocabs"):
        names.append("target_vocab.json")
    vocabularies = [read_vocabulary(folder / name) for name in names]
    vocabularies = (vocabularies[0], vocabularies[-1])
    spm = tuple(folder / f"{side}.spm" for side in ("source", "target"))
    tied = _tied(config)
    # The source's START is never seen; a shared table has it all the same.
    start = _start(folder, config, vocabularies[1])
    read = read_state_dict if weights.suffix == ".bin" else read_safetensors
    return ForeignModel(
        folder=folder,
        kind="Hugging Face Marian",
        tensors=read(weights),
        sizes={ours: config[theirs] for ours, theirs in _SIZES.items()},
        activation=config["activation_function"],
        tied_embeddings=tied,
        vocabularies=vocabularies,
        paddings=tuple(v.get("<pad>") for v in vocabularies),
        starts=(start if tied == "all" else None, start),
        sentencepiece=spm,
        max_length=config[_POSITIONS],
        decoding=_decoding(folder, config),
        languages=tuple(
            str(described.get(f"{side}_lang") or "")
            for side in ("source", "target")
        ),
        punctuation="none",
        files=(
            folder / CONFIG,
            weights,
            *(folder / name for name in names),
            *spm,
        ),
    )


def _optional(path):
    return read_json(path) if path.is_file() else {}


def _check(path, config):
    for key, accepted in _UNDERSTOOD.items():
        value = config.get(key, accepted[0])
        if value not in accepted:
            raise InputError(
                f"{path}: {key} is {value!r:.60}, which isn't understood. "
                f"Accepted: {accepted[0]!r}"
            )
    if config["activation_function"] not in [*ACTIVATIONS]:
        raise InputError(
            f"{path}: activation_function is "
            f"{config['activation_function']!r:.60}. Accepted: "
            f"{', '.join(ACTIVATIONS)}"
        )
    for key in (*_SIZES.values(), _POSITIONS):
        value = config.get(key)
        if type(value) is not int or not 1 <= value <= _LARGEST:
            raise InputError(
                f"{path}: {key} is {value!r:.60}. Accepted: 1 to {_LARGEST}"
            )
    for key in ("attention_heads", "ffn_dim"):
        sides = [config.get(f"{s}_{key}") for s in ("encoder", "decoder")]
        if sides[0] != sides[1]:
            raise InputError(
                f"{path}: {key} of encoder and decoder differ "
                f"({sides[0]} and {sides[1]}), which isn't understood"
            )


def _tied(config):
    if not config.get("tie_word_embeddings", True):
        return "none"
    share = config.get("share_encoder_decoder_embeddings", True)
    return "all" if share else "target"


def _start(folder, config, vocabulary):
    start = config.get("decoder_start_token_id", vocabulary.get("<pad>"))
    if type(start) is not int or not 0 <= start < len(vocabulary):
        raise InputError(
            f"{folder / CONFIG}: decoder_start_token_id is {start!r:.60}, no "
            "id of the vocabulary"
        )
    return start


def _decoding(folder, config):
    generation = config | _optional(folder / "generation_config.json")
    beams = generation.get("num_beams") or 4
    penalty = generation.get("length_penalty")
    return {
        "beam_size": beams,
        "length_penalty": 1.0 if penalty is None else penalty,
        "length_normalization": "average",
    }
