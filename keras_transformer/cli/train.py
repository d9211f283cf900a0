"""Trains a model on prepared data into a run folder.

Ctrl-C finishes the step at hand and writes a checkpoint; --resume goes on
from it (or from the last one before a kill) as if nothing had happened, on JAX
with any number of devices and hosts.

example:
  keras-transformer train --data data/en-zh --preset notebook --out runs/en-zh
  keras-transformer train --data data/en-zh --out runs/en-zh --resume
  keras-transformer train --data data/news --from runs/en-zh --out runs/news
  srun keras-transformer train --backend jax --hosts --data data/en-zh \\
      --out runs/en-zh
"""

import contextlib
import os
import pathlib

from keras_transformer import jax_runtime
from keras_transformer.cli.console import (
    Closing,
    Progress,
    load_jax,
    load_tensorflow,
    say,
    stop_on_signal,
)
from keras_transformer.cli.hosts import add_host_options, joined, meeting
from keras_transformer.cli.options import (
    add_config_options,
    add_number,
    config_given,
    resolve_config,
    run_config,
)
from keras_transformer.errors import InputError, shown
from keras_transformer.presets import PRESETS

SECTIONS = ("model", "training", "decoding")
DEFAULT_PRESET = "small"
BACKENDS = ("tensorflow", "jax")

# Options that name a key of the training section.
DIRECT = ("seed", "batch_tokens", "batch_sentences", "precision", "threads")


def add_arguments(parser):
    parser.add_argument(
        "--data", required=True, metavar="FOLDER", help="prepared data"
    )
    parser.add_argument(
        "--out", required=True, metavar="FOLDER", help="the run's folder"
    )
    parser.add_argument(
        "--from",
        dest="initial",
        metavar="RUN",
        help="start from that run's best weights: same tokenizers, same model, "
        "and its decoding unless --set or a named preset says otherwise",
    )
    parser.add_argument(
        "--resume", action="store_true", help="go on with the run in --out"
    )
    parser.add_argument(
        "--backend",
        choices=BACKENDS,
        help="what computes: tensorflow (default), or jax, for GPUs and TPUs "
        "(extra [jax]); also by the variable KERAS_BACKEND",
    )
    add_host_options(parser)
    add_number(parser, "--epochs", "passes over the data")
    add_number(parser, "--seed", "of weights, order and dropout")
    add_number(
        parser,
        "--batch-tokens",
        "positions of a batch on either side, padding included",
    )
    add_number(
        parser, "--batch-sentences", "sentences a batch, instead of tokens"
    )
    parser.add_argument(
        "--precision",
        metavar="POLICY",
        help="float32, mixed_bfloat16, mixed_float16 or auto: mixed_bfloat16 "
        "where the machine multiplies it, else float32",
    )
    add_number(
        parser,
        "--threads",
        "parts of a batch computed at the same time, a thread each "
        "(default: as many as there are cores, 1 with a GPU)",
    )
    add_config_options(
        parser,
        SECTIONS,
        f"{', '.join(PRESETS)} (default: {DEFAULT_PRESET})",
    )


def run(arguments):
    direct = {name: getattr(arguments, name) for name in ("epochs", *DIRECT)}
    taken_over = None
    if arguments.initial is not None:
        # A resumed run has it from there.
        folder = arguments.out if arguments.resume else arguments.initial
        initial = run_config(folder).to_dict()
        # How it is searched belongs to a model, as an imported one shows.
        taken_over = {name: initial[name] for name in ("model", "decoding")}
    config = resolve_config(
        arguments, SECTIONS, {"training": direct}, DEFAULT_PRESET, taken_over
    )
    backend = arguments.backend or os.environ.get("KERAS_BACKEND")
    where = meeting(arguments, backend)
    load_jax() if backend == "jax" else load_tensorflow()
    # Hosts before tokenizers, and before the handlers of signals.
    with joined(where, arguments) as told_run:
        from keras_transformer.data.prepared import PreparedData
        from keras_transformer.training import hosts
        from keras_transformer.training.joining import use_all_devices
        from keras_transformer.training.ownership import being_trained

        if hosts.on_jax():
            use_all_devices()
        # Before it is read: another process may be changing it.
        lock = contextlib.nullcontext()
        if arguments.resume:
            lock = being_trained(arguments.out)
        with lock:
            run = _open_run(arguments, config)
            told_run(run)
            prepared = hosts.together(lambda: PreparedData.load(arguments.data))
            best = train(run, prepared, resume=arguments.resume)
        if hosts.is_chief():
            print(f"{arguments.out}: {best}")


