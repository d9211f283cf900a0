"""Conversion of Marian's vocabularies to tokenizers of this package.

Marian has a SentencePiece model for each side, and takes the ids of pieces from
a vocabulary that both sides usually share. Here ids come from the SentencePiece
model itself, so it is rebuilt with its pieces in the vocabulary's order.
"""

import copy
import pathlib
import re
from collections.abc import Collection, Sequence
from typing import Any

from sentencepiece import sentencepiece_model_pb2

from keras_transformer.constants import END_ID, SPECIAL_TOKENS, UNK_ID
from keras_transformer.errors import InputError, shown
from keras_transformer.system.files import read_bytes, read_json
from keras_transformer.system.yaml_text import load_yaml
from keras_transformer.text.sentencepiece import SentencePieceTokenizer
from keras_transformer.text.space import SpaceTokenizer
from keras_transformer.text.tokenizer import LARGEST_CONTENT, Tokenizer

# Language codes before a source, such as >>cmn_Hans<<.
LANGUAGE_CODE = re.compile(r">>[^<>\s]+<<")
_LARGEST_VOCABULARY = 1 << 26  # bytes of a list of tokens
_SPACE = "▁"
# SentencePiece scores unknown characters this much below its worst piece.
_UNKNOWN_PENALTY = 10.0
_NEVER = -1e4  # Score of a piece that is only needed for decoding.
_PADDING, _UNKNOWN, _, _END = SPECIAL_TOKENS
_Model = sentencepiece_model_pb2.ModelProto
_Piece = _Model.SentencePiece
_Trainer = sentencepiece_model_pb2.TrainerSpec


def read_vocabulary(path: pathlib.Path) -> dict[str, int]:
    """Reads the ids of a `vocab.json` or Marian's `vocab.yml`, by token.

    Raises:
        InputError: the file can't be read, has no `</s>` or `<unk>`, or its ids
            aren't 0, 1, 2 ..., one for each token.
    """
    if str(path).endswith(".json"):
        vocabulary = read_json(path)
    else:
        vocabulary = _read_yaml_lines(path)
    try:
        "".join(vocabulary).encode()
    except UnicodeEncodeError:
        raise InputError(f"{path}: a token that isn't text") from None
    ids = list(vocabulary.values())
    if any(type(i) is not int for i in ids) or sorted(ids) != [
        *range(len(ids))
    ]:
        raise InputError(
            f"{path}: {len(ids)} tokens whose ids aren't 0 to {len(ids) - 1}, "
            "each of one token"
        )
    missing = [t for t in (_UNKNOWN, _END) if t not in vocabulary]
    if missing:
        raise InputError(f"{path}: no {' and no '.join(missing)} in it")
    return vocabulary


def read_lines(path: pathlib.Path, special: tuple[str, ...]) -> dict[str, int]:
    """Reads a vocabulary with a token a line, and appends `<unk>`.

    Args:
        path: path of the file.
        special: the tokens that the file must begin with.

    Returns:
        ids by token.

    Raises:
        InputError: the file can't be read, begins with other tokens, or has a
            token more than once.
    """
    tokens = _lines(path)
    if not tokens[-1]:
        tokens.pop()
    tokens = [token.rstrip("\r") for token in tokens]
    if tuple(tokens[: len(special)]) != special:
        raise InputError(
            f"{path}: begins with {shown(' '.join(tokens[: len(special)]), 60)}"
            f". Accepted: {' '.join(special)}"
        )
    tokens.append(_UNKNOWN)
    vocabulary = {token: number for number, token in enumerate(tokens)}
    if len(vocabulary) != len(tokens) or {"", _PADDING} & vocabulary.keys():
        raise InputError(
            f"{path}: an empty line, {_UNKNOWN}, {_PADDING}, or a token that "
            "occurs more than once"
        )
    return vocabulary


def _read_yaml_lines(path):
    """Reads `TOKEN: ID` lines, as Marian writes them.

    They aren't valid YAML: parsers fail on some of the tokens.
    """
    vocabulary = {}
    key = None
    for number, line in enumerate(_lines(path), 1):
        line = line.rstrip("\r")
        if not line.strip():
            continue
        if line.startswith("? "):  # a long key, with its value in the next line
            key = line[2:]
            continue
        token, colon, value = line.rpartition(":")
        token = key if key is not None and not token.strip() else token
        key = None
        try:
            token = _unquoted(token)
            if not colon or token in vocabulary:
                raise ValueError
            vocabulary[token] = int(value)
        except (ValueError, TypeError):
            raise InputError(
                f"{path}, line {number}: not TOKEN: ID, or a token that "
                f"occurred before. Received: {shown(line, 60)}"
            ) from None
    return vocabulary


def _lines(path):
    content = read_bytes(path, largest=_LARGEST_VOCABULARY)
    try:
        return content.decode().split("\n")
    except UnicodeDecodeError:
        raise InputError(f"{path}: not UTF-8") from None


def _unquoted(token):
    if token[:1] not in "\"'" or len(token) < 2 or token[-1] != token[0]:
        return token
    inner = token[1:-1]
    if token[0] == "'":
        return inner.replace("''", "'")
    if "\\" not in inner:
        return inner
    text = load_yaml(token)
    if not isinstance(text, str):
        raise ValueError
    return text


