"""Tokenizer training: a tokenizer as configured, from its training text."""

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
# Chinese has some thousand characters, each of them a piece.
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
    """The tokenizer of one side, or of both, from its training text.

    Args:
        kind: "word", "character", "space", "sentencepiece" or "mixed" (as
            in `DataConfig.source_kind`).
        lines: called once; gives the training text, line by line. For a
            vocabulary shared by both sides it gives the lines of both.
        config: how text becomes tokens.
        language: of the text, for instance "en"; text of "zh", but not of
            "zh-TW", is simplified if `config.simplify_chinese` says so.
        vocabulary_size: at most, the reserved tokens included. None:
            50,000, 16,000 of "mixed", and of "sentencepiece" by the text, see
            `vocabulary_training.pieces_of`.
        simplify: overrides what follows from `language`.
        tags: tokens that may stand before a text, see `tags`.

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
    """The class of tokenizers that have a list of tokens, and its options.

    Args:
        kind: "word", "character" or "space".
        config: how text becomes tokens.
        simplify: True if Chinese text is simplified.
        tags: tokens that may stand before a text.
    """
    options: dict = {"simplify": simplify, "tags": tags}
    if kind == WordTokenizer.kind:
        options["lowercase"] = config.lowercase
    return _LOOKUPS[kind], options
