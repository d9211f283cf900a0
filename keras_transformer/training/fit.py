"""Training a run on prepared data with `model.fit`."""

import keras
import numpy as np
from keras import ops

from keras_transformer.config import TrainingConfig
from keras_transformer.constants import END_ID
from keras_transformer.data.batches import (
    TrainingBatches,
    damage_reported,
    evaluation_batches,
)
from keras_transformer.data.subword_batches import subword_sampling
from keras_transformer.errors import InputError
from keras_transformer.files import remove_leftovers
from keras_transformer.text.vectors import load_vectors
from keras_transformer.training.callbacks import (
    Checkpoint,
    DevScores,
    History,
    KeepBest,
    Position,
    Report,
    Speed,
    TensorBoard,
)
from keras_transformer.training.loss import SmoothedCrossEntropy
from keras_transformer.training.metrics import (
    CrossEntropy,
    Perplexity,
    TokenAccuracy,
)
from keras_transformer.training.optimizer import DenseAdam
from keras_transformer.training.schedule import WarmupSchedule


class Observer:
    """What training tells while it works; override what is wanted."""

    def start(self, model, batches):
        """Before the first step: the model and its `TrainingBatches`."""

    def vectors(self, side, found):
        """The share `found` of the vocabulary has pre-trained vectors."""

    def step(self, epoch, batch, logs):
        """After each step; both count from 1."""

    def epoch(self, epoch, logs):
        """After each epoch, all its scores in `logs`."""


def fit(
    run,
    prepared,
    *,
    resume: bool = False,
    observer: Observer | None = None,
    measure=None,
    stop_requested=lambda: False,
) -> keras.Model:
    """Trains the run's model, from the start or from its checkpoint.

    Args:
        run: `Run`; its folder receives weights, history and checkpoint.
        prepared: `PreparedData` that the run was created for.
        resume: goes on from the run's checkpoint: the same steps on the
            same batches as if training had never stopped.
        observer: told of progress.
        measure: callable of the model, `{name: score}` of real
            translations, called every `training.bleu_every` epochs.
        stop_requested: callable; once true, training writes a checkpoint
            and raises `Interrupted`.

    Returns:
        the model as the last epoch left it.

    Raises:
        InputError: the data isn't the run's, or the checkpoint is missing
            or damaged.
        Interrupted: `stop_requested` was true.
    """
    observer = observer or Observer()
    training = run.config.training
    _check_same_data(run, prepared)
    remove_leftovers(run.folder)
    path = run.folder / "checkpoint.npz"
    resume = resume and _has_checkpoint(path, run)
    keras.utils.set_random_seed(training.seed)
    model = run.build_model()
    model.parts = training.threads or 1
    if not resume:
        _start_from_vectors(model, run, observer)
    cross_entropy = compile_model(model, training, run.config.model.d_model)
    batches = TrainingBatches(
        prepared,
        batch_tokens=training.batch_tokens,
        batch_sentences=training.batch_sentences,
        shuffle_buffer=training.shuffle_buffer,
        seed=training.seed,
        sampling=subword_sampling(
            run.config, (run.source_tokenizer, run.target_tokenizer)
        ),
    )
    speed = Speed(cross_entropy)
    keep_best = KeepBest(run, training.early_stopping)
    report = Report(observer)
    checkpoint = Checkpoint(
        path, batches, keep_best, speed, training, stop_requested
    )
    callbacks = [Position(batches), speed]
    if measure is not None and training.bleu_every:
        callbacks.append(DevScores(measure, training.bleu_every))
    callbacks += [keep_best, History(run)]
    if training.tensorboard:
        callbacks.append(TensorBoard(run.folder / "logs"))
    callbacks += [report, checkpoint]
    first_epoch = checkpoint.restore(model) if resume else 0
    report.first_batch = batches.first_batch
    observer.start(model, batches)
    for start, end in _spans(batches, first_epoch, training.epochs):
        if keep_best.exhausted(start):
            break
        with damage_reported(prepared):
            model.fit(
                batches.dataset,
                initial_epoch=start,
                epochs=end,
                validation_data=_dev_batches(prepared, training),
                callbacks=callbacks,
                shuffle=False,  # the batches do that
                verbose=0,
            )
    return model


