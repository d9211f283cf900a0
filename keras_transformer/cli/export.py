"""Writes a run as a SavedModel that TensorFlow Serving loads.

The export goes to OUT/VERSION, text in and text out, and is published only
after a fresh process has loaded it as the server does and compared.
"""

import json

from keras_transformer.cli.console import load_tensorflow, say, table
from keras_transformer.cli.evaluate import (
    add_search_options,
    add_weights_option,
    decoding_config,
)

EXAMPLE = """example:
  keras-transformer export --run runs/en-zh --out saved_models/en-zh
"""


def add_arguments(parser):
    parser.add_argument(
        "--run", required=True, metavar="FOLDER", help="a run's folder"
    )
    parser.add_argument(
        "--out",
        required=True,
        metavar="FOLDER",
        help="the model's folder, which holds its versions",
    )
    parser.add_argument(
        "--model-version",
        type=int,
        metavar="N",
        help="default: one above the highest there",
    )
    add_weights_option(parser)
    add_search_options(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object")


def run(arguments):
    load_tensorflow()
    from keras_transformer.export.saved_model import export_run
    from keras_transformer.training.run import Run

    the_run = Run.load(arguments.run)
    report = export_run(
        the_run,
        arguments.out,
        version=arguments.model_version,
        which=arguments.weights or "best",
        decoding=decoding_config(the_run.config, arguments),
        progress=say,
    )
    if arguments.json:
        print(json.dumps(report.to_dict()))
        return
    rows = [(check.name, check.detail) for check in report.checks]
    rows += [
        ("signatures", ", ".join(report.signatures)),
        ("size", f"{report.size / 2**20:.1f} MiB"),
        ("seconds", str(report.seconds)),
        ("published", str(report.path)),
    ]
    print(table(rows))