def _open_run(arguments, config):
    """The run that `--out` names, new or to go on with; the same on all hosts.

    The chief makes a new one, which the others then find there.
    """
    from keras_transformer.training import hosts
    from keras_transformer.training.run import Run

    created = None
    if not arguments.resume:
        created = hosts.together(
            lambda: hosts.by_chief(_create_run)(arguments, config)
        )

    def opened():
        if created is not None:
            return created
        _use_threads(run_config(arguments.out))
        run = Run.load(arguments.out)
        if arguments.resume:
            _continue_with(run, arguments, config)
        return run

    run = hosts.together(opened)
    manifest = hosts.from_chief(run.manifest)

    def check():
        if run.manifest != manifest:
            raise InputError(
                f"{arguments.out}: not the run of host 0. Accepted: a folder "
                "that all hosts share"
            )

    hosts.together(check)
    return run


def _create_run(arguments, config):
    from keras_transformer.data.prepared import PreparedData
    from keras_transformer.training.preflight import for_this_machine
    from keras_transformer.training.run import Run

    if (pathlib.Path(arguments.out) / "checkpoint.npz").is_file():
        raise InputError(
            f"{arguments.out}: a run that has begun. Accepted: --resume "
            "to go on with it, or a new or empty folder"
        )
    config = for_this_machine(config)
    _use_threads(config)
    initial = arguments.initial and Run.load(arguments.initial)
    prepared = PreparedData.load(arguments.data)
    return Run.create(arguments.out, config, prepared, initial)


def _use_threads(config):
    """To be called before tokenizers, TensorFlow's first operations."""
    from keras_transformer.machine import use_threads
    from keras_transformer.training import hosts

    if not hosts.on_jax():
        use_threads(config.training.threads or 1)


def train(run, prepared, resume=False) -> str:
    """Fits the run with progress on stderr.

    Returns:
        a line about the best epoch.
    """
    from keras_transformer.evaluation.dev_scores import dev_scorer
    from keras_transformer.training import hosts
    from keras_transformer.training.checkpoint import Interrupted
    from keras_transformer.training.fit import fit

    scorer = contextlib.nullcontext()
    if run.config.training.bleu_every:
        scorer = dev_scorer(run, prepared.dev_pairs(), say)
    observer = TrainingProgress(run.config.training, hosts.on_jax())
    with contextlib.ExitStack() as stack:
        measure = stack.enter_context(scorer)
        asked = stack.enter_context(stop_on_signal())
        stop_requested = stack.enter_context(hosts.agreed_stop(asked))
        stack.enter_context(observer)
        try:
            fit(
                run,
                prepared,
                resume=resume,
                observer=observer if hosts.is_chief() else None,
                measure=measure,
                stop_requested=stop_requested,
            )
        except Interrupted:
            raise Interrupted(
                f"interrupted; {run.folder} goes on with "
                "keras-transformer train ... --resume"
            ) from None
    return _best(run)


