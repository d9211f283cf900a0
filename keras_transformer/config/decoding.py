"""Section `decoding`: how translations are searched for."""

import dataclasses
from typing import Annotated, Literal

from keras_transformer.config.validation import (
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Rule,
    Section,
    at_most,
)

# Logits are divided by it, which must not give infinity.
_TEMPERATURE = Rule("0, or at least 1e-6", lambda x: x == 0 or x >= 1e-6)
# Sums of probabilities are compared with it in float32.
_PROBABILITY = Rule("at least 1e-6, at most 1", lambda x: 1e-6 <= x <= 1)


@dataclasses.dataclass(frozen=True)
class DecodingConfig(Section):
    """Search and sampling of translations."""

    beam_size: Annotated[PositiveInt, at_most(1000)] = 4  # 1: greedy
    # exponent alpha; 0: none
    length_penalty: Annotated[NonNegativeFloat, at_most(10)] = 1.0
    # average or gnmt: see `search.scoring`
    length_normalization: Literal["gnmt", "average"] = "average"
    # Whether a sentence is done when beam_size hypotheses have ended, although
    # a longer one may still score higher.
    early_stopping: bool = False
    # Output tokens allowed for a source of n tokens:
    # max_length_ratio * n + max_length_offset, never more than max_length,
    # if set, nor than model.max_length - 1.
    max_length_ratio: NonNegativeFloat = 3.0
    max_length_offset: NonNegativeInt = 20
    max_length: Annotated[PositiveInt, at_most(1 << 20)] | None = None
    # tokens before the end may come
    min_length: Annotated[NonNegativeInt, at_most(1 << 20)] = 0
    # no n-gram of this size repeats; 0: any
    no_repeat_ngram_size: Annotated[NonNegativeInt, at_most(1000)] = 0
    # on repeated log-probabilities; 1: none
    repetition_penalty: PositiveFloat = 1.0
    # target tokens never generated; <unk> is what is unknown
    banned_tokens: tuple[str, ...] = ()
    replace_unknown: bool = False  # by the source word attended to most
    # 0: search; else sample, one hypothesis, from logits divided by it
    temperature: Annotated[float, _TEMPERATURE] = 0.0
    # sample from so many tokens; 0: all
    top_k: Annotated[NonNegativeInt, at_most(1 << 30)] = 0
    # sample from this fraction of probability
    top_p: Annotated[float, _PROBABILITY] = 1.0
    sampling_seed: NonNegativeInt = 1  # same seed, same draws
    # of products with weights; or bfloat16, or int8
    precision: Literal["float32", "bfloat16", "int8"] = "float32"
    # language code, such as >>cmn_Hans<<, before each source without one, for
    # models that have such tokens; "": as the run was imported
    source_prefix: str = ""
    # whether a text is split into sentences, which are translated one by one
    # and joined, or kept as it is
    sentences: Literal["split", "keep"] = "split"
    # sentences decoded together
    batch_size: Annotated[PositiveInt, at_most(1 << 20)] = 64

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, neutral in (("top_k", 0), ("top_p", 1)):
            self.require(
                name,
                f"{neutral} unless decoding.temperature is above 0",
                self.temperature > 0 or getattr(self, name) == neutral,
            )
