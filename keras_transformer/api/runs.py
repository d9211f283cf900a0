"""Folders of runs: creates or resumes a run to be trained."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
import pathlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from keras_transformer.config import Config
from keras_transformer.config.presets import AUTO, CHOICES, chosen, resolved
from keras_transformer.errors import InputError, shown
from keras_transformer.system.files import read_json, write_json

if TYPE_CHECKING:
    from keras_transformer.data.prepared import PreparedData
    from keras_transformer.translation.trained_run import TrainedRun

SECTIONS = ("model", "training", "decoding")


@dataclasses.dataclass(frozen=True)
class TrainingRequest:
    """A requested training.

    Attributes:
        preset: its name, "auto" to choose by the data; None: no preset.
        changes: pairs of `{section: {key: value}}` and its origin.
        taken_over: sections of another run or of a `Config`, for values that
            neither a named preset nor a change sets.
    """

    preset: str | None = None
    changes: Sequence[tuple[dict, str]] = ()
    taken_over: dict | None = None

    @classmethod
    def of(
        cls,
        preset: str | None,
        changes: Sequence[tuple[dict, str]],
        out: str | os.PathLike | None,
        initial: str | os.PathLike | None,
        resume: bool,
    ) -> TrainingRequest:
        """The request of the arguments of `train`.

        Raises:
            InputError: `initial`, or with `resume` `out`, isn't a run.
        """
        goes_on = resume and preset in (None, AUTO)
        origin = out if resume else initial
        taken_over = (
            None if origin is None else taken_over_from(origin, goes_on)
        )
        return cls(None if goes_on else preset or AUTO, changes, taken_over)

    @property
    def values(self) -> dict:
        """The values of the training section that the changes set."""
        return {
            key: value
            for change, _ in self.changes
            for key, value in change.get("training", {}).items()
        }

    @functools.cached_property
    def config(self) -> Config:
        """The configuration; for "auto", with the first preset that fits."""
        if self.preset != AUTO:
            return self._config(self.preset)
        first, *others = CHOICES
        try:
            return self._config(None, first)
        except InputError:
            for other in others:
                with contextlib.suppress(InputError):
                    return self._config(None, other)
            raise

    def _config(self, preset, default=None, taken_over=None):
        return resolved(
            None if preset == AUTO else preset,
            self.changes,
            default=default,
            taken_over=taken_over or self.taken_over,
        )

    def config_for(
        self, data: PreparedData, initial: str | os.PathLike | None
    ) -> tuple[Config, str | None]:
        """The configuration for prepared data.

        Args:
            data: to train on.
            initial: folder of the run that training starts from, or None.

        Returns:
            the configuration, and the preset's name, for "auto" with the
            reason, or None without a preset.
        """
        if self.preset != AUTO:
            return self.config, self.preset
        if initial is not None:
            reason = f"{AUTO}: starts from {initial}: finetune"
            return self._config(None, "finetune"), reason
        name, reason = chosen(data.counts["train"], _has_accelerator())
        taken_over = None
        if data.config.shared_vocabulary:
            taken_over = {"model": {"tied_embeddings": "all"}}
            reason += ", one vocabulary"
        config = self._config(None, name, taken_over)
        encoder, decoder = config.model.depths
        return config, (
            f"{AUTO}: {reason}, {encoder} + {decoder} layers of width "
            f"{config.model.d_model}"
        )


def taken_over_from(folder: str | os.PathLike, goes_on: bool = False) -> dict:
    """The sections that a run takes over from the run that it starts from.

    The search belongs to the model: imported models have their own.

    Args:
        folder: of the run to start from.
        goes_on: whether the same run is resumed, which keeps all sections.

    Raises:
        InputError: the folder isn't a run's.
    """
    config = run_config(folder).to_dict()
    names = SECTIONS if goes_on else ("model", "decoding")
    return {name: config[name] for name in names}


def run_config(
    folder: str | os.PathLike, default: Config | None = None
) -> Config:
    """The configuration of a run, read without TensorFlow.

    Args:
        folder: the run's.
        default: returned if there is none; None: an error.

    Raises:
        InputError: the folder isn't a run's.
    """
    path = pathlib.Path(folder) / "config.yaml"
    if not path.is_file():
        if default is not None:
            return default
        manifest = path.with_name("manifest.json")
        kind = "not a run folder (no config.yaml)"
        if manifest.is_file() and "splits" in read_json(manifest):
            kind = "prepared data, not a run"
        raise InputError(
            f"{folder}: {kind}. Expected what `keras-transformer train --out` "
            "wrote"
        )
    return Config.read(folder)


def open_run(
    load_data: Callable[[], PreparedData],
    out: str | os.PathLike,
    request: TrainingRequest,
    initial: str | os.PathLike | None,
    resume: bool,
    say: Callable[[str], None],
) -> TrainedRun:
    """Creates or resumes the run in a folder, the same one on all hosts.

    The chief host creates a new run, which the other hosts then load.

    Args:
        load_data: returns the prepared data.
        out: the run's folder.
        request: the requested training.
        initial: folder of a run to start from, or None.
        resume: whether to resume the run in the folder.
        say: called with lines about how the request is applied.

    Raises:
        InputError: the folder is taken or isn't a run's, or the run was begun
            with other settings than requested.
    """
    from keras_transformer.training import hosts
    from keras_transformer.translation.trained_run import TrainedRun

    created = None
    if not resume:
        created = hosts.together(
            lambda: hosts.by_chief(_create_run)(
                load_data, out, request, initial, say
            )
        )

    def opened():
        if created is not None:
            return created
        _use_threads(run_config(out))
        run = TrainedRun.load(out)
        if resume:
            _continue_with(run, request, initial, say, load_data)
        return run

    run = hosts.together(opened)
    ours = run.config.training.epochs
    manifest, theirs = hosts.from_chief([run.manifest, ours])

    def check():
        if run.manifest != manifest:
            raise InputError(
                f"{out}: not the run of host 0. Accepted: a folder that all "
                "hosts share"
            )
        # The only setting that may change, perhaps in one host's file alone.
        if ours != theirs:
            raise InputError(
                f"{out}: training.epochs is {theirs} on host 0, {ours} here. "
                "Accepted: the same on all hosts"
            )

    hosts.together(check)
    return run


def _has_accelerator():
    from keras_transformer.system.machine import has_gpu
    from keras_transformer.training import hosts

    if hosts.on_jax():
        import jax

        return jax.default_backend() != "cpu"
    return has_gpu()


def _create_run(load_data, out, request, initial, say):
    from keras_transformer.data.prepared import few_pairs
    from keras_transformer.training.preflight import for_this_machine
    from keras_transformer.training.run import Run
    from keras_transformer.translation.trained_run import TrainedRun

    files = ("config.yaml", "manifest.json")
    if all((pathlib.Path(out) / name).is_file() for name in files):
        raise InputError(
            f"{out}: a run that has begun. Accepted: --resume (in Python "
            "resume=True) to go on with it, or a new or empty folder"
        )
    data = load_data()
    config, preset = request.config_for(data, initial)
    if request.preset == AUTO:
        say(f"preset {preset}")
    config = for_this_machine(config)
    _use_threads(config)
    initial = initial and Run.load(initial)
    run = TrainedRun.create(out, config, data, initial)
    if preset:
        run.manifest["preset"] = preset
        write_json(run.folder / "manifest.json", run.manifest)
    if not initial and (few := few_pairs(data)):
        say(few)
    if initial and initial.config.model.depths != config.model.depths:
        theirs, ours = (
            "{} encoder and {} decoder layers".format(*model.depths)
            for model in (initial.config.model, config.model)
        )
        say(f"{initial.folder} has {theirs}, this run {ours}")
    return run


def _use_threads(config):
    """Sets threads, before tokenizers run TensorFlow's first operations."""
    from keras_transformer.system.machine import use_threads
    from keras_transformer.training import hosts

    if not hosts.on_jax():
        use_threads(config.training.threads or 1)


