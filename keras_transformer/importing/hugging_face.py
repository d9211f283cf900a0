"""Import of Hugging Face's MarianMTModel, M2M100, NLLB and SMaLL-100.

References: transformers' `modeling_marian.py`, `tokenization_marian.py`,
`convert_marian_to_pytorch.py`, `modeling_m2m_100.py`,
`tokenization_m2m_100.py` and `tokenization_nllb.py`.
"""

import dataclasses
import pathlib
import re
from typing import Any

from keras_transformer.errors import InputError, shown
from keras_transformer.importing.foreign import (
    ForeignModel,
    refused,
    require_understood,
)
from keras_transformer.importing.generation import SETTINGS, search_settings
from keras_transformer.importing.raw_tensors import read_safetensors
from keras_transformer.importing.tensors import read_state_dict
from keras_transformer.importing.vocabulary import read_vocabulary
from keras_transformer.system.checksums import is_bare_name
from keras_transformer.system.files import read_json

CONFIG = "config.json"
# Settings that change the model's computation, with the supported value. Four
# of Marian's were last read by transformers 3, which wrote these models.
_UNDERSTOOD = {
    "model_type": "marian",
    "scale_embedding": True,
    "normalize_before": False,
    "normalize_embedding": False,
    "add_final_layer_norm": False,
    "static_position_embeddings": True,
    "tie_encoder_decoder": False,
    "quantization_config": None,
}
_UNDERSTOOD_M2M100 = {
    "model_type": "m2m_100",
    "scale_embedding": True,
    "tie_word_embeddings": True,
    "tie_encoder_decoder": False,
    "quantization_config": None,
}
# Other settings that transformers reads or writes for both classes, without an
# effect here: those of training, of the tokenizer, and of the file itself.
_READ = frozenset(
    (
        "_attn_implementation_autoset _commit_hash _name_or_path architectures "
        "activation_function auto_map bos_token_id chunk_size_feed_forward "
        "decoder_attention_heads decoder_ffn_dim decoder_layerdrop "
        "decoder_start_token_id decoder_vocab_size dtype encoder_layerdrop "
        "eos_token_id gradient_checkpointing init_std is_decoder "
        "is_encoder_decoder num_hidden_layers output_attentions "
        "output_hidden_states pad_token_id return_dict sep_token_id "
        "share_encoder_decoder_embeddings task_specific_params "
        "tie_word_embeddings tokenizer_class torch_dtype transformers_version "
        "use_cache vocab_size"
    ).split()
)
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_INDEX = ".index.json"  # Suffix if the weights are in several files.
# Names of the embeddings. A shared tensor may be saved under any of them.
_SHARED, _SOURCE, _TARGET, _OUTPUT = _TABLES = (
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
)
_VOCABULARY = "vocab.json"
_UNUSED = "<unused {}>"  # Name of an embedding row without a token.
# M2M100's languages in the order of their tokens, which isn't in any file.
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
# <s> is the name of START here; transformers' own <s> is never used.
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
# Defaults of models that `convert_marian_to_pytorch.py` writes.
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
_LARGEST_TOKENIZER = 1 << 26  # Bytes; that of NLLB has 17 million.


def read_hugging_face(folder: pathlib.Path) -> ForeignModel:
    """Reads a folder with `config.json`, weights and vocabularies.

    Raises:
        InputError: a file is missing or damaged, or a setting isn't supported.
    """
    path = folder / CONFIG
    config = read_json(path)
    unread = config.keys() - _READ - SETTINGS - {*_UNDERSTOOD}
    unread -= {*_SIZES.values(), *_DROPOUTS.values(), _POSITIONS}
    is_m2m100 = config.get("model_type") == "m2m_100"
    model = (_read_m2m100 if is_m2m100 else _read_marian)(folder, config)
    return dataclasses.replace(model, unread=tuple(sorted(unread)))


def _read_marian(folder, config):
    config = _DEFAULTS | config
    _check(folder / CONFIG, config, _UNDERSTOOD)
    described = _optional(folder / "tokenizer_config.json")
    names = ["vocab.json"]
    if described.get("separate_vocabs"):
        names.append("target_vocab.json")
    vocabularies = [read_vocabulary(folder / name) for name in names]
    share = config.get("share_encoder_decoder_embeddings", True)
    tied = "all" if share else "target"
    if not config.get("tie_word_embeddings", True):
        tied = "none"
    weights, tensors = _read_tensors(folder, tied, share)
    added = _added_tokens(folder, described)
    keys = ("vocab_size", "decoder_vocab_size")[: len(names)]
    padded = [
        _padded(tokens, added, _table_rows(folder, config, tensors, key, table))
        for tokens, key, table in zip(
            vocabularies, keys, (_SOURCE, _TARGET), strict=False
        )
    ]
    both = padded[0], padded[-1]
    spm = folder / "source.spm", folder / "target.spm"
    # The source never has START, but a shared table has a row for it.
    start = _start(folder, config, both[1])
    decoding, left_out, no_padding = _decoding(folder, config, both[1])
    return ForeignModel(
        folder=folder,
        kind="Hugging Face Marian",
        tensors=tensors,
        **_shape(config),
        tied_embeddings=tied,
        vocabularies=both,
        paddings=(both[0].get("<pad>"), both[1].get("<pad>")),
        starts=(start if tied == "all" else None, start),
        sentencepiece=spm,
        decoding=decoding,
        languages=_languages(described, "source_lang", "target_lang"),
        files=(
            folder / CONFIG,
            *weights,
            *(folder / name for name in names),
            *spm,
        ),
        section=_dropouts(config),
        padding_is_predicted=False if no_padding else None,
        added_tokens=frozenset(added.values()) - vocabularies[0].keys(),
        left_out=left_out,
    )


