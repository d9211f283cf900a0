"""Trains a model on prepared data into a run folder.

Ctrl-C finishes the current step, if there is one, and writes a checkpoint;
--resume continues from it (or from the last one before a kill) as if there had
been no interruption, on JAX with any number of devices and hosts.

example:
  keras-transformer train --data data/en-zh --out runs/en-zh
  keras-transformer train --data data/en-zh --out runs/en-zh --resume
  keras-transformer train --preset tatoeba --epochs 20 --print-config
  keras-transformer train --data data/news --from runs/en-zh --out runs/news
  srun keras-transformer train --backend jax --hosts --data data/en-zh \\
      --out runs/en-zh
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import yaml

from keras_transformer.api.runs import (
    SECTIONS,
    TrainingRequest,
)
from keras_transformer.api.training import (
    TrainingNotes,
    best_epoch,
    train_run,
)
from keras_transformer.cli.console import (
    Progress,
    load_jax,
    load_tensorflow,
    say,
    visible,
)
from keras_transformer.cli.hosts import add_host_options, joined, meeting
from keras_transformer.cli.options import (
    add_config_options,
    add_options,
    config_changes,
)
from keras_transformer.config.presets import AUTO, PRESETS
from keras_transformer.errors import InputError, shown

if TYPE_CHECKING:
    from keras_transformer.config.training import TrainingConfig
    from keras_transformer.training.run import Run


BACKENDS = ("tensorflow", "jax")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_options(
        parser,
        {
            "--data FOLDER": "prepared data",
            "--out FOLDER": "the run's folder",
            "--print-config": "train nothing: print the configuration as YAML, "
            "which --config takes",
            "--resume": "go on with the run in --out",
        },
    )
    origin = (
        "start from that run's best weights: same tokenizers, same model, and "
        "its decoding unless --set or a named preset says otherwise; with "
        "other numbers of layers, some are left out or copied"
    )
    add_options(parser, {"--from RUN": origin}, dest="initial")
    parser.add_argument(
        "--backend",
        choices=BACKENDS,
        help="what computes: tensorflow (default), or jax, for GPUs and TPUs "
        "(extra [jax]); also by the variable KERAS_BACKEND",
    )
    add_host_options(parser)
    add_config_options(
        parser,
        SECTIONS,
        ("epochs",),
        "by the number of pairs, the vocabulary and the machine; with --from "
        "finetune",
    )


def run(arguments: argparse.Namespace) -> None:
    if not arguments.print_config and not (arguments.data and arguments.out):
        raise InputError(
            "nothing to train. Accepted: --data FOLDER and --out FOLDER, or "
            "--print-config"
        )
    request = TrainingRequest.of(
        arguments.preset,
        config_changes(arguments, SECTIONS),
        arguments.out,
        arguments.initial,
        arguments.resume,
    )
    _ = request.config  # Refuses wrong values at once.
    if arguments.print_config:
        _print_config(arguments, request)
        return
    backend = arguments.backend or os.environ.get("KERAS_BACKEND")
    if backend and backend not in BACKENDS:
        raise InputError(
            f"KERAS_BACKEND takes {' or '.join(BACKENDS)} for train. Received: "
            f"{shown(backend)}"
        )
    where = meeting(arguments, backend)
    load_jax() if backend == "jax" else load_tensorflow()
    # Joins hosts before tokenizers are used and signal handlers are set.
    with joined(where, arguments) as told_run:
        from keras_transformer.training import hosts

        run = train_run(
            arguments.data,
            arguments.out,
            request,
            initial=arguments.initial,
            resume=arguments.resume,
            observe=training_progress,
            opened=told_run,
            say=say,
        )
        best = best_epoch(run)
        if hosts.is_chief():
            print(visible(f"{arguments.out}: {best}"))


def _print_config(arguments, request):
    config = request.config
    if request.preset == AUTO:
        if arguments.data is None:
            raise InputError(
                "--print-config: the preset auto goes by the data. Accepted: "
                f"--data FOLDER, or --preset {', '.join(PRESETS)}"
            )
        load_tensorflow()
        from keras_transformer.data.prepared import PreparedData

        data = PreparedData.load(arguments.data)
        config, _ = request.config_for(data, arguments.initial)
    sections = {name: config.to_dict()[name] for name in SECTIONS}
    print(yaml.safe_dump(sections, sort_keys=False), end="")


def training_progress(run: Run) -> TrainingProgress:
    """The progress of a run's training, on stderr."""
    return TrainingProgress(run.config.training)


class TrainingProgress(TrainingNotes):
    """An `Observer` that shows a bar for each epoch.

    Args:
        training: `TrainingConfig` of the run.
    """

    def __init__(self, training: TrainingConfig) -> None:
        super().__init__(training, say)
        self._progress: Progress | None = None

    def step(self, epoch: int, batch: int, logs: Mapping) -> None:
        if self._progress is None:
            title = f"epoch {epoch}/{self._training.epochs}"
            self._progress = Progress(
                title, self._steps, "steps", done=batch - 1
            )
        self._progress.update(batch, lambda: _short(logs))
        super().step(epoch, batch, logs)

    def epoch(self, epoch: int, logs: Mapping) -> None:
        self.close()
        dev = "".join(
            f" {name.removeprefix('val_')}={logs[name]:.4g}"
            for name in logs
            if name.startswith("val_")
        )
        say(
            f"epoch {epoch}/{self._training.epochs} {_short(logs)} "
            f"{logs['seconds']:.0f} s" + (f"; dev{dev}" if dev else "")
        )
        super().epoch(epoch, logs)

    def close(self) -> None:
        if self._progress is not None:
            self._progress.close()
            self._progress = None


def _short(logs):
    return (
        f"cross-entropy={logs['cross_entropy']:.4f} "
        f"accuracy={logs['token_accuracy']:.3f} "
        f"rate={logs['learning_rate']:.2e} "
        f"{logs['tokens_per_second']:.0f} tokens/s"
    )
