"""Section `training`: how the model is fitted."""

import dataclasses
from typing import Annotated, Literal

from keras_transformer.config.validation import (
    Fraction,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Rule,
    Section,
    Seed,
    at_most,
)

Precision = Literal["auto", "float32", "mixed_bfloat16", "mixed_float16"]
_EXPONENT = Rule("at least 0, at most 1", lambda value: 0 <= value <= 1)


@dataclasses.dataclass(frozen=True)
class TrainingConfig(Section):
    """Optimization of the model: epochs, batches, rates, what is kept."""

    # Passes over the training pairs. The warm-up of a short training is a
    # quarter of them; with other ones on --resume the learning rate may jump.
    epochs: PositiveInt = 20
    batch_tokens: PositiveInt = 4096  # positions of a batch on either side
    # if set, used instead of batch_tokens
    batch_sentences: PositiveInt | None = None
    label_smoothing: Fraction = 0.1  # fraction given to all others; 0: off
    warmup_steps: PositiveInt = 4000  # in which the learning rate rises
    learning_rate: PositiveFloat | None = None  # at the peak; None: the paper's
    # Last of the epochs, in which the learning rate falls to 0; below 1 a
    # fraction of all epochs, such as 0.2; 0: none. An early end, as by
    # early_stopping, has no part of it, or less.
    cooldown_epochs: NonNegativeFloat = 0.0
    # greatest norm of all gradients; 0: any
    gradient_clip: NonNegativeFloat = 0.0
    accumulate_steps: PositiveInt = 1  # batches to one update of the weights
    # float32, mixed_bfloat16, mixed_float16, or auto: mixed_bfloat16 where the
    # machine that the run starts on multiplies it, else float32
    precision: Precision = "float32"
    # Parts of a batch computed at the same time, a thread each. None: as many
    # as there are cores, 8 at most, 1 with a GPU and on JAX.
    threads: Annotated[PositiveInt, at_most(1024)] | None = None
    # exact: pairs of nearly the same length share a batch, in many shapes;
    # few: lengths are padded to three to ten that suit the data, so that few
    # programs are compiled. None: few on JAX, exact on TensorFlow.
    length_buckets: Literal["exact", "few"] | None = None
    seed: Seed = 1  # of initial weights, dropout and the order of batches
    # steps between checkpoints for --resume
    checkpoint_every: PositiveInt = 500
    # Other pieces for a sentence in each epoch, on sides that have
    # SentencePiece; 0: none. Unigram: the exponent on the probabilities, 0.1
    # to 0.5; bpe: the fraction of merges left out, 0.1.
    subword_sampling: Annotated[float, _EXPONENT] = 0.0
    # The fraction of pairs that each epoch changes as people's text differs, in
    # capitals, typing errors, final stops, numbers or joined sentences; 0: none
    augment: Annotated[float, _EXPONENT] = 0.0
    # epochs without a better dev score; 0: off
    early_stopping: NonNegativeInt = 0
    # epochs between dev BLEU measurements; 0: never
    bleu_every: NonNegativeInt = 0
    # loss or bleu: the dev score that decides what is best; last: the newest
    # epoch is, or the mean with average_epochs if its dev loss isn't higher. On
    # small corpora BLEU goes on rising when the dev loss doesn't fall any more.
    best_by: Literal["loss", "bleu", "last"] = "loss"
    # weights averaged over so many epochs; 0: none
    average_epochs: Annotated[NonNegativeInt, at_most(10_000)] = 0
    # Of the weights that are scored and kept, the fraction that is those that
    # training began with (train --from), such as 0.5; the rest is the trained
    # ones. Keeps what a model could before; 0: the trained weights themselves.
    initial_fraction: Fraction = 0.0
    # Patterns of weights that stay as they are, such as encoder_layer_* or
    # *_embedding/*; a layer's name means all of it.
    freeze: tuple[str, ...] = ()
    # Weight of a loss by which a head of the decoder aligns words, like links
    # that are learned from the training pairs; 0.05, or 0: none.
    guided_alignment: NonNegativeFloat = 0.0
    source_embeddings: str | None = None  # word vectors, as text
    target_embeddings: str | None = None  # the same for the target

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(
            "bleu_every",
            f"1 to {self.epochs} (training.epochs) with training.best_by bleu",
            self.best_by != "bleu" or 1 <= self.bleu_every <= self.epochs,
        )
        self.require(
            "cooldown_epochs",
            f"{self.epochs} (training.epochs) or less",
            self.cooldown_epochs <= self.epochs,
        )
        self.require(
            "early_stopping",
            "0 with training.best_by last, by which each epoch is better",
            self.best_by != "last" or not self.early_stopping,
        )
