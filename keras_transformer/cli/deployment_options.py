"""Options of `deploy`: what is served, trained or translated, and with what."""

import argparse

from keras_transformer.cli.options import add_number
from keras_transformer.deployment.serving import EMBEDDED, TENSORFLOW

FORMATS = ("kubernetes", "slurm")


def add_serving_options(parser: argparse.ArgumentParser) -> None:
    """The options of `deploy serving`."""
    _add_common(parser, FORMATS[:1])
    add = parser.add_argument
    add(
        "--saved-model",
        required=True,
        metavar="FOLDER",
        help="a model's folder; all models beside it are served, too",
    )
    add("--name", help="of all objects (default: the model's, -serving)")
    add(
        "--server",
        choices=(TENSORFLOW, EMBEDDED),
        default=TENSORFLOW,
        help="TensorFlow Serving or, with an --image that has this package, "
        "its `serve` (default: %(default)s)",
    )
    add(
        "--image",
        help="with the models in it, unless they are elsewhere (default: what "
        "the Dockerfile of `export --format tfserving` makes)",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--claim",
        metavar="NAME[/FOLDER]",
        help="a PersistentVolumeClaim that holds the models' folders",
    )
    where.add_argument(
        "--bucket",
        metavar="URL",
        help="gs://... or s3://..., which holds the models' folders",
    )
    add_number(
        parser,
        "--cpus",
        "of a pod; as many batches are computed at a time (default: 2)",
        default=2,
    )
    add_number(
        parser,
        "--memory",
        "of a pod (default: by the size of the weights)",
        "GIB",
        float,
    )
    add_number(parser, "--min-replicas", "pods (default: 2)", default=2)
    add_number(parser, "--max-replicas", "pods (default: 10)", default=10)
    add_number(
        parser,
        "--rate",
        "requests a second that a pod shall get, by the server's own counter; "
        "see the table of capacities in docs/serving.md (default: pods are "
        "added by the use of their processors)",
        "R",
        float,
    )
    add_number(
        parser,
        "--start-seconds",
        "that loading the models may take (default: 900)",
        "S",
        default=900,
    )
    add("--service-account", metavar="NAME", help="of the pods")
    add(
        "--allow-namespace",
        metavar="NAME",
        action="append",
        default=[],
        help="whose pods may ask, too, such as that of the metrics; may be "
        "repeated",
    )


def add_training_options(parser: argparse.ArgumentParser) -> None:
    """The options of `deploy training`."""
    _add_common(parser, FORMATS)
    _add_job(parser)
    add = parser.add_argument
    add("--data", required=True, metavar="FOLDER", help="prepared data")
    add("--run", required=True, metavar="FOLDER", help="the run's folder")
    add_number(parser, "--hosts", "machines (default: 1)", default=1)
    _add_rest(parser, "train")


def add_translation_options(parser: argparse.ArgumentParser) -> None:
    """The options of `deploy translation`."""
    _add_common(parser, FORMATS)
    _add_job(parser)
    add = parser.add_argument
    model = parser.add_mutually_exclusive_group(required=True)
    model.add_argument("--run", metavar="FOLDER", help="a run's folder")
    model.add_argument("--saved-model", metavar="FOLDER", help="an export")
    add("--input", required=True, metavar="FILE", help="a sentence a line")
    add("--output", required=True, metavar="FILE", help="of all shards")
    add_number(parser, "--shards", "parts of the input", required=True)
    add_number(
        parser, "--at-once", "shards at a time (default: 32)", default=32
    )
    _add_rest(parser, "translate")


def _add_common(parser, formats):
    add = parser.add_argument
    add("--format", required=True, choices=formats)
    add(
        "--out",
        metavar="FOLDER",
        help="writes a file there, and overwrites none (default: stdout)",
    )
    add("--namespace", help="of Kubernetes (default: that of kubectl)")
    add(
        "--env",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="a variable of the program; may be repeated",
    )


def _add_job(parser):
    add = parser.add_argument
    add("--name", required=True, help="of the job")
    add_number(parser, "--cpus", "of a host (default: 8)", default=8)
    add_number(
        parser, "--memory", "of a host (default: 16)", "GIB", float, default=16
    )
    add_number(parser, "--gpus", "of a host (default: 0)", default=0)
    add_number(
        parser,
        "--tries",
        "after the first, until a job is given up (default: 10)",
        default=10,
    )
    group = parser.add_argument_group("of Kubernetes")
    group.add_argument("--image", help="with this package")
    group.add_argument(
        "--claim",
        metavar="NAME",
        help="a PersistentVolumeClaim, in which all folders and files are",
    )
    add_number(
        group, "--user", "number of the user who owns them (default: 10001)"
    )
    group.add_argument(
        "--jobset", action="store_true", help="a JobSet in place of Jobs"
    )
    group = parser.add_argument_group("of Slurm")
    group.add_argument(
        "--program", metavar="PATH", help="such as .venv/bin/keras-transformer"
    )
    group.add_argument("--partition", metavar="NAME")
    group.add_argument("--account", metavar="NAME")
    group.add_argument("--time", help="limit of a try, such as 1-12:00:00")


def _add_rest(parser, command):
    parser.add_argument(
        "rest",
        nargs="*",
        type=str,
        metavar="-- OPTION",
        help=f"more options of `{command}`",
    )