def new_order(
    vocabulary: dict[str, int], padding: int | None, start: int | None
) -> list:
    """Returns the ids of a vocabulary in the order of this package.

    Args:
        vocabulary: ids by token.
        padding: the id of `<pad>`; None: there is none.
        start: the id of the decoder's first input; None: there is none.

    Returns:
        the vocabulary's id for each id of this package: those of PAD, UNK,
        START and END, then all others in their order. START's may be the id
        of another special token.
    """
    first = [padding, vocabulary[_UNKNOWN], start, vocabulary[_END]]
    return [*first, *sorted(set(vocabulary.values()) - set(first))]


def make_tokenizer(
    path: pathlib.Path | None,
    vocabulary: dict[str, int],
    order: Sequence[int],
    prefix: str = "",
    added: Collection[str] = (),
    **options: Any,
) -> Tokenizer:
    """Creates the tokenizer of one side.

    Args:
        path: path of the side's SentencePiece model; None: tokens are separated
            by spaces.
        vocabulary: ids by token.
        order: result of `new_order`.
        prefix: language code to add to texts without one.
        added: tokens that are matched verbatim in a text, after a space.
        options: options of the tokenizer.

    Raises:
        InputError: the file isn't a SentencePiece model, or its pieces don't
            match the vocabulary.
    """
    if path is None:
        names = {number: token for token, number in vocabulary.items()}
        tokens = [names[number] for number in order[END_ID + 1 :]]
        tokenizer = SpaceTokenizer([*SPECIAL_TOKENS, *tokens], **options)
        return tokenizer.with_prefix(prefix) if prefix else tokenizer
    try:
        model = _Model.FromString(read_bytes(path, largest=LARGEST_CONTENT))
    except Exception as error:  # Protobuf's class is in a private module.
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: not a SentencePiece model") from None
    known = _reorder(model, vocabulary, order, path, added)
    content = model.SerializeToString(deterministic=True)
    try:
        return SentencePieceTokenizer(
            content, known=known, prefix=prefix, **options
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _reorder(model, vocabulary, order, path, added):
    """Reorders a model's pieces to the vocabulary's, then any others.

    Returns:
        the number of pieces in the vocabulary.
    """
    kinds = (_Piece.NORMAL, _Piece.USER_DEFINED, _Piece.BYTE)
    own = {p.piece: p for p in model.pieces if p.type in kinds}
    tokens = {number: token for token, number in vocabulary.items()}
    if not own.keys() & vocabulary.keys():
        raise InputError(f"{path}: none of its pieces is in the vocabulary")
    # A BPE model would merge to unused pieces, too.
    bpe = model.trainer_spec.model_type == _Trainer.BPE
    unused = _Piece.CONTROL if bpe else _Piece.UNUSED
    by_bytes = any(p.type == _Piece.BYTE for p in own.values())
    if bpe and by_bytes:
        raise InputError(
            f"{path}: a BPE model with bytes for unknown characters, which "
            "isn't understood. Accepted: without them, or a unigram model"
        )
    unknown = min(p.score for p in own.values()) - _UNKNOWN_PENALTY
    pieces = [
        _Piece(piece=token, type=_Piece.CONTROL, score=0.0)
        for token in SPECIAL_TOKENS
    ]
    pieces[UNK_ID].type = _Piece.UNKNOWN
    for number in order[END_ID + 1 :]:
        token = tokens[number]
        if token in SPECIAL_TOKENS:
            raise InputError(f"{path}: {token} is a token of the vocabulary")
        if token in own:
            pieces.append(own.pop(token))
        elif LANGUAGE_CODE.fullmatch(token) or token in added:
            piece = _SPACE + token
            if piece in vocabulary or piece in own:
                raise InputError(
                    f"{path}: the piece {shown(piece, 60)} is also the added "
                    f"token {shown(token, 60)}"
                )
            pieces.append(
                _Piece(piece=piece, type=_Piece.USER_DEFINED, score=0.0)
            )
        elif len(token) == 1 and not by_bytes:
            # A character that only the other side's model has. Marian looks up
            # the text of unknown pieces in the vocabulary. It would look up
            # several such characters in a row as one, and rarely find them.
            pieces.append(
                _Piece(piece=token, type=_Piece.NORMAL, score=unknown)
            )
        else:  # a piece of the other side's model
            pieces.append(_Piece(piece=token, type=unused, score=_NEVER))
    known = len(pieces)
    pieces += own.values()
    pieces = copy.deepcopy(pieces)
    del model.pieces[:]
    model.pieces.extend(pieces)
    _describe(model)
    return known


def _describe(model):
    """Sets the ids and names of the reserved tokens in a model's spec."""
    spec = model.trainer_spec
    names = ("pad", "unk", "bos", "eos")
    for number, (name, token) in enumerate(
        zip(names, SPECIAL_TOKENS, strict=True)
    ):
        setattr(spec, f"{name}_id", number)
        setattr(spec, f"{name}_piece", token)
    spec.vocab_size = len(model.pieces)
