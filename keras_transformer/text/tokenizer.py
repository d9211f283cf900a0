"""Tokenizer: the interface of all kinds, framing, saving and loading."""

import functools
import json
import os
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
import tensorflow as tf

from keras_transformer.constants import END_ID, PAD_ID, SPACE, START_ID, UNK_ID
from keras_transformer.errors import InputError, shown
from keras_transformer.symbols import first_symbol
from keras_transformer.system.checksums import digest
from keras_transformer.system.files import (
    read_bytes,
    read_json_value,
    write_bytes,
    writing,
)
from keras_transformer.text.normalization import Normalizer, squeeze
from keras_transformer.text.options import OptionError
from keras_transformer.text.tags import require_tags, split_tags, tag_ids

# The text of an unknown token: DOUBLE QUESTION MARK, as in SentencePiece.
UNKNOWN = "⁇"

# Maximum size in bytes of the file with the vocabulary or model.
LARGEST_CONTENT = 1 << 28
_FORMAT = 1
_DESCRIPTION = "tokenizer.json"
_ACCEPTED = "a folder that a tokenizer was saved to"
_KINDS: dict = {}


def encoded(texts: Iterable[str | bytes]) -> tf.Tensor:
    """Encodes texts as UTF-8, and bytes as they are: string tensor `(B,)`."""
    # Text read with surrogateescape may not be encodable.
    strings = [
        text if isinstance(text, bytes) else text.encode("utf-8", "replace")
        for text in texts
    ]
    return tf.constant(strings, tf.string)


def frame(ids: tf.RaggedTensor) -> tf.RaggedTensor:
    """Adds START before and END after each row.

    Args:
        ids: RaggedTensor int32 `(B, None)`.

    Returns:
        RaggedTensor int32 `(B, None)`, two longer in each row.
    """
    batch_size = ids.nrows()
    start = tf.fill([batch_size, 1], tf.constant(START_ID, ids.dtype))
    end = tf.fill([batch_size, 1], tf.constant(END_ID, ids.dtype))
    return tf.concat([start, ids, end], axis=1)


def is_text(ids: tf.Tensor) -> tf.Tensor:
    """Marks ids of text: those before the first END except PAD and START.

    Args:
        ids: int32 `(B, T)`.

    Returns:
        bool `(B, T)`.
    """
    ends = tf.cumsum(tf.cast(ids == END_ID, tf.int32), axis=1)
    return (ends == 0) & (ids != PAD_ID) & (ids != START_ID)