def _is_origin(folder, began):
    """True if a folder is the run that another began with; it may be gone."""
    from keras_transformer.training.run import read_manifest

    if pathlib.Path(folder).exists():
        # By id: the path may be another run's now, or be written differently.
        return read_manifest(folder)["id"] == began.get("id")
    return os.path.realpath(folder) == os.path.realpath(began["run"])


def _continue_with(run, request, initial, say, load_data):
    """Applies another number of epochs; refuses other changes of a run.

    The request may repeat what the run was started with, or leave it out.
    """
    from keras_transformer.training.preflight import (
        left_open,
        require_same_data,
    )
    from keras_transformer.training.run import INITIAL

    began = run.manifest.get(INITIAL)
    if initial and not (began and _is_origin(initial, began)):
        origin = began["run"] if began else "random weights"
        raise InputError(
            f"--from: {run.folder} was started from {origin}. Received: "
            f"{initial}"
        )
    own = run.config
    opened = left_open(request.config)
    kept = {name: getattr(own.training, name) for name in (*opened, "epochs")}
    requested = request.config.updated({"training": kept})
    _refuse_changes(run, requested)
    for name in opened:
        if name in request.values:
            kept = getattr(own.training, name)
            say(f"--resume: training.{name} stays {kept}, not taken")
    require_same_data(run, load_data())
    if "epochs" in request.values:
        epochs = request.config.training.epochs
        trained = len(run.history())
        if epochs < trained:
            raise InputError(
                f"--resume: training.epochs must be {trained} or more, as "
                f"{run.folder} has trained. Received: {epochs}"
            )
        if epochs != own.training.epochs:
            say(
                f"--resume: training.epochs {epochs} is taken (it was "
                f"{own.training.epochs})"
            )
        # Only in memory, as the request may still be refused.
        run.config = own.updated({"training": {"epochs": epochs}})


def _refuse_changes(run, requested):
    """Refuses a configuration that differs from the run's in `SECTIONS`."""
    changed = [
        f"{name}.{key} {shown(requested.to_dict()[name][key], 40)} (the run "
        f"has {shown(value, 40)})"
        for name in SECTIONS
        for key, value in run.config.to_dict()[name].items()
        if value != requested.to_dict()[name][key]
    ]
    if changed:
        more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
        raise InputError(
            f"{run.folder}: a resumed run keeps its configuration, "
            "only --epochs may change. Received other values: "
            f"{', '.join(changed[:5])}{more}. None was taken"
        )
