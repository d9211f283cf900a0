"""Section `decoding`: how translations are searched for."""

import dataclasses

from keras_transformer.validation import one_of, positive, require


@dataclasses.dataclass(frozen=True)
class DecodingConfig:
    """How translations are searched for."""

    beam_size: int = 4  # 1: greedy
    length_penalty: float = 1.0  # exponent alpha; 0: none
    length_normalization: str = "average"  # or gnmt: see length_penalty()
    coverage_penalty: float = 0.0  # beta of Wu et al. 2016; 0: none
    # Whether a sentence is done when beam_size hypotheses have ended, although
    # a longer one may still score higher.
    early_stopping: bool = False
    # Output tokens allowed for a source of n tokens:
    # max_length_ratio * n + max_length_offset, never more than max_length,
    # if set, nor than model.max_length - 1.
    max_length_ratio: float = 3.0
    max_length_offset: int = 20
    max_length: int | None = None
    min_length: int = 0  # tokens before the end may come
    min_length_ratio: float = 0.0  # the same, in source tokens
    no_repeat_ngram_size: int = 0  # no n-gram of this size repeats; 0: any
    repetition_penalty: float = 1.0  # on repeated log-probabilities; 1: none
    ban_unknown: bool = False  # never the unknown token
    banned_tokens: tuple[str, ...] = ()  # target tokens never generated
    replace_unknown: bool = False  # by the source word attended to most
    sampling: bool = False  # draw tokens at random, one hypothesis
    temperature: float = 1.0  # of sampling
    top_k: int = 0  # sample from so many tokens; 0: all
    top_p: float = 1.0  # sample from this fraction of probability
    sampling_seed: int = 1  # same seed, same draws
    precision: str = "float32"  # of products with weights; or bfloat16
    batch_size: int = 64  # sentences decoded together

    def __post_init__(self):
        positive(
            "decoding",
            self,
            "beam_size",
            "batch_size",
            "repetition_penalty",
            "temperature",
            "top_p",
        )
        for name in (
            "length_penalty",
            "coverage_penalty",
            "max_length_ratio",
            "max_length_offset",
            "min_length",
            "min_length_ratio",
            "no_repeat_ngram_size",
            "top_k",
            "sampling_seed",
        ):
            value = getattr(self, name)
            require(value >= 0, f"decoding.{name}", "0 or more", value)
        if self.max_length is not None:
            positive("decoding", self, "max_length")
        require(self.top_p <= 1, "decoding.top_p", "at most 1", self.top_p)
        one_of(
            "decoding.length_normalization",
            self.length_normalization,
            ("gnmt", "average"),
        )
        one_of("decoding.precision", self.precision, ("float32", "bfloat16"))
