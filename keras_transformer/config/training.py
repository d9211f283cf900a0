"""Section `training`: how the model is fitted."""

import dataclasses

from keras_transformer.validation import (
    fraction,
    one_of,
    positive,
    require,
    seed,
)

PRECISIONS = ("auto", "float32", "mixed_bfloat16", "mixed_float16")


@dataclasses.dataclass(frozen=True)
class TrainingConfig:
    """How the model is fitted."""

    epochs: int = 20  # passes over the training pairs
    batch_tokens: int = 4096  # positions of a batch on either side
    batch_sentences: int | None = None  # if set, used instead of batch_tokens
    label_smoothing: float = 0.1  # fraction given to all others; 0: off
    warmup_steps: int = 4000  # in which the learning rate rises
    learning_rate_factor: float = 1.0  # the notebooks' Noam factor
    beta_1: float = 0.9  # of Adam: how long it remembers gradients
    beta_2: float = 0.98  # of Adam: how long it remembers their squares
    adam_epsilon: float = 1e-9  # of Adam: added to its divisor
    learning_rate: float | None = None  # at the peak; None: the paper's
    gradient_clip: float = 0.0  # greatest norm of all gradients; 0: any
    accumulate_steps: int = 1  # batches to one update of the weights
    # float32, mixed_bfloat16, mixed_float16, or auto: mixed_bfloat16 where the
    # machine that the run starts on multiplies it, else float32
    precision: str = "float32"
    # Parts of a batch computed at the same time, a thread each. None: as many
    # as there are cores, 1 with a GPU.
    threads: int | None = None
    # XLA: a program is compiled for each shape of a batch, so it wants a
    # length_multiple of 8 or more.
    jit_compile: bool = False
    length_multiple: int = 1  # lengths of a batch are padded to a multiple
    seed: int = 1  # of initial weights, dropout and the order of batches
    shuffle_buffer: int = 100_000  # pairs shuffled and sorted together
    checkpoint_every: int = 500  # steps between checkpoints for --resume
    # Other pieces for a sentence in each epoch, on sides that have
    # SentencePiece; 0: none. Unigram: the exponent on the probabilities, 0.1
    # to 0.5; bpe: the fraction of merges left out, 0.1.
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
    tensorboard: bool = False  # writes TensorBoard's event files
    source_embeddings: str | None = None  # word vectors: word2vec or GloVe
    target_embeddings: str | None = None  # the same for the target

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
            "length_multiple",
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
            self.length_multiple >= 8 or not self.jit_compile,
            "training.length_multiple",
            "8 or more with training.jit_compile",
            self.length_multiple,
        )
        require(
            self.best_by != "bleu" or 1 <= self.bleu_every <= self.epochs,
            "training.bleu_every",
            f"1 to {self.epochs} (training.epochs) with training.best_by bleu",
            self.bleu_every,
        )
