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

# Logits divided by the temperature must stay finite.
_TEMPERATURE = Rule("0, or at least 1e-6", lambda x: x == 0 or x >= 1e-6)
# Compared with cumulative probabilities in float32.
_PROBABILITY = Rule("at least 1e-6, at most 1", lambda x: 1e-6 <= x <= 1)


@dataclasses.dataclass(frozen=True)
class DecodingConfig(Section):
    """Search and sampling of translations."""

    beam_size: Annotated[PositiveInt, at_most(1000)] = 4  # 1: greedy
    # exponent alpha; 0: none
    length_penalty: Annotated[NonNegativeFloat, at_most(10)] = 1.0
    # average or gnmt: see `search.scoring`
    length_normalization: Literal["gnmt", "average"] = "average"
    # Whether a sentence's search stops once beam_size hypotheses have ended,
    # although a longer one may still score higher.
    early_stopping: bool = False
    # Output tokens allowed for a source of n tokens:
    # max_length_ratio * n + max_length_offset, never more than max_length,
    # if set, nor than model.max_length - 1.
    max_length_ratio: NonNegativeFloat = 3.0
    max_length_offset: NonNegativeInt = 20
    max_length: Annotated[PositiveInt, at_most(1 << 20)] | None = None
    # tokens before the end token may be generated
    min_length: Annotated[NonNegativeInt, at_most(1 << 20)] = 0
    # n-grams of this size may not repeat; 0: no limit
    no_repeat_ngram_size: Annotated[NonNegativeInt, at_most(1000)] = 0
    # on the log-probabilities of repeated tokens; 1: none
    repetition_penalty: PositiveFloat = 1.0
    # target tokens that are never generated; <unk> bans the unknown token
    banned_tokens: tuple[str, ...] = ()
    replace_unknown: bool = False  # by the source word attended to most
    # 0: search; otherwise one hypothesis is sampled, from the logits divided
    # by the temperature
    temperature: Annotated[float, _TEMPERATURE] = 0.0
    # sample from this many of the most probable tokens; 0: all
    top_k: Annotated[NonNegativeInt, at_most(1 << 30)] = 0
    # sample from the most probable tokens with this total probability
    top_p: Annotated[float, _PROBABILITY] = 1.0
    sampling_seed: NonNegativeInt = 1  # same seed, same draws
    # of matrix products with weights: float32, bfloat16 or int8
    precision: Literal["float32", "bfloat16", "int8"] = "float32"
    # language code such as >>cmn_Hans<<, put before each source that has none,
    # for models with such tokens; "": the code chosen when the run was imported
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
