"""SentencePiece tokenizer: subword pieces of a model, run by TF Text."""

import functools
import os
import re
from collections.abc import Iterable, Sequence
from typing import Any, Self

import sentencepiece
import tensorflow as tf
from sentencepiece import sentencepiece_model_pb2

from keras_transformer.compat import keep_sentencepiece_model
from keras_transformer.constants import SPACE, SPECIAL_TOKENS, UNK_ID
from keras_transformer.errors import InputError, shown
from keras_transformer.system.checksums import digest
from keras_transformer.system.files import read_bytes
from keras_transformer.text.normalization import (
    Normalizer,
    escape,
    squeeze,
    unescape,
)
from keras_transformer.text.options import require_option
from keras_transformer.text.subword_sampler import SubwordSampler
from keras_transformer.text.symbol_tokens import (
    spaces_from_words,
    spaces_to_words,
)
from keras_transformer.text.tags import check_tags
from keras_transformer.text.tokenizer import LARGEST_CONTENT, UNKNOWN, Tokenizer
from keras_transformer.text.vocabulary_training import train_sentencepiece

_Model = sentencepiece_model_pb2.ModelProto
# A language code as text, and below as a piece.
_CODE_TEXT = r">>[^<>\s]+<<"
_CODE = re.compile(SPACE + _CODE_TEXT)
# Control characters except white space.
_CONTROL = r"[\x00-\x08\x0e-\x1f\x7f]"