def _check_same_data(run, prepared):
    """Refuses data that isn't whole, or isn't what the run began with."""
    same = prepared.fingerprint == run.manifest["data"]["fingerprint"]
    for side in ("source", "target"):
        # The same text may have been prepared by other code.
        theirs = getattr(prepared, f"{side}_tokenizer").fingerprint()
        ours = run.manifest["tokenizers"][side]["fingerprint"]
        same = same and theirs == ours
    if not same:
        raise InputError(
            f"{prepared.path}: not the data that {run.folder} was started "
            "with (the fingerprints differ)"
        )
    prepared.verify()


def _has_checkpoint(path, run):
    """Whether there is something to go on from.

    A run killed before its first checkpoint, which is written at the end of
    its first epoch at the latest, starts again: the same as going on.
    """
    return path.is_file() or len(run.history()) > 1


def _dev_batches(prepared, training):
    if not prepared.counts.get("dev"):
        return None
    return evaluation_batches(
        prepared, "dev", batch_tokens=training.batch_tokens
    )


def _spans(batches, first_epoch, epochs):
    """First and end epoch of each call of `model.fit`.

    Keras runs all epochs of a call for the same number of steps, so what is
    left of an interrupted epoch is a call of its own.
    """
    if batches.first_batch:
        yield first_epoch, first_epoch + 1
        first_epoch += 1
    yield first_epoch, epochs


def compile_model(model, training: TrainingConfig, d_model: int):
    """Compiles the model and builds its optimizer and metrics.

    Returns:
        the compiled `CrossEntropy`, whose `count` counts real tokens.

    Reference: Vaswani et al. 2017, section 5.3.
    """
    cross_entropy = CrossEntropy()
    model.compile(
        optimizer=_optimizer(training, d_model),
        loss=SmoothedCrossEntropy(training.label_smoothing),
        metrics=[cross_entropy, Perplexity(), TokenAccuracy()],
        # XLA would compile anew for every batch shape.
        jit_compile=False,
    )
    model.optimizer.build(model.trainable_variables)
    # Keras makes the metrics' variables at the first update; a checkpoint
    # needs them before.
    label = np.full((1, 1), END_ID, dtype="int32")
    logits = ops.zeros((1, 1, model.output_shape[-1]))
    model.compute_metrics(None, ops.convert_to_tensor(label), logits)
    model.reset_metrics()
    return cross_entropy


def _optimizer(training, d_model):
    factor, steps = training.learning_rate_factor, training.accumulate_steps
    if training.learning_rate is not None:
        factor = (
            training.learning_rate * (d_model * training.warmup_steps) ** 0.5
        )
    return DenseAdam(
        WarmupSchedule(d_model, training.warmup_steps, factor),
        beta_1=training.beta_1,
        beta_2=training.beta_2,
        epsilon=training.adam_epsilon,
        global_clipnorm=training.gradient_clip or None,
        gradient_accumulation_steps=steps if steps > 1 else None,
    )


def _start_from_vectors(model, run, observer):
    """Initialises embeddings from the vectors that the run names."""
    for side in ("source", "target"):
        path = getattr(run.config.training, f"{side}_embeddings")
        if not path:
            continue
        tokens = getattr(run, f"{side}_tokenizer").tokens()
        vectors, found = load_vectors(path, tokens, run.config.model.d_model)
        tied = run.config.model.tied_embeddings == "all"
        name = "shared_embedding" if tied else f"{side}_embedding"
        model.get_layer(name).set_vectors(vectors)
        observer.vectors(side, found)
