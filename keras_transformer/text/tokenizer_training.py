"""Tokenizer training: builds a configured tokenizer from its training text."""

from collections.abc import Callable, Iterable, Sequence

from keras_transformer.config.data import SUBWORD_KINDS, DataConfig
from keras_transformer.errors import InputError
from keras_transformer.languages import is_simplified_chinese
from keras_transformer.text import lookup
from keras_transformer.text.character import CharacterTokenizer
from keras_transformer.text.lookup import LookupTokenizer
from keras_transformer.text.sentencepiece import SentencePieceTokenizer
from keras_transformer.text.space import SpaceTokenizer
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.word import WordTokenizer

_LOOKUPS = {
    tokenizer.kind: tokenizer
    for tokenizer in (WordTokenizer, CharacterTokenizer, SpaceTokenizer)
}
# Chinese has several thousand characters, each of which is a piece.
_MIXED_SIZE = 16_000


def build_tokenizer(
    kind: str,
    lines: Callable[[], Iterable[str]],
    config: DataConfig,
    language: str,
    vocabulary_size: int | None = None,
    *,
    simplify: bool | None = None,
    tags: Sequence[str] = (),
) -> Tokenizer:
    """Trains the tokenizer of one side, or of both, on its text.

    Args:
        kind: "word", "character", "space", "sentencepiece" or "mixed" (as
            in `DataConfig.source_kind`).
        lines: called once; returns the training text, line by line. For a
            vocabulary shared by both sides these are the lines of both.
        config: tokenization settings.
        language: of the text, for instance "en"; with
            `config.simplify_chinese`, text of "zh", but not of "zh-TW", is
            simplified.
        vocabulary_size: at most, the reserved tokens included. None: 16,000 for
            "mixed", by the text for "sentencepiece" (see
            `vocabulary_training.pieces_of`), otherwise 50,000.
        simplify: overrides the choice by `language`.
        tags: tokens that may precede a text, see `tags`.

    Raises:
        InputError: unknown kind, or no text.
    """
    if kind not in (*_LOOKUPS, *SUBWORD_KINDS):
        raise InputError(
            f"unknown tokenizer {kind!r}. Accepted: "
            f"{', '.join((*_LOOKUPS, *SUBWORD_KINDS))}"
        )
    if simplify is None:
        simplify = config.simplify_chinese and is_simplified_chinese(language)
    if kind in SUBWORD_KINDS:
        default = _MIXED_SIZE if kind == "mixed" else None
        return SentencePieceTokenizer.train(
            lines(),
            vocabulary_size or default,
            model_type=config.sentencepiece_model,
            seed=config.seed,
            characters=kind == "mixed",
            tags=tags,
            symbols=config.symbols,
            simplify=simplify,
        )
    tokenizer, options = lookup_class(kind, config, simplify, tags)
    size = vocabulary_size or lookup.DEFAULT_SIZE
    return tokenizer.train(lines(), size, symbols=config.symbols, **options)


def lookup_class(
    kind: str, config: DataConfig, simplify: bool, tags: Sequence[str]
) -> tuple[type[LookupTokenizer], dict]:
    """The lookup tokenizer class of a kind, and its options.

    Args:
        kind: "word", "character" or "space".
        config: tokenization settings.
        simplify: True if Chinese text is simplified.
        tags: tokens that may precede a text.
    """
    options: dict = {"simplify": simplify, "tags": tags}
    if kind == WordTokenizer.kind:
        options["lowercase"] = config.lowercase
    return _LOOKUPS[kind], options
