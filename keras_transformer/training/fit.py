"""Training: the model of a run, fitted to prepared data by `model.fit`.

Keras calls the callbacks in the order given, which matters: scores are
added to the logs before they are compared, saved and reported, and the
checkpoint comes last, when everything else is on disk.
"""

from __future__ import annotations

import contextlib
import math
import random
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import keras
import numpy as np

from keras_transformer.data.augmentation import batch_changes
from keras_transformer.data.batch_plan import few_lengths
from keras_transformer.data.batching import (
    TrainingBatches,
    evaluation_batches,
    report_damaged_shards,
)
from keras_transformer.data.model_inputs import FRAME_LENGTHS
from keras_transformer.data.word_alignment import WordAligner
from keras_transformer.errors import InputError, shown
from keras_transformer.system.files import write_text
from keras_transformer.system.leftovers import remove_leftovers
from keras_transformer.text.vectors import load_vectors
from keras_transformer.training import hosts
from keras_transformer.training.averaging import (
    EpochAverage,
    InitialInterpolation,
)
from keras_transformer.training.callbacks import (
    DevScores,
    History,
    KeepBest,
    Position,
    Report,
    Speed,
)
from keras_transformer.training.checkpoint import Checkpoint
from keras_transformer.training.compiling import compile_model
from keras_transformer.training.freezing import freeze
from keras_transformer.training.observer import Observer
from keras_transformer.training.ownership import being_trained
from keras_transformer.training.preflight import require_same_data
from keras_transformer.training.run import INITIAL
from keras_transformer.training.step_logs import UnreadLogs

if TYPE_CHECKING:
    from keras_transformer.data.prepared import PreparedData
    from keras_transformer.training.run import Run


# Keras callbacks that fail in the middle of training, as they set the learning
# rate, for which a run has a schedule, or need the optimizer's moving averages;
# and one that restores other weights than the checkpoint's.
_REFUSED = (
    keras.callbacks.BackupAndRestore,
    keras.callbacks.LearningRateScheduler,
    keras.callbacks.ReduceLROnPlateau,
    keras.callbacks.SwapEMAWeights,
)
# See `_row_multiple`.
_ROWS = 8


def fit(
    run: Run,
    prepared: PreparedData,
    *,
    resume: bool = False,
    observer: Observer | None = None,
    measure: Callable[[keras.Model], dict] | None = None,
    stop_requested: Callable[[], bool] = lambda: False,
    callbacks: Iterable[keras.callbacks.Callback] | None = None,
    verbose: int | str = 0,
) -> keras.Model:
    """Trains the run's model, from the start or from its checkpoint.

    Args:
        run: `Run`; its folder receives weights, history and checkpoint.
        prepared: `PreparedData` that the run was created for.
        resume: goes on from the run's checkpoint: the same steps on the
            same batches as if training had never stopped.
        observer: receives the progress.
        measure: callable of the model, `{name: score}` of real
            translations, called every `training.bleu_every` epochs.
        stop_requested: callable; once true, training writes a checkpoint
            and raises `Interrupted`.
        callbacks: called at an epoch's end when its scores are in the logs and
            its best weights are saved; with `training.initial_fraction` the
            model then has the interpolated weights.
        verbose: as in `model.fit`.

    Returns:
        the model as the last epoch left it; with
        `training.initial_fraction`, with weights interpolated between these and
        the ones that training began with.

    Raises:
        InputError: the data isn't the run's, the checkpoint is missing,
            damaged or another run's, another process trains the run, a callback
            isn't accepted, or all batches together make no update.
        Interrupted: `stop_requested` was true.
    """
    callbacks = callback_list(callbacks)
    with being_trained(run.folder), _seeded(run.config.training.seed):
        return _fit_locked(
            run,
            prepared,
            resume,
            observer or Observer(),
            measure,
            stop_requested,
            callbacks,
            verbose,
        )


@contextlib.contextmanager
def _seeded(seed):
    """Seeds Python's random numbers within a context.

    Keras draws the seeds of weights and dropout from them. Its own
    `set_random_seed` would also seed NumPy and TensorFlow, permanently.
    """
    before = random.getstate()
    random.seed(seed)
    try:
        yield
    finally:
        random.setstate(before)


