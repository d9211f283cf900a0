"""Training: the model of a run, fitted to prepared data by `model.fit`.

Keras calls the callbacks in the order given, which matters: scores are
added to the logs before they are compared, written down and reported, and
the checkpoint comes last, when all else is on disk.
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


# Of Keras' callbacks, those that fail in the midst of training: they change an
# optimizer's rate, where a run has a schedule, or need its moving averages. And
# one that puts weights of its own in the place of the checkpoint's.
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
        callbacks: called when an epoch's scores are in the logs and its best
            weights are saved; with `training.initial_fraction` the
            model has the scored weights then.
        verbose: what Keras shows, as of `model.fit`.

    Returns:
        the model as the last epoch left it; with
        `training.initial_fraction`, what lies between that and the weights
        that training began with.

    Raises:
        InputError: the data isn't the run's, the checkpoint is missing,
            damaged or another run's, another process trains the run,
            something is no callback, or all batches make no update.
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
    """Has Python's random numbers follow from a seed, as long as it lasts.

    Keras draws the seeds of weights and dropout from them. Its own
    `set_random_seed` also changes those of NumPy and TensorFlow, for good.
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
    """Callbacks of a user, as `model.fit` takes them.

    Raises:
        InputError: they are none, or one changes or restores a run's
            optimizer.
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
                "callbacks can't change the optimizer of a run, or restore "
                "it. Accepted: training.learning_rate, warmup_steps, "
                "cooldown_epochs and average_epochs; to go on, resume. "
                f"Received: {type(callback).__name__}"
            )
    return given


def _fit_locked(
    run, prepared, resume, observer, measure, stop_requested, given, verbose
):
    """See `fit`; no other process trains the run meanwhile."""
    training = run.config.training
    hosts.together(lambda: _check_data(run, prepared))
    hosts.by_chief(remove_leftovers)(run.folder)
    path = run.folder / "checkpoint.npz"
    resume = resume and _has_checkpoint(path, run)
    if resume and path.is_file():  # `restore` says that it is missing.
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
    # Epochs may be more now; a run that is refused keeps its own.
    config = run.folder / "config.yaml"
    hosts.by_chief(write_text)(config, run.config.to_yaml())
    keep_best.finished = first_epoch
    if not keep_best.exhausted():
        observer.start(model, batches)
    hosts.wait()  # The observer of the chief may plan an epoch.
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
    """Callbacks that add scores to the logs, in this order."""
    training = run.config.training
    dev_scores = None
    if measure is not None and training.bleu_every:
        dev_scores = DevScores(measure, training.bleu_every)
        yield dev_scores
    if training.average_epochs:
        yield EpochAverage(run, dev, dev_scores)


def _callback_list(callbacks, model, batches, epochs, verbose):
    """The callbacks, on JAX in a list that doesn't read each step's logs."""
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
    """Refuses data that isn't whole, or isn't what the run began with."""
    require_same_data(run, prepared)
    prepared.verify(_share())


def _has_checkpoint(path, run):
    """True if training has a checkpoint to continue from.

    A run killed before its first checkpoint, which is written at the end of
    its first epoch at the latest, starts again: the same as going on.
    """
    epochs = run.history()  # Also where it isn't needed: it may be damaged.
    return path.is_file() or len(epochs) > 1


def training_batches(run: Run, prepared: PreparedData) -> TrainingBatches:
    """The training split in the batches that a run is trained on."""
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
    """Returns the number that the rows of a batch are padded to a multiple of.

    On JAX at least so many that 2, 4 and 8 devices have the same rows as one,
    as they have with any number but for rows without tokens.
    """
    return math.lcm(hosts.replicas(), _ROWS) if hosts.on_jax() else 1


def _share():
    """The part of the data that this host reads."""
    return hosts.index(), hosts.count()


def _lengths(config, prepared):
    """Options of batches: which lengths are grouped and padded."""
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
    # A run that began elsewhere keeps its batches, but each shape would be a
    # program on JAX.
    return {"length_buckets" if few else "padded_lengths": chosen}


def _calls(batches, first_epoch, training):
    """First and end epoch of each call of `model.fit`.

    Keras runs all epochs of a call for the same number of steps, so what is
    left of an interrupted epoch is a call of its own. There is none if the run
    is to have fewer epochs now.
    """
    if batches.first_batch and first_epoch < training.epochs:
        yield first_epoch, first_epoch + 1
        first_epoch += 1
    if first_epoch < training.epochs:
        yield first_epoch, training.epochs


def _start(model, run, observer):
    """Initialises weights from the run, embeddings from the vectors, named."""
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
