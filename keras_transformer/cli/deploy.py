"""Writes files by which Kubernetes or Slurm run the package.

`serving` is a service of exported models, `training` a training on one or more
hosts, and `translation` the translation of a large file in shards. A file goes
to stdout, or into a folder by --out. Behind -- stand more options of `train`
or `translate`.

example:
  keras-transformer deploy serving --format kubernetes \\
      --saved-model saved_models/en-zh | kubectl apply -f -
  keras-transformer deploy training --format slurm --name en-zh --hosts 4 \\
      --gpus 8 --data data/en-zh --run runs/en-zh -- --preset big
  keras-transformer deploy translation --format kubernetes --name news \\
      --image registry.example/mt:1 --claim work --run runs/en-zh \\
      --input big.txt --output big.zh --shards 100
"""

import argparse
import pathlib

from keras_transformer.cli import train, translate
from keras_transformer.cli.console import say
from keras_transformer.cli.deployment_options import (
    add_serving_options,
    add_training_options,
    add_translation_options,
)
from keras_transformer.deployment import jobs, serving, values
from keras_transformer.deployment.model_configs import default_name
from keras_transformer.errors import InputError
from keras_transformer.files import write_text, writing

# Options that only one of the formats has, with what they are without it.
_KUBERNETES_ONLY = ("image", "namespace", "claim", "user", "jobset")
_SLURM_ONLY = ("program", "partition", "account", "time")
# That the files give to `train` and `translate` themselves.
_OWN_OPTIONS = (
    "--backend",
    "--hosts",
    "--resume",
    "--shards",
    "--shard",
    "--join",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    targets = parser.add_subparsers(
        dest="target", required=True, metavar="TARGET"
    )
    add_serving_options(targets.add_parser("serving", help="exported models"))
    add_training_options(
        targets.add_parser("training", help="on one or more hosts")
    )
    add_translation_options(
        targets.add_parser("translation", help="of a large file, in shards")
    )


def run(arguments: argparse.Namespace) -> None:
    write = {
        "serving": _serving,
        "training": _training,
        "translation": _translation,
    }[arguments.target]
    ending = "yaml" if arguments.format == "kubernetes" else "sh"
    path = None
    if arguments.out is not None:
        path = pathlib.Path(arguments.out)
        path = path / f"{_file_name(arguments)}.{ending}"
        if path.exists():
            raise InputError(
                f"{path} exists, and is not overwritten. Accepted: another "
                "--out"
            )
    text = write(arguments, path.name if path else f"FILE.{ending}")
    if path is None:
        print(text, end="")
        return
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    say(f"wrote {path}")


def _file_name(arguments):
    if arguments.name is not None:
        return values.require_kind("--name", arguments.name)
    return default_name(pathlib.Path(arguments.saved_model).resolve())


def _serving(arguments, file):
    claim, _, folder = (arguments.claim or "").partition("/")
    if folder:
        folder = _inside("--claim", folder)
    _check_kinds(arguments, arguments.claim and claim)
    rate = arguments.rate
    if rate is not None and not 0 < rate < 1e6:
        raise InputError(f"--rate takes more than 0. Received: {rate}")
    options = serving.ServingOptions(
        name=arguments.name or "",
        namespace=arguments.namespace or "",
        server=arguments.server,
        image=arguments.image or "",
        claim=claim,
        folder=folder,
        bucket=(arguments.bucket or "").rstrip("/"),
        cpus=values.require_count("--cpus", arguments.cpus),
        memory=(
            None
            if arguments.memory is None
            else values.mebibytes(arguments.memory)
        ),
        replicas=(arguments.min_replicas, arguments.max_replicas),
        rate=rate,
        start_seconds=values.require_count(
            "--start-seconds", arguments.start_seconds
        ),
        service_account=arguments.service_account or "",
        callers=tuple(arguments.allow_namespace),
        environment=values.environment(arguments.env),
    )
    return serving.serving_manifests(arguments.saved_model, options, file)


def _training(arguments, file):
    hosts = values.require_count("--hosts", arguments.hosts)
    command = ["train", "--data", _path(arguments, "data")]
    command += ["--out", _path(arguments, "run")]
    _check_rest(train, command, arguments.rest)
    command += ["--backend", "jax", *["--hosts"] * (hosts > 1)]
    command += arguments.rest
    write = {
        "kubernetes": jobs.training_manifests,
        "slurm": jobs.training_script,
    }[arguments.format]
    return write(_job_options(arguments), command, arguments.run, hosts, file)


def _translation(arguments, file):
    shards = values.require_count("--shards", arguments.shards)
    at_once = values.require_count("--at-once", arguments.at_once)
    model = "run" if arguments.run else "saved_model"
    command = ["translate", f"--{model.replace('_', '-')}"]
    command += [_path(arguments, model)]
    for name in ("input", "output"):
        command += [f"--{name}", _path(arguments, name)]
    _check_rest(translate, command, arguments.rest)
    command += ["--shards", str(shards), *_workers(arguments)]
    command += arguments.rest
    write = {
        "kubernetes": jobs.translation_manifests,
        "slurm": jobs.translation_script,
    }[arguments.format]
    return write(_job_options(arguments), command, shards, at_once, file)


def _workers(arguments):
    """As many as the processors asked for, not as the machine has."""
    given = any(word.startswith("--workers") for word in arguments.rest)
    if given or arguments.gpus:
        return []
    return ["--workers", str(arguments.cpus)]


def _job_options(arguments):
    kubernetes = arguments.format == "kubernetes"
    for name in _SLURM_ONLY if kubernetes else _KUBERNETES_ONLY:
        if getattr(arguments, name):
            other = "slurm" if kubernetes else "kubernetes"
            raise InputError(
                f"--{name} is of --format {other} only. Received: "
                f"--format {arguments.format}"
            )
    if kubernetes and not (arguments.image and arguments.claim):
        raise InputError(
            "--format kubernetes takes --image, with this package, and "
            "--claim, with the folders and files. Received: "
            f"--image {arguments.image}, --claim {arguments.claim}"
        )
    _check_kinds(arguments, arguments.claim)
    given = {
        name: getattr(arguments, name)
        for name in (*_KUBERNETES_ONLY, *_SLURM_ONLY)
        if getattr(arguments, name)
    }
    if "program" in given:
        values.require_text("--program", given["program"])
    if arguments.user is not None:
        values.require_count("--user", arguments.user)
    return jobs.JobOptions(
        name=arguments.name,
        cpus=values.require_count("--cpus", arguments.cpus),
        memory=values.mebibytes(arguments.memory),
        gpus=values.require_count("--gpus", arguments.gpus, 0),
        tries=values.require_count("--tries", arguments.tries, 0),
        environment=values.environment(arguments.env),
        **given,
    )


def _check_kinds(arguments, claim):
    """Refuses names and the like that their readers wouldn't take."""
    given = {
        option: getattr(arguments, option[2:].replace("-", "_"), None)
        for option in values.KINDS
    }
    given["--claim"] = claim
    for option, value in given.items():
        for text in value if isinstance(value, list) else [value]:
            if text is not None:
                values.require_kind(option, text)


def _path(arguments, name):
    """A path of the volume, or on the hosts of Slurm any path."""
    path = getattr(arguments, name)
    option = f"--{name.replace('_', '-')}"
    if arguments.format == "kubernetes":
        return _inside(option, path)
    return values.require_text(option, path)


def _inside(option, path):
    inside = pathlib.PurePosixPath(values.require_text(option, path))
    if ".." in inside.parts or inside.is_absolute():
        raise InputError(
            f"{option} takes a path inside the volume. Received: {path!r}"
        )
    return path


class _Checking(argparse.ArgumentParser):
    """A parser whose errors are about options that stand behind `--`."""

    def error(self, message):
        raise InputError(f"{self.prog}: {message}")


def _check_rest(module, command, rest):
    """Refuses now what the job would refuse when it runs.

    Args:
        module: of the command.
        command: its name and the options that are given already.
        rest: what stands behind `--`.
    """
    given = {*command, *_OWN_OPTIONS}
    for word in rest:
        values.require_text("--", word)
        option = word.partition("=")[0]
        if option.startswith("--") and option in given:
            raise InputError(
                f"{option} behind -- is what this command sets itself"
            )
    parser = _Checking(prog=command[0], add_help=False, allow_abbrev=False)
    module.add_arguments(parser)
    parsed = parser.parse_args([*command[1:], *rest])
    if texts := getattr(parsed, "text", None):
        parser.error(f"unrecognized arguments: {' '.join(texts)}")