def callback_list(
    callbacks: Iterable[keras.callbacks.Callback]
    | keras.callbacks.Callback
    | None,
) -> list[keras.callbacks.Callback]:
    """A user's callbacks as a list, from the forms that `model.fit` takes.

    Raises:
        InputError: something isn't a callback, or one changes or restores a
            run's optimizer.
    """
    if callbacks is None:
        return []
    if isinstance(callbacks, keras.callbacks.Callback):
        callbacks = [callbacks]
    given = list(callbacks) if isinstance(callbacks, Iterable) else [callbacks]
    if not all(isinstance(c, keras.callbacks.Callback) for c in given):
        raise InputError(
            "callbacks are a list of keras.callbacks.Callback. Received: "
            f"{shown(callbacks)}"
        )
    for callback in given:
        if isinstance(callback, _REFUSED):
            raise InputError(
                "callbacks can't change or restore the optimizer of a run. "
                "Accepted: training.learning_rate, warmup_steps, "
                "cooldown_epochs and average_epochs; to go on, resume. "
                f"Received: {type(callback).__name__}"
            )
    return given


def _fit_locked(
    run, prepared, resume, observer, measure, stop_requested, given, verbose
):
    """Implements `fit`, while the run is locked."""
    training = run.config.training
    hosts.together(lambda: _check_data(run, prepared))
    hosts.by_chief(remove_leftovers)(run.folder)
    path = run.folder / "checkpoint.npz"
    resume = resume and _has_checkpoint(path, run)
    if resume and path.is_file():  # Else `restore` raises an error.
        run.require_size(path)
    model = run.build_model(micro_batches=training.threads or 1)
    if not resume:
        _start(model, run, observer)
    freeze(model, training.freeze)
    if training.guided_alignment:
        observer.aligns(prepared.counts["train"])
    batches = training_batches(run, prepared)
    _require_update(batches.batches_per_epoch, training)
    cross_entropy = compile_model(
        model,
        training,
        run.config.model.d_model,
        batches.batches_per_epoch,
    )
    dev = _dev_batches(prepared, run.config)
    if dev is not None and not resume and INITIAL in run.manifest:
        observer.initial(model.evaluate(dev, return_dict=True, verbose=0))
    speed = Speed(cross_entropy)
    keep_best = KeepBest(run, dev is not None)
    checkpoint = Checkpoint(
        path, run.id, batches, keep_best, speed, training, stop_requested
    )
    interpolation = InitialInterpolation(run, model)
    callbacks = [
        Position(batches),
        speed,
        interpolation,
        *_dev_callbacks(run, dev, measure),
        keep_best,
        History(run),
        Report(observer, speed, batches),
        *given,
        interpolation.give_back,
        checkpoint,
    ]
    first_epoch = checkpoint.restore(model) if resume else 0
    # A resume may have raised the number of epochs. Written only here: a run
    # that was refused keeps its configuration.
    config = run.folder / "config.yaml"
    hosts.by_chief(write_text)(config, run.config.to_yaml())
    keep_best.finished = first_epoch
    if not keep_best.exhausted():
        observer.start(model, batches)
    hosts.wait()  # The chief's observer may take time to plan an epoch.
    for start, end in _calls(batches, first_epoch, training):
        if keep_best.exhausted() or model.stop_training:
            break
        with report_damaged_shards(prepared):
            model.fit(
                batches.dataset,
                initial_epoch=start,
                epochs=end,
                validation_data=dev,
                callbacks=_callback_list(
                    callbacks, model, batches, end, verbose
                ),
                shuffle=False,  # the batches do that
                verbose=verbose,
            )
    if keep_best.diverged:
        observer.diverged(keep_best.finished)
    elif keep_best.finished < training.epochs and keep_best.exhausted():
        observer.stopped_early(keep_best.finished)
    interpolation.use(True)
    return model


def _dev_callbacks(run, dev, measure):
    """Callbacks that add dev scores to the logs, in their order."""
    training = run.config.training
    dev_scores = None
    if measure is not None and training.bleu_every:
        dev_scores = DevScores(measure, training.bleu_every)
        yield dev_scores
    if training.average_epochs:
        yield EpochAverage(run, dev, dev_scores)