def _read_m2m100(folder, config):
    """Reads a folder of M2M100, NLLB or SMaLL-100.

    They differ in their tokenizers and in the language token of sources, which
    is the target language's in SMaLL-100.
    """
    path = folder / CONFIG
    config = _M2M100_DEFAULTS | config
    _check(path, config, _UNDERSTOOD_M2M100)
    described = _optional(folder / "tokenizer_config.json")
    is_nllb = not (folder / _VOCABULARY).is_file()
    is_small = not is_nllb and (
        described.get("tokenizer_class") == "SMALL100Tokenizer"
        or (folder / "tokenization_small100.py").is_file()
    )
    if is_nllb:
        files = [folder / "tokenizer.json"]
        tokens = _nllb_tokens(files[0])
    else:
        files = [folder / _VOCABULARY]
        tokens = _m2m100_tokens(folder, described, read_vocabulary(files[0]))
    added = _added_tokens(folder, described)
    weights, tensors = _read_tensors(folder, "all", share=True)
    rows = _table_rows(folder, config, tensors, "vocab_size", _SHARED)
    vocabulary = _with_codes(files[0], added | tokens, rows)
    spm = folder / "sentencepiece.bpe.model"
    end = vocabulary["</s>"]
    require_understood(path, config, {"decoder_start_token_id": end})
    require_understood(folder, described, {"legacy_behaviour": False})
    kind = "NLLB" if is_nllb else "SMaLL-100" if is_small else "M2M100"
    # Here the target's prefix sets the first token.
    first = {"forced_bos_token_id": None}
    decoding, left_out, no_padding = _decoding(
        folder, config, vocabulary, first
    )
    return ForeignModel(
        folder=folder,
        kind=f"Hugging Face {kind}",
        tensors=tensors,
        **_shape(config),
        tied_embeddings="all",
        vocabularies=(vocabulary, vocabulary),
        paddings=(vocabulary["<pad>"], vocabulary["<pad>"]),
        starts=(end, end),
        sentencepiece=(spm, spm),
        decoding=decoding,
        languages=_languages(described, "src_lang", "tgt_lang"),
        files=(path, *weights, *files, spm),
        section={
            "norm": "pre",
            "layer_norm_epsilon": 1e-5,
            "first_position": 2,
            **_dropouts(config),
        },
        padding_is_predicted=not no_padding,
        accepted_positions=("tensor2tensor",),
        language_tokens="target" if is_small else "both",
        added_tokens=frozenset(added.values()) - {*tokens.values()},
        left_out=left_out,
    )


def _m2m100_tokens(folder, described, vocabulary):
    """Returns tokens by id: those of `vocab.json`, then the languages'."""
    name = described.get("language_codes", "m2m100")
    if name not in [*_LANGUAGES]:
        accepted = " or ".join(_LANGUAGES)
        raise refused(folder, "language_codes", name, accepted)
    tokens = {number: token for token, number in vocabulary.items()}
    codes = [f"__{code}__" for code in _LANGUAGES[name].split()]
    return tokens | dict(enumerate(codes, len(tokens)))


def _nllb_tokens(path):
    """Returns tokens by id: those of the pieces and the added ones."""
    described = read_json(path, _LARGEST_TOKENIZER)
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


def _with_codes(path, tokens, size):
    """Returns ids by token, with language codes written as `>>en<<`.

    Ids without a token, which the embedding may have, get unused names.
    """
    try:
        "".join(tokens.values()).encode()
        last = max(tokens)
    except (TypeError, ValueError):
        raise InputError(f"{path}: a token that isn't text") from None
    if last >= size:
        raise InputError(
            f"{path}: a token of id {last}, where the embedding has "
            f"{size} rows. Accepted: the vocabulary of these weights"
        )
    vocabulary = {}
    for number in range(size):
        token = tokens.get(number, _UNUSED.format(number))
        if _CODE.fullmatch(token):
            token = f">>{token.strip('_')}<<"
        vocabulary[_RENAMED.get(token, token)] = number
    missing = {"<pad>", "</s>", "<unk>"} - vocabulary.keys()
    if missing or len(vocabulary) != size:
        raise InputError(
            f"{path}: no {' and no '.join(sorted(missing))} in it, or a token "
            "with several ids"
        )
    return vocabulary


