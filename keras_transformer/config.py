"""Configuration: frozen dataclasses, YAML in and out.

A `Config` has four sections. Each is a frozen dataclass that checks its own
values, so a configuration that exists is a configuration that works. Presets
live in `keras_transformer.presets`.
"""

import dataclasses
import typing

import yaml

from keras_transformer.errors import InputError
from keras_transformer.languages import (
    is_chinese,
    is_english,
    is_japanese,
)
from keras_transformer.validation import (
    fraction,
    known,
    mapping,
    one_of,
    positive,
    require,
    seed,
    typed,
)

TOKENIZERS = ("auto", "word", "character", "sentencepiece")
PRECISIONS = ("float32", "mixed_bfloat16", "mixed_float16")


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """The shape of the Transformer; vocabulary sizes come from the data."""

    num_encoder_layers: int = 6
    num_decoder_layers: int = 6
    d_model: int = 512
    num_heads: int = 8
    d_ff: int = 2048
    activation: str = "relu"  # relu, gelu or swish
    dropout: float = 0.1  # on embeddings and on each sublayer's output
    attention_dropout: float = 0.1  # on attention weights
    feedforward_dropout: float = 0.1  # inside the feed-forward sublayer
    norm: str = "pre"  # pre: the notebooks' model; post: the paper's
    layer_norm_epsilon: float = 1e-6
    tied_embeddings: str = "none"  # none, target (with output) or all
    positions: str = "sinusoidal"  # sinusoidal or learned
    max_length: int = 256  # positions, start and end tokens included

    def __post_init__(self):
        positive(
            "model",
            self,
            "num_encoder_layers",
            "num_decoder_layers",
            "d_model",
            "num_heads",
            "d_ff",
            "layer_norm_epsilon",
        )
        fraction(
            "model", self, "dropout", "attention_dropout", "feedforward_dropout"
        )
        require(
            self.d_model % self.num_heads == 0,
            "model.d_model",
            f"divisible by model.num_heads ({self.num_heads})",
            self.d_model,
        )
        require(self.d_model % 2 == 0, "model.d_model", "even", self.d_model)
        require(
            self.max_length >= 4,
            "model.max_length",
            "4 or more",
            self.max_length,
        )
        one_of("model.activation", self.activation, ("relu", "gelu", "swish"))
        one_of("model.norm", self.norm, ("pre", "post"))
        one_of(
            "model.tied_embeddings",
            self.tied_embeddings,
            ("none", "target", "all"),
        )
        one_of("model.positions", self.positions, ("sinusoidal", "learned"))


@dataclasses.dataclass(frozen=True)
class DataConfig:
    """How text becomes ids: languages, normalisation, tokens, cleaning."""

    source_language: str = "en"
    target_language: str = "zh"
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
    remove_copies: bool = False  # drop pairs of twice the same text
    # Training pairs to drop because a dev or held-out file has the same pair,
    # the same source or either side; none: they are kept
    remove_leaked: str = "none"
    # Different translations kept of a text; None: all
    max_targets_per_source: int | None = None
    max_sources_per_target: int | None = None
    seed: int = 1
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