def _callback_list(callbacks, model, batches, epochs, verbose):
    """The callbacks; on JAX in a list that doesn't read each step's logs."""
    if not hosts.on_jax():
        return callbacks
    return UnreadLogs(
        callbacks,
        add_history=True,
        add_progbar=verbose != 0,
        model=model,
        epochs=epochs,
        steps=batches.batches_per_epoch - batches.first_batch,
        verbose=1 if verbose == "auto" else verbose,
    )


def _check_data(run, prepared):
    """Refuses damaged data, and data that the run didn't begin with."""
    require_same_data(run, prepared)
    prepared.verify(_share())


def _has_checkpoint(path, run):
    """True if training has a checkpoint to continue from.

    A run killed before its first checkpoint, which is written at the end of
    its first epoch at the latest, starts again, with the same result.
    """
    epochs = run.history()  # Always read, as it may be damaged.
    return path.is_file() or len(epochs) > 1


def training_batches(run: Run, prepared: PreparedData) -> TrainingBatches:
    """The training split, in the batches that a run is trained on."""
    training = run.config.training
    tokenizers = run.source_tokenizer, run.target_tokenizer
    return TrainingBatches(
        prepared,
        batch_tokens=training.batch_tokens,
        batch_sentences=training.batch_sentences,
        seed=training.seed,
        **_lengths(run.config, prepared),
        changes=batch_changes(run.config, tokenizers),
        replicas=_row_multiple(),
        share=_share(),
        align=WordAligner.of(prepared) if training.guided_alignment else None,
    )


def _require_update(steps, training):
    """Refuses a training that would end before its first update."""
    if steps * training.epochs < training.accumulate_steps:
        raise InputError(
            f"training.accumulate_steps must be {steps * training.epochs} or "
            "less, the batches of all epochs. Received: "
            f"{training.accumulate_steps}"
        )


def _dev_batches(prepared, config):
    if not prepared.counts.get("dev"):
        return None
    return evaluation_batches(
        prepared,
        "dev",
        batch_tokens=config.training.batch_tokens,
        **_lengths(config, prepared),
        replicas=_row_multiple(),
        share=_share(),
    )


def _row_multiple():
    """Returns the number of which the rows of a batch are a multiple.

    On JAX a multiple of 8, so that 2, 4 and 8 devices get the same batches as
    one. With other numbers of devices only rows without tokens differ.
    """
    return math.lcm(hosts.replicas(), _ROWS) if hosts.on_jax() else 1


def _share():
    """The part of the data that this host reads."""
    return hosts.index(), hosts.count()


def _lengths(config, prepared):
    """Options of batches for grouping and padding by length."""
    training = config.training
    few = training.length_buckets == "few"
    if not few and not hosts.on_jax():
        return {}
    splits = [name for name, pairs in prepared.counts.items() if pairs]
    lengths = [prepared.lengths(name) for name in splits]
    changes = training.augment or training.subword_sampling
    chosen = few_lengths(
        np.concatenate(lengths) + FRAME_LENGTHS,
        config.model.max_length if changes else 0,
    )
    # A run that began on TensorFlow keeps its batches, but they are padded, as
    # JAX would compile a program for each shape.
    return {"length_buckets" if few else "padded_lengths": chosen}


def _calls(batches, first_epoch, training):
    """First and end epoch of each call of `model.fit`.

    Keras runs all epochs of a call for the same number of steps, so the rest of
    an interrupted epoch is a separate call. It is left out if the number of
    epochs was lowered since.
    """
    if batches.first_batch and first_epoch < training.epochs:
        yield first_epoch, first_epoch + 1
        first_epoch += 1
    if first_epoch < training.epochs:
        yield first_epoch, training.epochs


def _start(model, run, observer):
    """Loads the initial weights and the pre-trained vectors, if configured."""
    if INITIAL in run.manifest:
        run.load_weights(INITIAL, model)
    for side in ("source", "target"):
        path = getattr(run.config.training, f"{side}_embeddings")
        if not path:
            continue
        tokens = getattr(run, f"{side}_tokenizer").tokens()
        vectors, fraction = load_vectors(path, tokens, run.config.model.d_model)
        tied = run.config.model.tied_embeddings == "all"
        name = "shared_embedding" if tied else f"{side}_embedding"
        model.get_layer(name).set_vectors(vectors)
        observer.vectors(side, fraction)