def _table_rows(folder, config, tensors, key, name):
    """Returns the number of rows of an embedding.

    Raises:
        InputError: it differs from the configuration's, or there is no such
            table.
    """
    table, width = tensors.get(name), config.get("d_model")
    if table is None or table.ndim != 2 or table.shape[1] != width:
        shape = () if table is None else table.shape
        found = " x ".join(map(str, shape)) or "not there"
        raise InputError(
            f"{folder}: {name} is {found}, where config and vocabulary say "
            f"rows of {shown(width, 60)}"
        )
    rows = table.shape[0]
    size = config.get(key) or config.get("vocab_size", rows)
    if size != rows:
        accepted = f"{rows}, the rows of the embedding"
        raise refused(folder / CONFIG, key, size, accepted)
    return rows


def _padded(vocabulary, added, rows):
    """Pads a vocabulary with tokens to the rows of its embedding.

    Tables are often padded to a multiple of 8, and transformers predicts the
    additional rows, too.
    """
    tokens = {
        number: added.get(number, _UNUSED.format(number))
        for number in range(len(vocabulary), rows)
    }
    return vocabulary | {token: number for number, token in tokens.items()}


def _added_tokens(folder, described) -> dict[int, str]:
    """Returns a tokenizer's added tokens by id; empty if there are none."""
    path = folder / "added_tokens.json"
    given = described.get("added_tokens_decoder") or {}
    try:
        added = {i: token for token, i in _optional(path).items()}
        added |= {int(i): entry["content"] for i, entry in given.items()}
        if not all(type(i) is int and i >= 0 for i in added):
            raise ValueError
        "".join(added.values()).encode()
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(
            f"{folder}: its added tokens aren't text with an id each"
        ) from None
    return added


def _read_tensors(folder, tied, share):
    """Returns the weights' files, and their tensors by name.

    Args:
        folder: the model's folder.
        tied: see `ForeignModel.tied_embeddings`.
        share: bool, whether both sides share one embedding.
    """
    path = _find_weights(folder)
    files = [path]
    if path.name.endswith(_INDEX):
        places: Any = read_json(path).get("weight_map")
        if not isinstance(places, dict) or not places:
            raise InputError(f"{path}: no weight_map. Accepted: names of files")
        others = [n for n in places.values() if not is_bare_name(n)]
        if others:
            raise InputError(
                f"{path}: {shown(others[0], 60)}. Accepted: names of files "
                "beside it"
            )
        files += [folder / name for name in sorted({*places.values()})]
    tensors: dict = {}
    for file in files[1:] or files:
        read = read_state_dict if file.suffix == ".bin" else read_safetensors
        for name, tensor in read(file).items():
            if name in tensors:
                raise InputError(
                    f"{file}: {shown(name)} is in another file, too"
                )
            tensors[name] = tensor
    groups: dict[str, list] = {
        "all": [_TABLES],
        "target": [(_TARGET, _OUTPUT)],
        "none": [],
    }
    for group in [*groups[tied], *([_TABLES[:3]] if share else [])]:
        there = [name for name in group if name in tensors]
        for name in group if there else ():
            tensors.setdefault(name, tensors[there[0]])
    return files, tensors


def _find_weights(folder):
    for name in _WEIGHTS:
        for path in (folder / name, folder / (name + _INDEX)):
            if path.is_file():
                return path
    raise InputError(
        f"{folder}: no weights. Accepted: {' or '.join(_WEIGHTS)}, or the "
        f"same with {_INDEX} for several files"
    )


def _shape(config):
    """Returns sizes, activation and positions for `ForeignModel`."""
    return {
        "sizes": {ours: config.get(key) for ours, key in _SIZES.items()},
        "activation": config["activation_function"],
        "max_length": config[_POSITIONS],
    }


def _optional(path):
    return read_json(path) if path.is_file() else {}


def _check(path, config, understood):
    require_understood(path, config, understood)
    for key in ("attention_heads", "ffn_dim"):
        theirs, accepted = f"decoder_{key}", config.get(f"encoder_{key}")
        if config.get(theirs) != accepted:
            accepted = f"{shown(accepted, 60)}, as of the encoder"
            raise refused(path, theirs, config.get(theirs), accepted)


def _dropouts(config):
    """Returns the dropout rates of the training, for further training."""
    return {
        ours: config[theirs]
        for ours, theirs in _DROPOUTS.items()
        if theirs in config
    }


def _start(folder, config, vocabulary):
    start = config.get("decoder_start_token_id", vocabulary.get("<pad>"))
    if type(start) is not int or not 0 <= start < len(vocabulary):
        accepted = "an id of the vocabulary"
        raise refused(
            folder / CONFIG, "decoder_start_token_id", start, accepted
        )
    return start


def _decoding(folder, config, vocabulary, fixed=None):
    """See `search_settings`."""
    given = config | _optional(folder / "generation_config.json")
    return search_settings(given | (fixed or {}), vocabulary)


def _languages(described, source, target):
    """Returns both sides' language tags in the tokenizer's configuration."""
    return str(described.get(source) or ""), str(described.get(target) or "")