class Tokenizer(tf.Module):
    """Text to ids and back, in graph code.

    Tokenizers use only core TensorFlow and TF Text operations, so they work in
    `tf.data`, in a `tf.function` and, as an attribute of an exported
    `tf.Module`, in TensorFlow Serving.

    A subclass sets `kind` and `content_file`, and implements `_encode`,
    `_pieces_of`, `_strings_of`, `_join`, `tokens`, `vocabulary_size`,
    `with_tokens`, `_content` and `_from_content`. It may override `_decode` and
    `options`.

    Args:
        tags: tokens that may precede a text, see `tags`.
        nfc, simplify, moses_language: see `Normalizer`.

    Raises:
        OptionError: an argument isn't accepted; a subclass of `InputError`.
    """

    kind: str = ""
    content_file: str = ""
    # Whether a text often has several segmentations, as with subword pieces.
    has_variants = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if cls.kind:
            _KINDS[cls.kind] = cls

    def __init__(
        self,
        *,
        tags: Sequence[str] = (),
        nfc: bool = True,
        simplify: bool = False,
        moses_language: str | None = None,
    ) -> None:
        super().__init__()
        require_tags(tags)
        # An array, as tf.Module would wrap a list.
        self._tags = np.array(tags, dtype=object)
        self.normalizer = Normalizer(
            nfc=nfc, simplify=simplify, moses_language=moses_language
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.vocabulary_size:,} tokens)"

    def tokenize(self, strings: tf.Tensor | Sequence[str]) -> tf.RaggedTensor:
        """The ids of each string, without start and end.

        Args:
            strings: string tensor `(B,)`, any bytes.

        Returns:
            RaggedTensor int32 `(B, None)`.
        """
        strings = tf.convert_to_tensor(strings, tf.string)
        return self._tagged(
            self.normalizer(strings),
            self._encode,
            lambda tags: tag_ids(tags, self.tags),
        )

    def surface(self, strings: tf.Tensor | Sequence[str]) -> tf.RaggedTensor:
        """The part of each string that each token stands for.

        Args:
            strings: string tensor `(B,)`, any bytes.

        Returns:
            RaggedTensor string `(B, None)`, parallel to the ids of `tokenize`,
            also for unknown tokens: normalised text in its original case,
            without white space around it; "" for a token that is only space.
        """
        strings = tf.convert_to_tensor(strings, tf.string)
        pieces = self._tagged(self.normalizer(strings), self._pieces_of)
        return tf.ragged.map_flat_values(squeeze, pieces)

    def detokenize(
        self,
        ids: tf.Tensor | tf.RaggedTensor,
        replacements: tf.Tensor | None = None,
    ) -> tf.Tensor:
        """The text of each row of ids.

        Args:
            ids: RaggedTensor or dense integer tensor `(B, T)`. PAD and START
                are skipped; END ends the row.
            replacements: string `(B, T)`, put in place of unknown tokens;
                "" and None leave the mark `⁇`.

        Returns:
            string tensor `(B,)`.
        """
        if isinstance(ids, tf.RaggedTensor):
            ids = ids.to_tensor(PAD_ID)
        ids = tf.cast(ids, tf.int32)
        kept = is_text(ids)
        if replacements is None:
            return self._decode(tf.ragged.boolean_mask(ids, kept))
        given = (ids == UNK_ID) & (replacements != "")
        ids = tf.ragged.boolean_mask(ids, kept)
        strings = tf.where(
            tf.boolean_mask(given, kept),
            tf.boolean_mask(replacements, kept),
            self._strings_of(ids.flat_values),
        )
        return self._join(ids.with_flat_values(strings))

    @property
    def tags(self) -> list[str]:
        """Tokens that may precede a text, in the order of their ids."""
        return self._tags.tolist()

    @functools.cached_property
    def first_symbol(self) -> int | None:
        """The id of the first of `symbols.SYMBOLS`; None without symbols."""
        return first_symbol(self.tokens())

    def with_prefix(self, prefix: str) -> "Tokenizer":
        """Returns a copy that adds a language code to texts without one.

        Args:
            prefix: the code, such as `>>cmn_Hans<<`.

        Raises:
            InputError: the tokenizer doesn't have this language code.
        """
        raise InputError(
            f"{prefix!r} is no language code of a {self.kind} tokenizer. "
            "Accepted: none"
        )

    def with_tokens(self, added: Sequence[str]) -> Self:
        """Returns a copy with more tokens after the existing ones.

        Args:
            added: the new tokens; `▁` is a space. Each is one token wherever
                it occurs, if this kind of tokenizer splits text that way.

        Raises:
            InputError: one exists already, or isn't a valid token.
        """
        raise NotImplementedError

    def tokens_added_to(self, other: "Tokenizer") -> list[str] | None:
        """Returns the tokens by which this tokenizer extends another.

        That is, `other.with_tokens` of these equals this tokenizer; None if
        there are no such tokens.
        """
        added = self.tokens()[other.vocabulary_size :]
        if type(self) is not type(other):
            return None
        try:
            extended = other.with_tokens(added) if added else other
        except InputError:
            return None
        same = extended.fingerprint() == self.fingerprint()
        return added if same else None

    def pieces_of_tokens(self, tokens: Sequence[str]) -> list[list[int]]:
        """The ids into which each of some new tokens would be split.

        `[]` for one that isn't made of known tokens only.
        """
        if not tokens:
            return []
        texts = [token.replace(SPACE, " ") for token in tokens]
        unknown = set(self.unknown_ids())
        rows = self.tokenize(texts).to_list()
        return [[] if unknown & {*row} else row for row in rows]

    def language_codes(self) -> list[str]:
        """Tokens such as `>>cmn_Hans<<`, which name the target's language."""
        return []

    def unknown_ids(self) -> list[int]:
        """Ids for text not in the vocabulary: UNK, and bytes of characters."""
        return [UNK_ID]

    def first_id(self) -> int | None:
        """The id of the language code that each text begins with, if any."""
        return None

    @property
    def vocabulary_size(self) -> int:
        """Number of ids, the four reserved ones included."""
        raise NotImplementedError

    def tokens(self) -> list[str]:
        """All tokens in the order of their ids."""
        raise NotImplementedError

    def options(self) -> dict:
        """The constructor's arguments except the vocabulary."""
        options: dict = {
            "nfc": self.normalizer.nfc,
            "simplify": self.normalizer.simplify,
        }
        if self.tags:
            options["tags"] = self.tags
        if self.normalizer.moses_language is not None:
            options["moses_language"] = self.normalizer.moses_language
        return options

    def fingerprint(self) -> str:
        """The SHA-256 of the saved description: equal for equal tokenizers."""
        return digest(self._description())

    def save(self, folder: str | os.PathLike) -> None:
        """Writes the tokenizer to `folder` as plain files.

        Raises:
            InputError: the folder can't be written.
        """
        with writing(folder):
            # `Path` would take an empty name for the current folder.
            os.makedirs(folder, exist_ok=True)  # noqa: PTH103
            # The description, which has the other file's SHA-256, comes last.
            for name, content in (
                (self.content_file, self._content()),
                (_DESCRIPTION, self._description()),
            ):
                write_bytes(pathlib.Path(folder, name), content)

    def _description(self) -> bytes:
        content = self._content()
        description = {
            "format": _FORMAT,
            "kind": self.kind,
            "vocabulary_size": self.vocabulary_size,
            "options": self.options(),
            "file": self.content_file,
            "sha256": digest(content),
        }
        return (json.dumps(description, indent=2) + "\n").encode()

    def _tagged(self, strings, split, of_tags=tf.identity):
        """Concatenates the values of each string's tags and text.

        Args:
            strings: normalised `(B,)`.
            split: maps strings without tags to a RaggedTensor `(B, None)`.
            of_tags: maps tags `(M,)` to values of the same type.

        Returns:
            RaggedTensor `(B, None)`.
        """
        if not self.tags:
            return split(strings)
        tags, rest = split_tags(strings, self.tags)
        tags = tf.ragged.map_flat_values(of_tags, tags)
        return tf.concat([tags, split(rest)], axis=1)

    def _encode(self, strings):
        """Maps normalised strings `(B,)` to ragged int32 ids `(B, None)`."""
        raise NotImplementedError

    def _pieces_of(self, strings):
        """Splits normalised strings `(B,)` by tokens, ragged `(B, None)`."""
        raise NotImplementedError

    def _decode(self, ids):
        """Decodes ragged int32 ids `(B, None)`, only of text, to `(B,)`."""
        return self._join(tf.ragged.map_flat_values(self._strings_of, ids))

    def _strings_of(self, ids):
        """Maps int32 ids `(M,)` to strings for `_join`, unknown ones to `⁇`."""
        raise NotImplementedError

    def _join(self, tokens):
        """Joins the strings of tokens, ragged `(B, None)`, to texts `(B,)`."""
        raise NotImplementedError

    def _content(self) -> bytes:
        """The content of `content_file`."""
        raise NotImplementedError

    @classmethod
    def _from_content(cls, content: bytes, options: dict) -> Self:
        """Creates a tokenizer from the results of `_content` and `options`.

        Raises:
            OptionError: an option isn't accepted.
            InputError: the content is damaged.
        """
        raise NotImplementedError


