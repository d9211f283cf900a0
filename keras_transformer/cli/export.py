"""Writes a run as a SavedModel that TensorFlow Serving loads, or otherwise.

The export, from text to text, goes to OUT/VERSION. It is published only after
fresh processes have loaded it as the server does and compared its results: one
in a session, and one through the C API, without Python's TensorFlow.
--verify-only checks an existing export. --format keras and ctranslate2 write
OUT itself: a folder with model.keras, which keras.models.load_model loads, or
one for CTranslate2 (extra [ctranslate2]), which has fast int8 on processors.

example:
  keras-transformer export --run runs/en-zh --out saved_models/en-zh
  keras-transformer export --run runs/en-zh --out saved_models/en-zh \\
      --format tfserving
  keras-transformer export --verify-only saved_models/en-zh/1
  keras-transformer export --run runs/en-zh --out ctranslate2/en-zh \\
      --format ctranslate2 --quantization int8
  keras-transformer export --run runs/en-zh --out keras_models/en-zh \\
      --format keras
"""

import argparse
import json

from keras_transformer.api.exporting import (
    FORMATS,
    PRECISIONS,
    export,
    verify,
)
from keras_transformer.api.runs import run_config
from keras_transformer.cli.console import load_tensorflow, say, table
from keras_transformer.cli.options import (
    SEVERAL,
    add_ensemble_option,
    add_json_option,
    add_options,
    add_run_option,
    add_search_options,
    add_shortlist_option,
    add_weights_option,
    decoding_config,
    flag,
    is_given,
    setting_options,
)
from keras_transformer.errors import InputError
from keras_transformer.exporting.ctranslate2_folder import QUANTIZATIONS
from keras_transformer.exporting.verification.checks import require_passed
from keras_transformer.system.files import json_text

# Accepted together with --verify-only.
_BESIDE_VERIFY_ONLY = ("command", "verify_only", "json")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_option(parser)
    add_options(
        parser,
        {
            "--out FOLDER": "the model's folder, which holds its versions; "
            "with --format keras or ctranslate2 a new folder",
            "--verify-only FOLDER": "exports nothing: runs every check on a "
            "version folder, on the latest version of a model's folder, or on "
            "what --format ctranslate2 wrote",
        },
    )
    version = "default: one above the highest there"
    add_options(parser, {"--model-version N": version}, type=int)
    add_weights_option(parser)
    add_ensemble_option(parser)
    add_shortlist_option(parser)
    add_search_options(parser, ("sentences",))
    parser.add_argument(
        "--precision",
        choices=PRECISIONS,
        help="of products with weights; int8 pays on processors with VNNI; "
        "auto measures speed and BLEU on --dev and takes the fastest that "
        "loses at most 0.2 BLEU (default: as the run's search, float32)",
    )
    dev = (
        "pairs, as evaluate takes them, for --precision auto; with int8 for "
        "the ranges of what is multiplied, which makes it faster"
    )
    add_options(parser, {"--dev FILE": dev}, **SEVERAL)
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="tfserving: also writes models.config, batching.config, "
        "monitoring.config and docker-compose.yml beside OUT. ctranslate2: "
        "writes a folder for CTranslate2 and translate --ctranslate2. keras: "
        "writes a folder with model.keras, from ids to logits, and the "
        "tokenizers",
    )
    parser.add_argument(
        "--quantization",
        choices=tuple(QUANTIZATIONS),
        help="of the weights with --format ctranslate2 (default: float32)",
    )
    add_json_option(parser)


def run(arguments: argparse.Namespace) -> None:
    if arguments.verify_only is not None:
        _verify_only(arguments)
        return
    if arguments.run is None or arguments.out is None:
        raise InputError(
            "nothing to export. Accepted: --run FOLDER and --out FOLDER, or "
            "--verify-only FOLDER"
        )
    decoding = None
    if arguments.set:
        decoding = decoding_config(run_config(arguments.run), arguments)
    load_tensorflow()
    report = export(
        arguments.run,
        arguments.out,
        format=arguments.format,
        weights=arguments.weights or "best",
        version=arguments.model_version,
        decoding=decoding,
        precision=arguments.precision,
        dev=arguments.dev,
        quantization=arguments.quantization,
        progress=say,
        ensemble=arguments.ensemble,
        shortlist=arguments.shortlist,
    )
    _print_report(arguments, report)


def _print_report(arguments, report):
    """A report's checks and figures."""
    if arguments.json:
        print(json.dumps(report.to_dict()))
        return
    rows = [(check.name, check.detail) for check in report.checks]
    described = {
        "signatures": ", ".join(report.signatures or ()),
        "precision": report.precision,
        "quantization": report.quantization,
    }
    rows += [(name, value) for name, value in described.items() if value]
    rows += [
        ("size", f"{report.size / 2**20:.1f} MiB"),
        ("seconds", str(report.seconds)),
        ("published", str(report.path)),
    ]
    print(table(rows))


def _verify_only(arguments):
    """Runs every check on an export and prints their results."""
    _refuse_other_options(arguments)
    folder, checks = verify(arguments.verify_only, say)
    if arguments.json:
        print(
            json_text(
                {
                    "path": str(folder),
                    "passed": all(check.passed for check in checks),
                    "checks": [vars(check) for check in checks],
                }
            )
        )
    else:
        rows = [
            (check.name, "passed" if check.passed else "FAILED", check.detail)
            for check in checks
        ]
        print(table(rows))
    require_passed(checks, f"{folder}")


def _refuse_other_options(arguments):
    given = [
        setting_options(arguments) if name == "set" else flag(name)
        for name, value in vars(arguments).items()
        if name not in _BESIDE_VERIFY_ONLY and is_given(value)
    ]
    if given:
        raise InputError(
            f"--verify-only exports nothing, so {', '.join(given)} can't be "
            "with it. Accepted beside it: --json"
        )
