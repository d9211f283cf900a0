"""Folders of Hugging Face's MarianMTModel, M2M100 and NLLB.

References: transformers' `modeling_marian.py`, `tokenization_marian.py`,
`convert_marian_to_pytorch.py`, `modeling_m2m_100.py`,
`tokenization_m2m_100.py` and `tokenization_nllb.py`.
"""

import pathlib
import re
from typing import Any

from keras_transformer.errors import InputError, shown
from keras_transformer.files import read_json
from keras_transformer.importing.foreign import ACTIVATIONS, ForeignModel
from keras_transformer.importing.raw_tensors import read_safetensors
from keras_transformer.importing.tensors import read_state_dict
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
_UNDERSTOOD_M2M100 = {
    "model_type": ("m2m_100",),
    "scale_embedding": (True,),
    "tie_word_embeddings": (True,),
    "quantization_config": (None,),
}
_VOCABULARY = "vocab.json"
# M2M100's languages, in the order of their tokens, which no file has.
_LANGUAGES = {
    "m2m100": (
        "af am ar ast az ba be bg bn br bs ca ceb cs cy da de el en es et fa "
        "ff fi fr fy ga gd gl gu ha he hi hr ht hu hy id ig ilo is it ja jv ka "
        "kk km kn ko lb lg ln lo lt lv mg mk ml mn mr ms my ne nl no ns oc or "
        "pa pl ps pt ro ru sd si sk sl so sq sr ss su sv sw ta th tl tn tr uk "
        "ur uz vi wo xh yi yo zh zu"
    ),
    "wmt21": "en ha is ja cs ru zh de",
}
# The token of a language: M2M100's __en__, NLLB's eng_Latn.
_CODE = re.compile("__[a-z]{2,3}__|[a-z]{3}_[A-Z][a-z]{3}")
# <s> is what a START is called here; theirs is never used.
_RENAMED = {"<s>": "<unused s>"}
_SIZES = {
    "d_model": "d_model",
    "num_heads": "encoder_attention_heads",
    "d_ff": "encoder_ffn_dim",
    "num_encoder_layers": "encoder_layers",
    "num_decoder_layers": "decoder_layers",
}
_DROPOUTS = {
    "dropout": "dropout",
    "attention_dropout": "attention_dropout",
    "feedforward_dropout": "activation_dropout",
}
_POSITIONS = "max_position_embeddings"
# Of the model that `convert_marian_to_pytorch.py` makes, unless it says so.
_DEFAULTS = {
    "scale_embedding": False,
    "activation_function": "gelu",
    _POSITIONS: 512,
}
_M2M100_DEFAULTS = {
    "activation_function": "relu",
    "vocab_size": 128_112,
    "decoder_start_token_id": 2,
    _POSITIONS: 1024,
}
_LARGEST_VOCABULARY = 1 << 22
_LARGEST = 1 << 16  # Of any size; the largest models have 16,384.


def read_hugging_face(folder: pathlib.Path) -> ForeignModel:
    """A folder with `config.json`, weights, vocabulary and `.spm` files.

    Raises:
        InputError: a file is missing or damaged, or says something that
            isn't understood.
    """
    config = _DEFAULTS | read_json(folder / CONFIG)
    if config.get("model_type") == "m2m_100":
        return _read_m2m100(folder)
    _check(folder / CONFIG, config, _UNDERSTOOD)
    weights = _find_weights(folder)
    described = _optional(folder / "tokenizer_config.json")
    names = ["vocab.json"]
    if described.get("separate_vocabs"):
        names.append("target_vocab.json")
    vocabularies = [read_vocabulary(folder / name) for name in names]
    both = vocabularies[0], vocabularies[-1]
    spm = folder / "source.spm", folder / "target.spm"
    tied = _tied(config)
    # The source's START is never seen; a shared table has it all the same.
    start = _start(folder, config, both[1])
    return ForeignModel(
        folder=folder,
        kind="Hugging Face Marian",
        tensors=_read_tensors(weights),
        sizes={ours: config[theirs] for ours, theirs in _SIZES.items()},
        activation=config["activation_function"],
        tied_embeddings=tied,
        vocabularies=both,
        paddings=(both[0].get("<pad>"), both[1].get("<pad>")),
        starts=(start if tied == "all" else None, start),
        sentencepiece=spm,
        max_length=config[_POSITIONS],
        decoding=_decoding(folder, config),
        languages=(
            _language(described, "source"),
            _language(described, "target"),
        ),
        punctuation="none",
        files=(
            folder / CONFIG,
            weights,
            *(folder / name for name in names),
            *spm,
        ),
        sections={"model": _dropouts(folder / CONFIG, config)},
    )


