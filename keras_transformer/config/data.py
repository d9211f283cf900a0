"""Section `data`: languages, tokenizers, cleaning."""

import dataclasses

from keras_transformer.languages import (
    is_chinese,
    is_english,
    is_japanese,
    is_tag,
)
from keras_transformer.validation import one_of, positive, require, seed

TOKENIZERS = ("auto", "word", "character", "sentencepiece")


@dataclasses.dataclass(frozen=True)
class DataConfig:
    """How text becomes ids: languages, normalisation, tokens, cleaning."""

    source_language: str = "en"  # code of the language to translate from
    target_language: str = "zh"  # code of the language to translate into
    # auto: characters for zh and ja, words for an English source,
    # sentencepiece for everything else
    source_tokenizer: str = "auto"
    target_tokenizer: str = "auto"
    # None: 50,000 for words and characters, 8,000 for SentencePiece
    source_vocabulary_size: int | None = None
    target_vocabulary_size: int | None = None
    sentencepiece_model: str = "unigram"  # unigram or bpe
    shared_vocabulary: bool = False  # one SentencePiece model for both sides
    lowercase: bool = True  # word tokenizers only, as in the notebooks
    keep_latin_runs: bool = False  # character tokenizers: "TF2" is one token
    nfc: bool = True  # Unicode normalisation form C
    remove_control: bool = True  # control characters become spaces
    simplify_chinese: bool = True  # OpenCC t2s on the sides that are zh
    max_length: int = 100  # tokens a side, without start and end
    max_length_ratio: float = 9.0  # longer side to shorter; 0: no limit
    # Robust standard deviations from the corpus's median log length ratio
    # beyond which a pair is dropped; 0: none is
    length_ratio_deviations: float = 0.0
    remove_duplicates: bool = True  # exact duplicate pairs
    check_script: bool = False  # drop text not in its language's script
    remove_copies: bool = False  # drop pairs whose sides are the same
    # Training pairs to drop because a dev or held-out file has the same pair,
    # the same source or either side; none: they are kept
    remove_leaked: str = "none"
    # Different translations kept of a text; None: all
    max_targets_per_source: int | None = None
    max_sources_per_target: int | None = None
    seed: int = 1  # of the dev pairs, the order and SentencePiece
    shard_size: int = 100_000  # pairs a file

    def __post_init__(self):
        one_of("data.source_tokenizer", self.source_tokenizer, TOKENIZERS)
        one_of("data.target_tokenizer", self.target_tokenizer, TOKENIZERS)
        one_of(
            "data.sentencepiece_model",
            self.sentencepiece_model,
            ("unigram", "bpe"),
        )
        one_of(
            "data.remove_leaked",
            self.remove_leaked,
            ("none", "pair", "source", "side"),
        )
        for name in ("source_language", "target_language"):
            tag = getattr(self, name)
            require(
                is_tag(tag),
                f"data.{name}",
                "a language tag such as en, zh or pt-BR",
                tag,
            )
        positive("data", self, "max_length", "shard_size")
        seed("data", self)
        require(
            self.max_length_ratio == 0 or self.max_length_ratio >= 1,
            "data.max_length_ratio",
            "0 (no limit) or at least 1",
            self.max_length_ratio,
        )
        require(
            self.length_ratio_deviations >= 0,
            "data.length_ratio_deviations",
            "0 (no limit) or more",
            self.length_ratio_deviations,
        )
        for name in ("max_targets_per_source", "max_sources_per_target"):
            if getattr(self, name) is not None:
                positive("data", self, name)
        for name in ("source_vocabulary_size", "target_vocabulary_size"):
            size = getattr(self, name)
            require(
                size is None or size > 4,
                f"data.{name}",
                "more than the 4 reserved tokens",
                size,
            )
        if self.shared_vocabulary:
            kinds = {self.source_kind, self.target_kind}
            require(
                kinds == {"sentencepiece"},
                "data.shared_vocabulary",
                "false unless both tokenizers are sentencepiece",
                True,
            )

    @property
    def source_kind(self) -> str:
        """The source's tokenizer, "auto" resolved by language."""
        if self.source_tokenizer == "auto" and is_english(self.source_language):
            return "word"
        return _kind(self.source_tokenizer, self.source_language)

    @property
    def target_kind(self) -> str:
        """The target's tokenizer, "auto" resolved by language."""
        # Lower-cased English words serve as a source, not as a result.
        return _kind(self.target_tokenizer, self.target_language)


def _kind(tokenizer, language):
    if tokenizer != "auto":
        return tokenizer
    by_character = is_chinese(language) or is_japanese(language)
    return "character" if by_character else "sentencepiece"