def _best(run):
    """A line about the best weights."""
    best = run.manifest["scores"].get("best")
    if best is None:
        raise InputError(
            f"{run.folder}: the loss was never a number. Try a smaller "
            "training.learning_rate_factor or a longer training.warmup_steps"
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
    return f"best {epochs}, {', '.join(scores)}"


def _continue_with(run, arguments, config):
    """Applies a longer training; refuses any other change of a run.

    The options may be those that the run was started with, or none.
    """
    began = run.manifest.get("initial", {}).get("run", "random weights")
    initial = arguments.initial and str(pathlib.Path(arguments.initial))
    if initial not in (None, began):
        raise InputError(
            f"--from: {run.folder} was started from {began}. Received: "
            f"{arguments.initial}"
        )
    from keras_transformer.training.preflight import left_open

    own = run.config
    opened = left_open(config)
    if config_given(arguments):
        kept = {name: getattr(own.training, name) for name in opened}
        requested = config.updated({"training": kept})
    else:
        given = {name: getattr(arguments, name) for name in DIRECT}
        given = {
            name: value
            for name, value in given.items()
            if value is not None and name not in opened
        }
        requested = own.updated({"training": given})
    requested = requested.updated({"training": {"epochs": own.training.epochs}})
    changed = [
        f"{name}.{key} {shown(requested.to_dict()[name][key], 40)} (the run "
        f"has {shown(value, 40)})"
        for name in SECTIONS
        for key, value in own.to_dict()[name].items()
        if value != requested.to_dict()[name][key]
    ]
    if changed:
        more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
        raise InputError(
            f"{run.folder}: a resumed run keeps its configuration, "
            "only --epochs may change. Received other values: "
            f"{', '.join(changed[:5])}{more}. None was taken"
        )
    for name in opened:
        if getattr(arguments, name, None) is not None:
            kept = getattr(own.training, name)
            say(f"--resume: training.{name} stays {kept}, not taken")
    if arguments.epochs is not None or _sets(arguments, "training.epochs"):
        if config.training.epochs != own.training.epochs:
            say(
                f"--resume: training.epochs {config.training.epochs} is taken "
                f"(it was {own.training.epochs})"
            )
        run.set_epochs(config.training.epochs)


def _sets(arguments, key) -> bool:
    return any(text.partition("=")[0] == key for text in arguments.set)


class TrainingProgress(Closing):
    """A `training.fit.Observer` that shows a bar for each epoch.

    Args:
        training: `TrainingConfig` of the run.
        compiles: whether JAX compiles a program for each shape of a batch,
            whose number and time are told.
    """

    def __init__(self, training, compiles=False):
        self._training = training
        self._compilations = jax_runtime.Compilations() if compiles else None
        self._epochs = training.epochs
        self._progress = None
        self._total = None

    def start(self, model, batches):
        self._total = batches.batches_per_epoch
        say(
            f"{model.count_params():,} parameters, {self._total} steps an "
            f"epoch, {batches.padding_share():.1%} padding"
        )
        updates = self._total * self._epochs // self._training.accumulate_steps
        if updates < self._training.warmup_steps:
            say(
                f"{updates:,} updates end within the warm-up of "
                f"{self._training.warmup_steps:,}, at a small part of the "
                "learning rate. Try more epochs, smaller batches, or a smaller "
                "training.warmup_steps"
            )

    def vectors(self, side, fraction):
        tokens = f"{fraction:.1%} of the tokens"
        say(f"{side} embeddings: vectors found for {tokens}")

    def step(self, epoch, batch, logs):
        if self._progress is None:
            title = f"epoch {epoch}/{self._epochs}"
            self._progress = Progress(title, self._total, "steps")
        self._progress.update(batch, lambda: _short(logs))

    def epoch(self, epoch, logs):
        self.close()
        dev = "".join(
            f" {name.removeprefix('val_')}={logs[name]:.4g}"
            for name in logs
            if name.startswith("val_")
        )
        say(
            f"epoch {epoch}/{self._epochs} {_short(logs)} "
            f"{logs['seconds']:.0f} s" + (f"; dev{dev}" if dev else "")
        )
        if self._compilations is not None:
            self._tell_compiled(*self._compilations.taken())

    def _tell_compiled(self, programs, loaded, seconds):
        """What an epoch with new shapes of batches took for them."""
        if programs:
            say(
                f"{programs} programs compiled in {seconds:.1f} s of it, "
                f"{loaded} of them from disk"
            )

    def close(self):
        if self._progress is not None:
            self._progress.close()
            self._progress = None


def _short(logs):
    return (
        f"cross-entropy={logs['cross_entropy']:.4f} "
        f"accuracy={logs['token_accuracy']:.3f} "
        f"rate={logs['learning_rate']:.2e} "
        f"{logs['tokens_per_second']:.0f} target tokens/s"
    )
