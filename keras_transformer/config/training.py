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
    """Optimization: epochs, batches, learning rates and the weights to keep."""

    # Passes over the training pairs. The warm-up of a short training is a
    # quarter of them; if --resume changes them, the learning rate may jump.
    epochs: PositiveInt = 20
    batch_tokens: PositiveInt = 4096  # positions of a batch on either side
    # if set, used instead of batch_tokens
    batch_sentences: PositiveInt | None = None
    label_smoothing: Fraction = 0.1  # probability given to other tokens; 0: off
    warmup_steps: PositiveInt = 4000  # steps in which the learning rate rises
    learning_rate: PositiveFloat | None = None  # at the peak; None: the paper's
    # Number of last epochs in which the learning rate falls to 0; below 1 a
    # fraction of all epochs, such as 0.2; 0: none. A training that ends early,
    # for example by early_stopping, has less of the cooldown or none.
    cooldown_epochs: NonNegativeFloat = 0.0
    # maximum global norm of the gradients; 0: no limit
    gradient_clip: NonNegativeFloat = 0.0
    accumulate_steps: PositiveInt = 1  # batches per update of the weights
    # float32, mixed_bfloat16, mixed_float16, or auto: mixed_bfloat16 if the
    # machine that the run starts on has instructions for it, else float32
    precision: Precision = "float32"
    # Parts of a batch that are computed in parallel, a thread each. None: the
    # number of cores, 8 at most; 1 with a GPU and on JAX.
    threads: Annotated[PositiveInt, at_most(1024)] | None = None
    # exact: pairs of nearly the same length share a batch, in many shapes;
    # few: batches are padded to one of three to ten lengths that suit the
    # data, so that few programs are compiled. None: few on JAX, exact on
    # TensorFlow.
    length_buckets: Literal["exact", "few"] | None = None
    seed: Seed = 1  # of initial weights, dropout and the order of batches
    # steps between checkpoints for --resume
    checkpoint_every: PositiveInt = 500
    # Subword regularization on sides with SentencePiece: each epoch segments a
    # sentence differently; 0: off. unigram: the exponent on the probabilities,
    # 0.1 to 0.5; bpe: the fraction of merges left out, 0.1.
    subword_sampling: Annotated[float, _EXPONENT] = 0.0
    # Fraction of pairs that are augmented, differently in each epoch: capitals,
    # typing errors, final stops, numbers or joined sentences; 0: none
    augment: Annotated[float, _EXPONENT] = 0.0
    # epochs without a better dev score; 0: off
    early_stopping: NonNegativeInt = 0
    # epochs between dev BLEU measurements; 0: never
    bleu_every: NonNegativeInt = 0
    # loss or bleu: the dev score by which the best epoch is chosen; last: the
    # newest epoch, or with average_epochs the averaged weights unless their
    # dev loss is higher. On small corpora BLEU keeps rising after the dev loss
    # has stopped falling.
    best_by: Literal["loss", "bleu", "last"] = "loss"
    # epochs whose weights are averaged; 0: none
    average_epochs: Annotated[NonNegativeInt, at_most(10_000)] = 0
    # Interpolates the weights that are scored and kept: the fraction, such as
    # 0.5, of the weights that training began with (train --from); the rest is
    # the trained weights. Preserves earlier abilities of a model; 0: off.
    initial_fraction: Fraction = 0.0
    # Name patterns of weights that aren't trained, such as encoder_layer_* or
    # *_embedding/*; a layer's name stands for all of its weights.
    freeze: tuple[str, ...] = ()
    # Weight of a loss that trains one attention head of the decoder on word
    # alignments learned from the training pairs, such as 0.05; 0: none.
    guided_alignment: NonNegativeFloat = 0.0
    source_embeddings: str | None = None  # file of word vectors, as text
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