def load_tokenizer(folder: str | os.PathLike) -> Tokenizer:
    """Loads the tokenizer that was saved in `folder`.

    Raises:
        InputError: there is none, or its files are damaged or don't match; the
            message names the file.
    """
    path = pathlib.Path(folder, _DESCRIPTION)
    description = _read_description(path)
    kind = _KINDS[description["kind"]]
    content_path = pathlib.Path(folder, kind.content_file)
    content = read_bytes(content_path, _ACCEPTED, LARGEST_CONTENT)
    if digest(content) != description["sha256"]:
        raise InputError(
            f"{content_path}: not the file that {path} describes (its SHA-256 "
            "differs). Accepted: a tokenizer folder as it was saved"
        )
    try:
        tokenizer = kind._from_content(content, description["options"])
    except OptionError as error:
        raise InputError(f"{path}: {error}") from None
    except InputError as error:
        raise InputError(f"{content_path}: {error}") from None
    except (TypeError, ValueError, AttributeError):
        raise InputError(
            f"{path}: options that a {kind.kind} tokenizer doesn't have. "
            f"Received: {shown(description['options'])}"
        ) from None
    if tokenizer.vocabulary_size != description["vocabulary_size"]:
        raise InputError(
            f"{path}: vocabulary_size is {description['vocabulary_size']}, but "
            f"{content_path} has {tokenizer.vocabulary_size} tokens"
        )
    return tokenizer


def _read_description(path) -> dict:
    """Reads and checks a tokenizer's description."""
    description = read_json_value(path, _ACCEPTED)
    types = {
        "format": int,
        "kind": str,
        "vocabulary_size": int,
        "options": dict,
        "sha256": str,
    }
    if not isinstance(description, dict) or any(
        not isinstance(description.get(key), type_)
        for key, type_ in types.items()
    ):
        raise InputError(
            f"{path}: not the description of a tokenizer. "
            f"Accepted: a JSON object with {', '.join(types)}"
        )
    if description["format"] != _FORMAT:
        raise InputError(
            f"{path}: format {description['format']}. "
            f"Accepted by this version: {_FORMAT}"
        )
    if description["kind"] not in _KINDS:
        raise InputError(
            f"{path}: unknown kind {shown(description['kind'])}. "
            f"Accepted: {', '.join(_KINDS)}"
        )
    return description