def _read_m2m100(folder):
    """A folder of M2M100 or NLLB, which differ by their tokenizers."""
    path = folder / CONFIG
    config = _M2M100_DEFAULTS | read_json(path)
    _check(path, config, _UNDERSTOOD_M2M100)
    weights = _find_weights(folder)
    described = _optional(folder / "tokenizer_config.json")
    is_nllb = not (folder / _VOCABULARY).is_file()
    if is_nllb:
        files = [folder / "tokenizer.json"]
        tokens = _nllb_tokens(files[0])
    else:
        files = [folder / _VOCABULARY]
        tokens = _m2m100_tokens(folder, described, read_vocabulary(files[0]))
    vocabulary = _with_codes(files[0], tokens, config["vocab_size"])
    spm = folder / "sentencepiece.bpe.model"
    end = vocabulary["</s>"]
    for key, value, accepted in (
        ("decoder_start_token_id", config.get("decoder_start_token_id"), end),
        ("legacy_behaviour", described.get("legacy_behaviour", False), False),
    ):
        if value != accepted:
            raise InputError(
                f"{folder}: {key} is {shown(value, 60)}, which isn't "
                f"understood. Accepted: {accepted}"
            )
    return ForeignModel(
        folder=folder,
        kind=f"Hugging Face {'NLLB' if is_nllb else 'M2M100'}",
        tensors=_read_tensors(weights),
        sizes={ours: config[theirs] for ours, theirs in _SIZES.items()},
        activation=config["activation_function"],
        tied_embeddings="all",
        vocabularies=(vocabulary, vocabulary),
        paddings=(vocabulary["<pad>"], vocabulary["<pad>"]),
        starts=(end, end),
        sentencepiece=(spm, spm),
        max_length=config[_POSITIONS],
        decoding=_decoding(folder, config),
        languages=(_language(described, "src"), _language(described, "tgt")),
        punctuation="none",
        files=(path, weights, *files, spm),
        sections={
            "model": {
                "norm": "pre",
                "layer_norm_epsilon": 1e-5,
                "first_position": 2,
                **_dropouts(path, config),
            }
        },
        padding_is_predicted=True,
        accepted_positions=("tensor2tensor",),
        language_tokens=True,
    )


def _m2m100_tokens(folder, described, vocabulary):
    """Tokens by ids: those of `vocab.json`, then the languages'."""
    name = described.get("language_codes", "m2m100")
    if name not in [*_LANGUAGES]:
        raise InputError(
            f"{folder}: language_codes is {shown(name, 60)}. Accepted: "
            f"{' or '.join(_LANGUAGES)}"
        )
    tokens = {number: token for token, number in vocabulary.items()}
    codes = [f"__{code}__" for code in _LANGUAGES[name].split()]
    return tokens | dict(enumerate(codes, len(tokens)))


def _nllb_tokens(path):
    """Tokens by ids: those of the pieces and those that were added."""
    described = read_json(path)
    model = described.get("model")
    vocabulary: Any = model.get("vocab") if isinstance(model, dict) else None
    added: Any = described.get("added_tokens")
    try:
        tokens = {number: token for token, number in vocabulary.items()}
        return tokens | {entry["id"]: entry["content"] for entry in added}
    except (AttributeError, KeyError, TypeError):
        raise InputError(
            f"{path}: no vocabulary. Accepted: model.vocab and added_tokens, "
            "as transformers writes them"
        ) from None


def _is_code(token):
    return isinstance(token, str) and _CODE.fullmatch(token) is not None


