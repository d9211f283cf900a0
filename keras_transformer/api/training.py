"""`train`: trains a run on prepared data."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from keras_transformer.api.runs import (
    SECTIONS,
    TrainingRequest,
    open_run,
)
from keras_transformer.config import Config
from keras_transformer.config.presets import settings_of
from keras_transformer.errors import InputError
from keras_transformer.system.files import disk_error
from keras_transformer.training.observer import Observer

if TYPE_CHECKING:
    import keras

    from keras_transformer.config.training import TrainingConfig
    from keras_transformer.data.batching import TrainingBatches
    from keras_transformer.data.prepared import PreparedData
    from keras_transformer.training.run import Run
    from keras_transformer.translation.trained_run import TrainedRun


_FIRST_SECONDS = 60.0  # of training, before its duration is estimated


def train(
    data: PreparedData | str | os.PathLike,
    out: str | os.PathLike,
    *,
    preset: str | None = None,
    config: Config | Mapping | str | os.PathLike | None = None,
    initial: Run | str | os.PathLike | None = None,
    resume: bool = False,
    callbacks: Iterable | None = None,
    verbose: int | str = 1,
    **training: Any,
) -> TrainedRun:
    """Trains a model on prepared data into a run folder.

    Ctrl-C or SIGTERM finishes the current step and writes a checkpoint; before
    the first step it ends the training at once. `resume=True` continues from
    the checkpoint, or after a kill from the last one, as if there had been no
    interruption.

    Args:
        data: result of `prepare`, or its folder.
        out: the run's folder, new or empty unless `resume` is set.
        preset: a recipe; None or "auto": chosen by the number of pairs, the
            vocabulary and the machine, and shown in a line; with `initial`,
            "finetune".
        config: changes to the preset, as `{section: {key: value}}` or a YAML
            file of that; or a `Config`, instead of a preset.
        initial: a run or its folder, from whose best weights training starts,
            with its model and its search; None: random weights.
        resume: whether to continue the run in `out`, which keeps its
            configuration except for the number of epochs. Another number may
            make the learning rate jump: a cooldown, and a warm-up that is a
            quarter of a short training, depend on all epochs.
        callbacks: of Keras, such as those of experiment trackers. They are
            called after an epoch's scores are in the logs; if a run is
            resumed within an epoch, training begins and ends for them twice.
        verbose: as in `model.fit`: 0 is silent, 1 shows a bar, 2 a line per
            epoch.
        **training: values of the training section, such as `epochs=20`.

    Returns:
        the run, which translates by its best weights.

    Raises:
        InputError: data, configuration or folder can't be used.
        Interrupted: training was stopped; after the first step, with a
            checkpoint.

    Example:
        >>> data = prepare("train.en-zh.tsv", "data/en-zh", dev="dev.tsv")
        >>> run = train(data, "runs/en-zh", epochs=20)
        >>> run.translate("I like tea.")
        '我喜欢茶。'
    """
    say = _tell if verbose else _ignore
    origin: Any = getattr(initial, "folder", initial)
    run = train_run(
        data,
        out,
        _request(preset, config, training, out, origin, resume),
        initial=origin,
        resume=resume,
        callbacks=callbacks,
        verbose=verbose,
        say=say,
    )
    say(best_epoch(run))
    return run


def _request(preset, config, values, out, initial, resume) -> TrainingRequest:
    """The request of the arguments of `train`."""
    own = ({"training": values}, "train")
    if not isinstance(config, Config):
        changes = [*settings_of(config), own]
        return TrainingRequest.of(preset, changes, out, initial, resume)
    if preset is not None:
        raise InputError(
            f"train takes a preset or a Config. Received: {preset!r} and a "
            "Config. Accepted beside a preset: config={section: {key: "
            "value}}"
        )
    sections = {name: config.to_dict()[name] for name in SECTIONS}
    epochs = {"training": {"epochs": config.training.epochs}}
    return TrainingRequest(None, [(epochs, "config"), own], sections)


def train_run(
    data: PreparedData | str | os.PathLike,
    out: str | os.PathLike,
    request: TrainingRequest,
    *,
    initial: str | os.PathLike | None = None,
    resume: bool = False,
    callbacks: Iterable | None = None,
    verbose: int | str = 0,
    observe: Callable[[Run], Observer] | None = None,
    opened: Callable[[Run], None] | None = None,
    say: Callable[[str], None] | None = None,
) -> TrainedRun:
    """`train` with a `TrainingRequest` and callbacks for progress.

    Args:
        request: the requested training.
        observe: returns the `Observer` of a `Run`; None: `TrainingNotes`.
        opened: called with the run before it is trained.
        say: called with lines for the user.

    For other arguments, the result and errors, see `train`.
    """
    from keras_transformer.data.prepared import PreparedData
    from keras_transformer.training import hosts, jax_runtime
    from keras_transformer.training.fit import callback_list
    from keras_transformer.training.joining import use_all_devices
    from keras_transformer.training.ownership import being_trained

    say = say or _ignore
    callbacks = callback_list(callbacks)
    if hosts.on_jax():
        with contextlib.suppress(RuntimeError):  # TensorFlow is initialized.
            jax_runtime.leave_devices_to_jax()
        jax_runtime.keep_programs()
        use_all_devices()
    # Locked before it is read, as another process may be changing it.
    lock = being_trained(out) if resume else contextlib.nullcontext()

    def loaded():
        if isinstance(data, PreparedData):
            return data
        return PreparedData.load(data)

    with lock:
        run = open_run(loaded, out, request, initial, resume, say)
        if opened is not None:
            opened(run)
        prepared = hosts.together(loaded)
        _fit(run, prepared, resume, callbacks, verbose, observe, say)
    return run


def _fit(run, prepared, resume, callbacks, verbose, observe, say):
    from keras_transformer.evaluation.dev_scores import dev_scorer
    from keras_transformer.training import hosts
    from keras_transformer.training.checkpoint import Interrupted
    from keras_transformer.training.fit import fit

    scorer: contextlib.AbstractContextManager = contextlib.nullcontext()
    if run.config.training.bleu_every:
        scorer = dev_scorer(run, prepared.dev_pairs(), say)
    if observe is None:
        observer: Observer = TrainingNotes(run.config.training, say)
    else:
        observer = observe(run)
    try:
        with contextlib.ExitStack() as stack:
            measure = stack.enter_context(scorer)
            asked = stack.enter_context(_stop_on_signal(say))
            stop_requested = stack.enter_context(hosts.agreed_stop(asked))
            stack.enter_context(contextlib.closing(observer))
            fit(
                run,
                prepared,
                resume=resume,
                observer=observer if hosts.is_chief() else None,
                measure=measure,
                stop_requested=stop_requested,
                callbacks=callbacks,
                verbose=verbose if hosts.is_chief() else 0,
            )
    except Interrupted:
        raise Interrupted(f"interrupted; {_goes_on(run)}") from None
    except OSError as error:
        reason = disk_error(error)
        # Writers name the file; a tracker's lost connection has no file name.
        if reason is None or error.filename is None:
            raise
        raise InputError(
            f"{error.filename}: {reason}; {_goes_on(run)}"
        ) from error


def _goes_on(run):
    """A message on how to resume a run, and from when on it translates."""
    way = (
        f"{run.folder} goes on with keras-transformer train ... --resume (in "
        "Python resume=True)"
    )
    if not run.history():
        way += ", and translates from the end of its first epoch on"
    return way


@contextlib.contextmanager
def _stop_on_signal(say):
    """Turns the first Ctrl-C or SIGTERM into a request to stop.

    Yields:
        a callable that returns whether a stop was requested. A second signal,
        or one before the first call, interrupts at once.
    """
    from keras_transformer.training.checkpoint import Interrupted

    asked: list[int] = []
    told: list[int] = []
    is_watched = False

    def ask(number, frame):
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        if not is_watched:  # No training would be lost.
            raise Interrupted

    def is_asked():
        nonlocal is_watched
        in_main = threading.current_thread() is threading.main_thread()
        # Keras has swallowed the interruption of its tracing.
        if asked and not is_watched and in_main:
            raise Interrupted
        is_watched = True
        # Not in the handler, which may have interrupted a write to stderr.
        if asked and not told:
            told.extend(asked)
            say("stopping after this step (once more: at once)")
        return bool(asked)

    numbers: Sequence[int] = (signal.SIGINT, signal.SIGTERM)
    if threading.current_thread() is not threading.main_thread():
        numbers = ()  # Python handles signals in the main thread only.
    # A handler that wasn't set by Python (None) couldn't be restored.
    numbers = [n for n in numbers if signal.getsignal(n) is not None]
    before = [signal.signal(number, ask) for number in numbers]
    try:
        yield is_asked
    except Exception:
        # The interruption that Keras swallowed leaves a graph that can't be
        # built or run.
        if asked and not is_watched:
            raise Interrupted from None
        raise
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def best_epoch(run: Run) -> str:
    """A line about a run's best weights.

    Raises:
        InputError: the run has none: its loss was never a number, or BLEU,
            by which `training.best_by` chooses, was never measured.
    """
    best = run.manifest["scores"].get("best")
    if best is None and run.config.training.best_by == "bleu":
        raise InputError(
            f"{run.folder}: no epoch is the best, as the dev set's BLEU was "
            "never measured (training.bleu_every), or the loss was never a "
            "number. Accepted: the newest weights, --weights last"
        )
    if best is None:
        raise InputError(
            f"{run.folder}: the loss was never a number. Try a smaller "
            "training.learning_rate or a longer training.warmup_steps"
        )
    name, loss = "dev", best.get("val_cross_entropy")
    if loss is None:
        name, loss = "training", best.get("cross_entropy")
    last = best["epoch"]
    first = last + 1 - best.get("averaged_epochs", 1)
    epochs = f"epoch {last}"
    if first < last:
        epochs = f"mean of epochs {first} to {last}"
    scores = [] if loss is None else [f"{name} cross-entropy {loss:.4f}"]
    if "val_bleu" in best:
        scores.append(f"dev BLEU {best['val_bleu']:.1f}")
    return ", ".join([f"best {epochs}", *scores])


class TrainingNotes(Observer):
    """An `Observer` that reports the size and the duration of the training.

    The duration is estimated once, a minute after the first step, or after the
    first epoch if that is shorter.

    Args:
        training: `TrainingConfig` of the run.
        say: called with lines for the user.
    """

    def __init__(
        self, training: TrainingConfig, say: Callable[[str], None]
    ) -> None:
        self._training = training
        self._say = say
        self._steps = 0  # of an epoch
        # Time and steps done after the first step, which is slow.
        self._first: tuple[float, int] | None = None
        self._told = False

    def initial(self, scores: Mapping) -> None:
        """See `Observer.initial`."""
        loss = scores["cross_entropy"]
        self._say(f"before training: dev cross-entropy {loss:.4f}")

    def start(self, model: keras.Model, batches: TrainingBatches) -> None:
        """See `Observer.start`."""
        from keras_transformer.training.compiling import (
            num_updates,
            warmup_steps,
        )

        training = self._training
        if batches.epoch >= training.epochs:
            self._say(
                f"nothing is left to train of {training.epochs} epochs. For "
                "more: --epochs, in Python epochs"
            )
            return
        steps = self._steps = batches.batches_per_epoch
        self._say(
            f"{model.count_params():,} parameters, {steps} steps an "
            f"epoch, {batches.padding_share():.1%} padding"
        )
        goes_on = batches.epoch or batches.first_batch
        if goes_on:
            self._say(
                f"going on at epoch {batches.epoch + 1}, step "
                f"{batches.first_batch + 1}"
            )
        updates = num_updates(training, steps)
        warmup = warmup_steps(training, steps)
        if warmup < training.warmup_steps:
            self._say(
                f"the warm-up is {warmup:,} of {updates:,} updates "
                f"(training.warmup_steps is {training.warmup_steps:,})"
            )
        elif updates < warmup:
            shorter = f", or --set training.warmup_steps={max(1, updates // 4)}"
            self._say(
                f"{updates:,} updates end within the warm-up of {warmup:,}, at "
                "a small part of the learning rate. Try more epochs"
                # A resumed run keeps its warm-up.
                + ("" if goes_on else shorter)
            )

    def step(self, epoch: int, batch: int, logs: Mapping) -> None:
        """See `Observer.step`."""
        done = (epoch - 1) * self._steps + batch
        now = time.monotonic()
        if self._first is None:
            self._first = now, done
        elif not self._told and now - self._first[0] >= _FIRST_SECONDS:
            self._tell_time(now, done)

    def epoch(self, epoch: int, logs: Mapping) -> None:
        """See `Observer.epoch`."""
        if not self._told:
            self._tell_time(time.monotonic(), epoch * self._steps)

    def _tell_time(self, now, done):
        """Reports when the training and the next checkpoint will be done."""
        training = self._training
        left = training.epochs * self._steps - done
        if self._first is None or done == self._first[1] or not left:
            return
        self._told = True
        seconds = (now - self._first[0]) / (done - self._first[1])
        batch = done % self._steps
        every = training.checkpoint_every
        checkpoint = min(every - batch % every, self._steps - batch)
        day = "%H:%M" if left * seconds < 43_200 else "%Y-%m-%d %H:%M"
        clock = time.strftime(day, time.localtime(time.time() + left * seconds))
        by = "by" if training.early_stopping else "about"
        self._say(
            f"done {by} {clock}, in {_duration(left * seconds)} "
            f"({training.epochs} epochs, {_duration(self._steps * seconds)} "
            "each); the next checkpoint, for --resume, in "
            f"{_duration(checkpoint * seconds)}"
        )

    def vectors(self, side: str, fraction: float) -> None:
        """See `Observer.vectors`."""
        tokens = f"{fraction:.1%} of the tokens"
        self._say(f"{side} embeddings: vectors found for {tokens}")

    def aligns(self, pairs: int) -> None:
        """See `Observer.aligns`."""
        self._say(f"aligning the words of {pairs:,} pairs")

    def stopped_early(self, epochs: int) -> None:
        """See `Observer.stopped_early`."""
        training = self._training
        self._say(
            f"ended after epoch {epochs} of {training.epochs}: no better "
            f"score, and training.early_stopping is {training.early_stopping}"
        )

    def diverged(self, epochs: int) -> None:
        """See `Observer.diverged`."""
        self._say(
            f"ended after epoch {epochs} of {self._training.epochs}: weights "
            "are no numbers any more. Try a smaller training.learning_rate"
        )


def _duration(seconds):
    """A duration as text, in a unit of which it has two or more."""
    for unit, size in (("h", 3600), ("min", 60)):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _tell(line):
    print(line, file=sys.stderr, flush=True)


def _ignore(line):
    """The callback for progress that is not shown."""