class SentencePieceTokenizer(Tokenizer):
    """Subword pieces of a unigram or BPE model.

    White space of any kind and length, U+00A0 included, is one space.

    Args:
        model: a SentencePiece model, as a file's path or as bytes. Its ids 0 to
            3 must be the reserved ones; `train` makes such a model.
        known: int, the number of first pieces that are tokens, the reserved
            ones included; later pieces become the unknown token. None: all.
        prefix: string, a language code such as `>>cmn_Hans<<` that is put
            before each text without one.
        **normalization: `tags`, and those of `Normalizer`; see `Tokenizer`.

    Raises:
        InputError: `model` isn't such a model, or an option isn't accepted
            (`OptionError`).
    """

    kind = "sentencepiece"
    has_variants = True
    content_file = "sentencepiece.model"

    def __init__(
        self,
        model: bytes | str | os.PathLike,
        known: int | None = None,
        prefix: str = "",
        **normalization: Any,
    ) -> None:
        super().__init__(**normalization)
        content: Any = model
        if isinstance(content, str | os.PathLike):
            content = _read(content)
        self._model: bytes = content
        self._processor = _processor(self._model)
        _require_options(known, self._processor.get_piece_size(), prefix)
        self._known = known
        self._prefix = prefix
        self._has_codes = known is not None and any(
            _CODE.fullmatch(token) for token in self.tokens()
        )
        if prefix and self.tokens().count(SPACE + prefix) != 1:
            raise InputError(
                f"{prefix} is no language code of the tokenizer. Accepted: "
                f"{' '.join(self.language_codes()) or 'none'}"
            )
        if self.tags:
            check_tags(self.tokens(), self.tags)
        self._made = None

    @classmethod
    def train(
        cls,
        lines: Iterable[str],
        size: int | None = None,
        *,
        model_type: str = "unigram",
        seed: int = 1,
        characters: bool = False,
        symbols: Sequence[str] = (),
        **options: Any,
    ) -> Self:
        """Trains a model on a text and returns its tokenizer.

        Characters without a piece are split into bytes, for which 256 pieces
        are reserved; in a vocabulary below 2,048 they are unknown.

        Args:
            lines: the text, streamed.
            size: pieces at most, the reserved ones included; None: see
                `vocabulary_training.pieces_of`.
            model_type: "unigram" or "bpe".
            seed: chooses the sentences if the text has millions.
            characters: True makes each Chinese or Japanese character a separate
                piece.
            symbols: `symbols.SYMBOLS`, or empty if they aren't pieces.
            **options: `tags`, and see `Normalizer`.

        Raises:
            InputError: there is no text, or it has too many characters.
        """
        own = {key: value for key, value in options.items() if key != "tags"}
        model = train_sentencepiece(
            lines,
            size,
            model_type=model_type,
            seed=seed,
            characters=characters,
            normalizer=Normalizer(**own),
            tags=options.get("tags", ()),
            symbols=symbols,
        )
        return cls(model, **options)

    def with_simplify(self, simplify: bool) -> Self:
        """Returns a tokenizer with the same model and another `simplify`."""
        return type(self)(
            self._model, **self.options() | {"simplify": simplify}
        )

    def with_tokens(self, added: Sequence[str]) -> Self:
        """See `Tokenizer.with_tokens`."""
        new = {token: _user_defined(token) for token in added}
        if len(new) < len(added) or not new.keys().isdisjoint(self.tokens()):
            raise InputError(
                "tokens to add are different, and none is there already. "
                f"Received: {shown(' '.join(added))}"
            )
        model = _Model.FromString(self._model)
        # Pieces that stand for the unknown token stay behind the tokens.
        others = model.pieces[self.vocabulary_size :]
        del model.pieces[self.vocabulary_size :]
        model.pieces.extend(new.values())
        model.pieces.extend(p for p in others if p.piece not in new)
        model.trainer_spec.vocab_size = len(model.pieces)
        options = self.options()
        if self._known is not None:
            options["known"] = self._known + len(added)
        content = model.SerializeToString(deterministic=True)
        return type(self)(content, **options)

    def with_prefix(self, prefix: str) -> Self:
        """See `Tokenizer.with_prefix`."""
        if prefix == self._prefix:
            return self
        return type(self)(self._model, **self.options() | {"prefix": prefix})

    @property
    def vocabulary_size(self) -> int:
        """See `Tokenizer.vocabulary_size`."""
        if self._known is not None:
            return self._known
        return self._processor.get_piece_size()

    def language_codes(self) -> list[str]:
        """Tokens such as `>>cmn_Hans<<`, which name the target's language."""
        tokens = self.tokens() if self._has_codes else []
        return sorted(token[1:] for token in tokens if _CODE.fullmatch(token))

    def unknown_ids(self) -> list[int]:
        """See `Tokenizer.unknown_ids`."""
        ids = range(self.vocabulary_size)
        return [UNK_ID, *filter(self._processor.is_byte, ids)]

    def first_id(self) -> int | None:
        """The id of the language code that each text begins with, if any."""
        if not self._prefix:
            return None
        return self.tokens().index(SPACE + self._prefix)

    def options(self) -> dict:
        """See `Tokenizer.options`."""
        given = {"known": self._known, "prefix": self._prefix or None}
        return super().options() | {
            name: value for name, value in given.items() if value is not None
        }

    def tokens(self) -> list[str]:
        """See `Tokenizer.tokens`."""
        return [
            self._processor.id_to_piece(i) for i in range(self.vocabulary_size)
        ]

    def sampler(self, alpha: float) -> "SubwordSampler":
        """A sampler of other segmentations of the same texts."""
        return SubwordSampler(self._model, alpha, self.vocabulary_size)

    @functools.cached_property
    def _skips_pieces(self):
        """True if pieces of text have the control type, which TF Text omits."""
        return self._known is not None and any(
            self._processor.is_control(i)
            for i in range(len(SPECIAL_TOKENS), self.vocabulary_size)
        )

    @functools.cached_property
    def _has_bytes(self):
        """True if pieces such as <0xE6> spell rare characters."""
        return any(map(self._processor.is_byte, range(self.vocabulary_size)))

    @functools.cached_property
    def _adds_space(self):
        """True if the model puts a space before a text."""
        return _Model.FromString(self._model).normalizer_spec.add_dummy_prefix

    @property
    def _pieces(self):
        """TF Text's tokenizer, created when it is first needed."""
        if self._made is None:
            # Its libraries take 120 MiB, and prepared data needs none of them.
            import tensorflow_text as tf_text

            with tf.init_scope():  # Outside of the graph that uses it first.
                self._made = tf_text.SentencepieceTokenizer(
                    self._model, out_type=tf.int32
                )
                keep_sentencepiece_model(
                    self._made, self._model, digest(self._model)
                )
        return self._made

    def _encode(self, strings):
        ids = self._pieces.tokenize(self._prepared(strings))
        if self._known is None:
            return ids
        return tf.ragged.map_flat_values(
            lambda flat: tf.where(flat < self._known, flat, UNK_ID), ids
        )

    def _prepared(self, strings):
        """Prepares normalised strings for the model."""
        strings = squeeze(strings)
        if self._known is None:  # Imported models weren't trained this way.
            strings = escape(strings)
        if self.first_symbol is not None:
            strings = spaces_to_words(strings, self._adds_space)
        if not self._has_codes:
            return strings
        # Codes that the model doesn't have are text.
        codes = "|".join(map(re.escape, self.language_codes()))
        own = f"^({codes}) ?"
        spaced = tf.strings.regex_replace(strings, own, r"\1 ")
        if not self._prefix:
            return tf.strings.strip(spaced)
        bare = ~tf.strings.regex_full_match(strings, f"{own}.*")
        prefixed = tf.strings.join([f"{self._prefix} ", strings])
        prefixed = tf.where(bare & (strings != ""), prefixed, spaced)
        return tf.strings.strip(prefixed)

    def _pieces_of(self, strings):
        strings = self._prepared(strings)
        _, starts, ends = self._pieces.tokenize_with_offsets(strings)
        texts = tf.gather(strings, starts.value_rowids())
        begins = starts.flat_values
        return starts.with_flat_values(
            unescape(
                tf.strings.substr(texts, begins, ends.flat_values - begins)
            )
        )

    def _decode(self, ids):
        if self._has_codes:  # Codes are removed.
            code = tf.constant(
                [bool(_CODE.fullmatch(t)) for t in self.tokens()]
            )
            is_text = ids.with_flat_values(~tf.gather(code, ids.flat_values))
            ids = tf.ragged.boolean_mask(ids, is_text)
        # TF Text would omit tags, and mark broken bytes more often.
        if self.tags or self._skips_pieces or self._has_bytes:
            return super()._decode(ids)
        return self._unspaced(self._pieces.detokenize(ids))

    def _strings_of(self, ids):
        pieces = [piece.encode() for piece in self.tokens()]
        pieces[UNK_ID] = UNKNOWN.encode()
        for i, piece in enumerate(self.tokens()):
            if self._has_codes and _CODE.fullmatch(piece):
                pieces[i] = b""
            elif self._processor.is_byte(i):  # Such as <0xE6>.
                pieces[i] = bytes([int(piece[1:-1], 16)])
        return tf.gather(tf.constant(pieces), ids)

    def _join(self, tokens):
        text = tf.strings.reduce_join(tokens, axis=1)
        if self._has_bytes:  # They may not form valid characters.
            text = tf.strings.unicode_transcode(text, "UTF-8", "UTF-8")
            # No training text has these, but a sampled output may.
            text = tf.strings.regex_replace(text, _CONTROL, "")
        return self._unspaced(tf.strings.regex_replace(text, SPACE, " "))

    def _unspaced(self, text):
        """Restores text, without the space that may precede its first word."""
        if self.first_symbol is not None:
            if self._adds_space:
                text = tf.strings.regex_replace(text, "^ +", "")
            text = spaces_from_words(text)
        return unescape(tf.strings.regex_replace(text, "^ +", ""))

    def _content(self):
        return self._model

    @classmethod
    def _from_content(cls, content: bytes, options: dict) -> Self:
        return cls(content, **options)


def _user_defined(token):
    """A piece that is always one token, whatever surrounds it."""
    kind = _Model.SentencePiece.USER_DEFINED
    return _Model.SentencePiece(piece=token, type=kind, score=0.0)


def _read(path):
    accepted = "a SentencePiece model, its path or its bytes"
    return read_bytes(path, accepted, LARGEST_CONTENT)


def _require_options(known, size, prefix):
    """Refuses an invalid number of known pieces, or prefix."""
    lowest = len(SPECIAL_TOKENS)
    require_option(
        known is None or (type(known) is int and lowest <= known <= size),
        "known",
        f"{lowest} to {size}, the number of the model's pieces",
        known,
    )
    require_option(isinstance(prefix, str), "prefix", "a string", prefix)


def _processor(model):
    message = "not a SentencePiece model whose first pieces are " + " ".join(
        SPECIAL_TOKENS
    )
    if not model:
        raise InputError(message)
    try:
        processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    except RuntimeError:
        raise InputError(message) from None
    count = min(len(SPECIAL_TOKENS), processor.get_piece_size())
    first = tuple(processor.id_to_piece(i) for i in range(count))
    if first != SPECIAL_TOKENS:
        raise InputError(f"{message}. Received: {' '.join(first)}")
    return processor