def _with_codes(path, tokens, size):
    """Ids by tokens, codes of languages as `>>en<<`.

    The model knows more ids than there are tokens; they are never met.
    """
    count = len(tokens)
    if type(size) is not int or not count <= size <= _LARGEST_VOCABULARY:
        raise InputError(
            f"{path.parent / CONFIG}: vocab_size is {shown(size, 60)}. "
            f"Accepted: {count}, as many as there are tokens, or a few more"
        )
    try:
        "".join(tokens.values()).encode()
    except (TypeError, UnicodeEncodeError):
        raise InputError(f"{path}: a token that isn't text") from None
    if tokens.keys() != set(range(count)):
        raise InputError(
            f"{path}: {count} tokens whose ids aren't 0 to {count - 1}, each "
            "of one token"
        )
    vocabulary = {}
    for number in range(size):
        token = tokens.get(number, f"<unused {number}>")
        if _is_code(token):
            token = f">>{token.strip('_')}<<"
        vocabulary[_RENAMED.get(token, token)] = number
    missing = {"<pad>", "</s>", "<unk>"} - vocabulary.keys()
    if missing or len(vocabulary) != size:
        raise InputError(
            f"{path}: no {' and no '.join(sorted(missing))} in it, or a token "
            "with several ids"
        )
    return vocabulary


def _find_weights(folder):
    for name in ("model.safetensors", "pytorch_model.bin"):
        if (folder / name).is_file():
            return folder / name
    raise InputError(
        f"{folder}: no weights. Accepted: model.safetensors or "
        "pytorch_model.bin, in one file"
    )


def _read_tensors(weights):
    read = read_state_dict if weights.suffix == ".bin" else read_safetensors
    return read(weights)


def _optional(path):
    return read_json(path) if path.is_file() else {}


def _check(path, config, understood):
    for key, accepted in understood.items():
        value = config.get(key, accepted[0])
        if value not in accepted:
            raise InputError(
                f"{path}: {key} is {shown(value, 60)}, which isn't understood. "
                f"Accepted: {accepted[0]!r}"
            )
    if config["activation_function"] not in [*ACTIVATIONS]:
        raise InputError(
            f"{path}: activation_function is "
            f"{shown(config['activation_function'], 60)}. Accepted: "
            f"{', '.join(ACTIVATIONS)}"
        )
    for key in (*_SIZES.values(), _POSITIONS):
        value = config.get(key)
        if type(value) is not int or not 1 <= value <= _LARGEST:
            raise InputError(
                f"{path}: {key} is {shown(value, 60)}. Accepted: 1 to "
                f"{_LARGEST}"
            )
    for key in ("attention_heads", "ffn_dim"):
        sides = [config.get(f"{s}_{key}") for s in ("encoder", "decoder")]
        if sides[0] != sides[1]:
            raise InputError(
                f"{path}: {key} of encoder and decoder differ "
                f"({shown(sides[0], 60)} and {shown(sides[1], 60)}), which "
                "isn't understood"
            )


def _dropouts(path, config):
    """What the model was trained with, for training it further."""
    rates = {
        ours: config[theirs]
        for ours, theirs in _DROPOUTS.items()
        if theirs in config
    }
    for name, rate in rates.items():
        if type(rate) not in (int, float) or not 0 <= rate < 1:
            raise InputError(
                f"{path}: {_DROPOUTS[name]} is {shown(rate, 60)}. Accepted: at "
                "least 0, below 1"
            )
    return rates


def _tied(config):
    if not config.get("tie_word_embeddings", True):
        return "none"
    share = config.get("share_encoder_decoder_embeddings", True)
    return "all" if share else "target"


def _start(folder, config, vocabulary):
    start = config.get("decoder_start_token_id", vocabulary.get("<pad>"))
    if type(start) is not int or not 0 <= start < len(vocabulary):
        raise InputError(
            f"{folder / CONFIG}: decoder_start_token_id is "
            f"{shown(start, 60)}, no id of the vocabulary"
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


def _language(described, side) -> str:
    """The tag of a side, as the tokenizer's configuration has it."""
    return str(described.get(f"{side}_lang") or "")