@dataclasses.dataclass(frozen=True)
class TrainingConfig:
    """How the model is fitted."""

    epochs: int = 20
    batch_tokens: int = 4096  # positions of a batch on either side
    batch_sentences: int | None = None  # if set, used instead of batch_tokens
    label_smoothing: float = 0.1
    warmup_steps: int = 4000
    learning_rate_factor: float = 1.0  # the notebooks' Noam factor
    beta_1: float = 0.9
    beta_2: float = 0.98
    adam_epsilon: float = 1e-9
    learning_rate: float | None = None  # at the peak; None: the paper's
    gradient_clip: float = 0.0  # greatest norm of all gradients; 0: any
    accumulate_steps: int = 1  # batches to one update of the weights
    precision: str = "float32"  # or mixed_bfloat16, mixed_float16
    # Parts of a batch computed at the same time, a thread each. None: as many
    # as there are cores, 1 with a GPU.
    threads: int | None = None
    seed: int = 1
    shuffle_buffer: int = 100_000  # pairs shuffled and sorted together
    checkpoint_every: int = 500  # steps between checkpoints for --resume
    # Other pieces for a sentence in each epoch, on sides that have
    # SentencePiece; 0: none. Unigram: the exponent on the probabilities, 0.1
    # to 0.5; bpe: the share of merges left out, 0.1.
    subword_sampling: float = 0.0
    early_stopping: int = 0  # epochs without a better dev score; 0: off
    bleu_every: int = 0  # epochs between dev BLEU measurements; 0: never
    best_by: str = "loss"  # or bleu: the dev score that decides what is best
    average_epochs: int = 0  # weights averaged over so many epochs; 0: none
    # Momentum of the moving average of the weights that is scored and kept,
    # such as 0.999; 0: the weights themselves.
    ema: float = 0.0
    # Weight of R-Drop's divergence between two passes with other dropout, each
    # batch computed twice; half of the paper's alpha; 0: off.
    r_drop: float = 0.0
    # Patterns of weights that stay as they are, such as encoder_layer_* or
    # *_embedding/*; a layer's name means all of it.
    freeze: tuple[str, ...] = ()
    tensorboard: bool = False
    source_embeddings: str | None = None  # word vectors: word2vec or GloVe
    target_embeddings: str | None = None

    def __post_init__(self):
        positive(
            "training",
            self,
            "epochs",
            "batch_tokens",
            "warmup_steps",
            "learning_rate_factor",
            "adam_epsilon",
            "shuffle_buffer",
            "checkpoint_every",
            "accumulate_steps",
        )
        for name in ("batch_sentences", "learning_rate", "threads"):
            if getattr(self, name) is not None:
                positive("training", self, name)
        fraction("training", self, "label_smoothing", "beta_1", "beta_2", "ema")
        require(
            0 <= self.subword_sampling <= 1,
            "training.subword_sampling",
            "at least 0, at most 1",
            self.subword_sampling,
        )
        seed("training", self)
        one_of("training.precision", self.precision, PRECISIONS)
        one_of("training.best_by", self.best_by, ("loss", "bleu"))
        for name in (
            "early_stopping",
            "bleu_every",
            "average_epochs",
            "gradient_clip",
            "r_drop",
        ):
            value = getattr(self, name)
            require(value >= 0, f"training.{name}", "0 or more", value)
        require(
            self.best_by != "bleu" or 1 <= self.bleu_every <= self.epochs,
            "training.bleu_every",
            f"1 to {self.epochs} (training.epochs) with training.best_by bleu",
            self.bleu_every,
        )


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
    no_repeat_ngram_size: int = 0  # no such n-gram twice; 0: any may
    repetition_penalty: float = 1.0  # on repeated log-probabilities; 1: none
    ban_unknown: bool = False  # never the unknown token
    banned_tokens: tuple[str, ...] = ()  # target tokens never generated
    replace_unknown: bool = False  # by the source word attended to most
    sampling: bool = False  # draw tokens at random, one hypothesis
    temperature: float = 1.0  # of sampling
    top_k: int = 0  # sample from so many tokens; 0: all
    top_p: float = 1.0  # sample from this share of the probability
    sampling_seed: int = 1
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


@dataclasses.dataclass(frozen=True)
class Config:
    """Everything that a run was told, section by section."""

    model: ModelConfig = ModelConfig()
    data: DataConfig = DataConfig()
    training: TrainingConfig = TrainingConfig()
    decoding: DecodingConfig = DecodingConfig()

    def to_dict(self) -> dict:
        """The same as JSON and YAML hold it."""
        return {
            section: {
                key: list(value) if isinstance(value, tuple) else value
                for key, value in values.items()
            }
            for section, values in dataclasses.asdict(self).items()
        }

    def to_yaml(self) -> str:
        return yaml.safe_dump(self.to_dict(), sort_keys=False)

    def updated(self, values: dict, where: str = "configuration") -> "Config":
        """A copy in which the named values of `values` replace this one's.

        Args:
            values: `{section: {key: value}}`, any part of it.
            where: what the values come from, named in error messages.

        Raises:
            InputError: unknown section or key, wrong type or refused value.
        """
        sections = {
            field.name: getattr(self, field.name)
            for field in dataclasses.fields(self)
        }
        mapping(values, where)
        for name, part in values.items():
            known(name, sections, where)
            section = sections[name]
            mapping(part, f"{where}, section {name}")
            types_of = typing.get_type_hints(type(section))
            for key in part:
                known(key, types_of, where, prefix=f"{name}.")
            converted = {
                key: typed(f"{where}: {name}.{key}", value, types_of[key])
                for key, value in part.items()
            }
            try:
                sections[name] = dataclasses.replace(section, **converted)
            except InputError as error:
                raise InputError(f"{where}: {error}") from None
        return Config(**sections)
