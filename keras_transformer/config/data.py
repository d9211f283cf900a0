"""Section `data`: languages, tokenizers, cleaning."""

import dataclasses
import re
from collections.abc import Sequence
from typing import Annotated, Literal

from keras_transformer.config.validation import (
    Fraction,
    PositiveInt,
    Rule,
    Section,
    Seed,
    at_most,
)
from keras_transformer.constants import SIDES, SPECIAL_TOKENS, TAG
from keras_transformer.languages import (
    code_of_name,
    is_chinese,
    is_japanese,
    is_tag,
)
from keras_transformer.symbols import SYMBOLS, leading_tags

TokenizerKind = Literal[
    "auto", "word", "character", "space", "sentencepiece", "mixed"
]
# Tokenizers whose vocabulary is a SentencePiece model.
SUBWORD_KINDS = ("sentencepiece", "mixed")
FILTERS = ("script", "copies", "language", "numbers", "alignment")
_LENGTH_RATIO = Rule("0 (no limit) or at least 1", lambda x: x == 0 or x >= 1)
_SIZE = Rule("more than the 4 reserved tokens", lambda value: value > 4)
_MOST_TOKENS = at_most(1 << 24)
_TEMPERATURE = Rule("at least 1", lambda value: value >= 1)


@dataclasses.dataclass(frozen=True)
class DataConfig(Section):
    """Text to ids: languages, normalisation, tokens, cleaning."""

    source_language: str = ""  # code of the language to translate from
    target_language: str = ""  # code of the language to translate into
    # auto: mixed for zh and ja, sentencepiece for other languages; mixed: a
    # token for each Chinese or Japanese character, SentencePiece for the rest
    # of the text; space: text that is already tokenized
    source_tokenizer: TokenizerKind = "auto"
    target_tokenizer: TokenizerKind = "auto"
    # None: 50,000 for word, character and space, 16,000 for mixed; for
    # sentencepiece it depends on the training text, see
    # `vocabulary_training.pieces_of`
    source_vocabulary_size: Annotated[int, _SIZE, _MOST_TOKENS] | None = None
    target_vocabulary_size: Annotated[int, _SIZE, _MOST_TOKENS] | None = None
    # unigram or bpe: how SentencePiece finds its pieces
    sentencepiece_model: Literal["unigram", "bpe"] = "unigram"
    shared_vocabulary: bool = False  # one SentencePiece model for both sides
    # Tokens that may precede a source, such as <BT>; tags given as `FILE#TAG`
    # are added
    source_tags: tuple[str, ...] = ()
    # keep: tags and placeholders are ordinary text; symbols: each is replaced
    # by a reserved token, see `symbols`
    markup: Literal["keep", "symbols"] = "keep"
    # Regular expressions for markup other than tags, {name}, %s and addresses
    placeholders: tuple[str, ...] = ()
    # Fraction of the pairs whose sources are annotated with the translations
    # of some terms, so that the model learns to follow a glossary; requires
    # markup: symbols
    term_share: Fraction = 0.0
    lowercase: bool = False  # word tokenizers only; the notebooks use it
    # OpenCC t2s on Chinese sides, except tags for traditional characters:
    # zh-Hant, zh-TW, zh-HK, zh-MO, yue
    simplify_chinese: bool = True
    max_length: PositiveInt = 100  # tokens per side, without start and end
    # longer side to shorter; 0: no limit
    max_length_ratio: Annotated[float, _LENGTH_RATIO] = 9.0
    remove_duplicates: bool = True  # exact duplicate pairs
    # Checks that drop training pairs. script: a side isn't in its language's
    # script; copies: the sides are the same; language: a side is in another
    # language (requires the extra [filters]); numbers: the sides' numbers
    # differ; alignment: the sides don't translate each other by IBM model 1
    filters: tuple[str, ...] = ()
    # Training pairs to drop because a dev or held-out file has the same: none,
    # pair, source, or side (either of the two)
    remove_leaked: Literal["none", "pair", "source", "side"] = "none"
    # Temperature T: languages with few pairs are repeated until their shares
    # are proportional to n^(1/T), n being the pairs of the corpora with the
    # same tag; 1: no repetition
    temperature: Annotated[float, _TEMPERATURE] = 1.0
    seed: Seed = 1  # for the choice of dev pairs, the order and SentencePiece

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("source_language", "target_language"):
            tag = getattr(self, name)
            accepted = "a language tag such as en, zh or pt-BR"
            if code := code_of_name(tag):
                accepted = f"a language tag; {tag} is {code}"
            self.require(name, accepted, not tag or is_tag(tag))
        self.require(
            "filters",
            "a list of " + ", ".join(FILTERS),
            set(self.filters) <= {*FILTERS},
        )
        kinds = {self.source_kind, self.target_kind}
        self.require(
            "shared_vocabulary",
            "false unless both tokenizers are sentencepiece",
            not self.shared_vocabulary or kinds == {"sentencepiece"},
        )
        self.require(
            "source_tags",
            "different, letters, digits, _ and - between < and >, such as "
            "<BT>, and none of " + " ".join(SPECIAL_TOKENS),
            are_tags(self.source_tags),
        )
        for side, tags in zip(SIDES, (self.source_tags, ()), strict=True):
            first = len(SPECIAL_TOKENS) + len(tags) + len(self.symbols)
            size = getattr(self, f"{side}_vocabulary_size")
            self.require(
                f"{side}_vocabulary_size",
                f"more than the {first} reserved tokens, tags and symbols",
                size is None or size > first,
            )

        self.require(
            "placeholders",
            "regular expressions that match no empty text, without names of "
            "groups, references and flags",
            all(map(is_pattern, self.placeholders)),
        )
        self.require(
            "term_share",
            "0 unless data.markup is symbols",
            not self.term_share or self.markup == "symbols",
        )

    @property
    def symbols(self) -> tuple[str, ...]:
        """Symbols for markup and terms, which both vocabularies reserve."""
        return SYMBOLS if self.markup == "symbols" else ()

    @property
    def markup_patterns(self) -> tuple[str, ...]:
        """Regular expressions for `find_marks`: tags, and placeholders."""
        return (*leading_tags(self.source_tags), *self.placeholders)

    @property
    def languages(self) -> tuple[str, str] | None:
        """Both languages, or None if either isn't named."""
        both = self.source_language, self.target_language
        return both if all(both) else None

    @property
    def source_kind(self) -> str:
        """The source's tokenizer, "auto" resolved by language."""
        return _kind(self.source_tokenizer, self.source_language)

    @property
    def target_kind(self) -> str:
        """The target's tokenizer, "auto" resolved by language."""
        return _kind(self.target_tokenizer, self.target_language)


def is_pattern(value: str) -> bool:
    """True for a regular expression that doesn't match an empty text.

    The expression becomes an alternative of a larger one, so it may not have
    global flags, named groups or references to groups by number.
    """
    try:
        if re.search(r"\\[1-9]|\(\?\(", value) or re.compile(value).groupindex:
            return False
        re.compile(f"(?P<term>x)|(?P<head>x)|{value}")
        return re.fullmatch(value, "") is None
    except (re.error, TypeError, OverflowError, RecursionError):
        return False


def are_tags(values: Sequence) -> bool:
    """True for different strings such as `<BT>`, none a reserved token."""
    return (
        all(isinstance(v, str) and re.fullmatch(TAG, v) for v in values)
        and not set(values) & set(SPECIAL_TOKENS)
        and len(values) == len(set(values))
    )


def _kind(tokenizer, language):
    if tokenizer != "auto":
        return tokenizer
    by_character = is_chinese(language) or is_japanese(language)
    return "mixed" if by_character else "sentencepiece"
