"""Writes a run as a SavedModel that TensorFlow Serving loads, or otherwise.

The export goes to OUT/VERSION, text in and text out, and is published only
after fresh processes have loaded it as the server does and compared: one in a
session, and one through the C API, without Python's TensorFlow. --verify-only
checks what is there. --format keras and ctranslate2 write OUT itself: a folder
with model.keras, which keras.models.load_model loads, or one for CTranslate2
(extra [ctranslate2]), which has fast int8 on processors.

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

import dataclasses
import json
import pathlib

from keras_transformer.cli.console import load_tensorflow, say, table
from keras_transformer.cli.options import (
    SEARCH_OPTIONS,
    add_json_option,
    add_number,
    add_run_option,
    add_search_options,
    add_weights_option,
    decoding_config,
    flag,
)
from keras_transformer.errors import InputError
from keras_transformer.export.ctranslate2_folder import (
    DESCRIPTION,
    QUANTIZATIONS,
)
from keras_transformer.files import read_json

TFSERVING, CTRANSLATE2, KERAS = "tfserving", "ctranslate2", "keras"
_FORMATS = (TFSERVING, CTRANSLATE2, KERAS)
# Those that write a folder of their own, what doesn't go with them, and what
# does.
_OTHER_FOLDERS = {
    CTRANSLATE2: (
        ("model_version", "precision", "dev", "fallback"),
        "--quantization, --weights and options of the search",
    ),
    KERAS: (
        (
            *("model_version", "precision", "dev", "fallback", "quantization"),
            *(*SEARCH_OPTIONS, "decoding"),
        ),
        "--weights",
    ),
}
# What may stand beside --verify-only.
_BESIDE_VERIFY_ONLY = ("command", "verify_only", "json")


def add_arguments(parser):
    add_run_option(parser)
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        help="the model's folder, which holds its versions; with --format "
        "keras or ctranslate2 a new folder",
    )
    parser.add_argument(
        "--verify-only",
        metavar="FOLDER",
        help="exports nothing: runs every check on a version folder, on the "
        "latest version of a model's folder, or on a folder of another format",
    )
    add_number(
        parser, "--model-version", "default: one above the highest there"
    )
    add_weights_option(parser)
    add_search_options(parser)
    parser.add_argument(
        "--precision",
        choices=("float32", "bfloat16", "int8", "auto"),
        help="of products with weights; int8 needs a processor with VNNI; auto "
        "measures speed and BLEU on --dev and takes the fastest that loses at "
        "most 0.2 BLEU (default: as the run's search, float32)",
    )
    parser.add_argument(
        "--dev",
        nargs="+",
        metavar="FILE",
        help="pairs, as evaluate takes them, for --precision auto; with int8 "
        "for the ranges of what is multiplied, which makes it faster",
    )
    parser.add_argument(
        "--fallback",
        action="store_true",
        help="with int8: publishes float32 as the version before it, for "
        "servers on other processors",
    )
    parser.add_argument(
        "--format",
        action="append",
        choices=_FORMATS,
        help="tfserving: writes beside OUT what a server starts with, too: "
        "for TensorFlow Serving models.config, batching.config, "
        "monitoring.config, Dockerfile, docker-compose.yml and "
        "kubernetes.yaml. ctranslate2: writes a folder for CTranslate2 and "
        "for translate --ctranslate2. keras: writes a folder with model.keras, "
        "from ids to logits, and the tokenizers",
    )
    parser.add_argument(
        "--quantization",
        choices=tuple(QUANTIZATIONS),
        help="of the weights with --format ctranslate2 (default: float32)",
    )
    add_json_option(parser)


def run(arguments):
    if arguments.verify_only is not None:
        _verify_only(arguments)
        return
    if arguments.run is None or arguments.out is None:
        raise InputError(
            "nothing to export. Accepted: --run FOLDER and --out FOLDER, or "
            "--verify-only FOLDER"
        )
    _check_formats(arguments)
    load_tensorflow()
    if CTRANSLATE2 in (arguments.format or ()):
        _to_ctranslate2(arguments)
        return
    if KERAS in (arguments.format or ()):
        _to_keras(arguments)
        return
    from keras_transformer.deployment.model_configs import (
        require_model_name,
    )
    from keras_transformer.export.writer.saved_model import export_run
    from keras_transformer.training.run import Run

    if arguments.format:
        # Before the long work.
        require_model_name(arguments.out)
    run = Run.load(arguments.run)
    decoding, quantized = _with_precision(run, arguments)
    common = {"which": arguments.weights or "best", "progress": say}
    version = arguments.model_version
    if arguments.fallback and decoding.precision == "int8":
        full = dataclasses.replace(decoding, precision="float32")
        published = export_run(
            run, arguments.out, version=version, decoding=full, **common
        )
        say(f"published {published.path}, in float32")
        version = published.version + 1
    report = export_run(
        run,
        arguments.out,
        version=version,
        decoding=decoding,
        **quantized,
        **common,
    )
    _write_server_files(arguments)
    _print_report(
        arguments,
        report,
        ("signatures", ", ".join(report.signatures)),
        ("precision", decoding.precision),
    )


def _check_formats(arguments):
    """Refuses options that go with another format.

    Raises:
        InputError: names the option.
    """
    formats = set(arguments.format or ())
    others = [name for name in formats if name in _OTHER_FOLDERS]
    if not others:
        if arguments.quantization is not None:
            raise InputError("--quantization goes with --format ctranslate2")
        return
    if len(formats) > 1:
        raise InputError(
            f"--format {' and '.join(sorted(formats))}: each writes another "
            "folder. Accepted: one of them at a time"
        )
    refused, accepted = _OTHER_FOLDERS[others[0]]
    for name in refused:
        if getattr(arguments, name) not in (None, [], False):
            raise InputError(
                f"{flag(name)} doesn't go with --format {others[0]}. "
                f"Accepted: {accepted}"
            )


def _to_ctranslate2(arguments):
    """Writes a folder for CTranslate2 and prints what was checked."""
    from keras_transformer.export.writer.ctranslate2 import export_ctranslate2
    from keras_transformer.training.run import Run

    run = Run.load(arguments.run)
    report = export_ctranslate2(
        run,
        arguments.out,
        quantization=arguments.quantization or "float32",
        which=arguments.weights or "best",
        decoding=decoding_config(run.config, arguments),
        progress=say,
    )
    _print_report(arguments, report, ("quantization", report.quantization))


def _to_keras(arguments):
    """Writes a folder with a `.keras` file and prints what was checked."""
    from keras_transformer.export.writer.keras_file import export_keras
    from keras_transformer.training.run import Run

    report = export_keras(
        Run.load(arguments.run),
        arguments.out,
        which=arguments.weights or "best",
        progress=say,
    )
    _print_report(arguments, report)


def _print_report(arguments, report, *described):
    """A report's checks and figures, beside (name, value) pairs."""
    if arguments.json:
        print(json.dumps(report.to_dict()))
        return
    rows = [(check.name, check.detail) for check in report.checks]
    rows += [
        *described,
        ("size", f"{report.size / 2**20:.1f} MiB"),
        ("seconds", str(report.seconds)),
        ("published", str(report.path)),
    ]
    print(table(rows))


def _write_server_files(arguments):
    """Those asked for, or those that are there and now are out of date."""
    from keras_transformer.deployment.server_files import (
        refresh_server_files,
        write_server_files,
    )

    if not arguments.format:
        written, kept = refresh_server_files(arguments.out), []
    else:
        written, kept = write_server_files(arguments.out)
    for path in written:
        say(f"wrote {path}")
    for path in kept:
        say(f"kept {path}: its owner has changed it")


def _with_precision(run, arguments):
    """The search, in the precision asked for or measured to be the best.

    Returns:
        `DecodingConfig`, and what else `export_run` is told of it.

    Raises:
        InputError: options that don't go together, or int8 on a machine that
            can't.
    """
    from keras_transformer.inference.quantization import require_int8

    decoding = decoding_config(run.config, arguments)
    precision = arguments.precision or decoding.precision
    decoding = dataclasses.replace(
        decoding, precision="float32" if precision == "auto" else precision
    )
    if precision == "auto" and not arguments.dev:
        raise InputError("--precision auto needs --dev FILE")
    if arguments.dev and precision not in ("auto", "int8"):
        raise InputError("--dev goes with --precision auto or int8")
    if arguments.fallback and precision not in ("auto", "int8"):
        raise InputError("--fallback goes with --precision int8 or auto")
    if precision == "int8":
        # Before the long work.
        require_int8()
    if not arguments.dev:
        return decoding, {}
    return _measured(run, decoding, precision, arguments)


def _measured(run, decoding, precision, arguments):
    """As `_with_precision`, with what the pairs of --dev tell."""
    from keras_transformer.data.corpus import read_pairs
    from keras_transformer.export.writer.precision import (
        activation_limits,
        choose_precision,
    )

    which = arguments.weights or "best"
    pairs = list(read_pairs(arguments.dev))
    if precision == "int8":
        say("looking at what is multiplied")
        model = run.load_model(which)
        limits = activation_limits(run, model, pairs, decoding)
        return decoding, {"limits": limits}
    choice = choose_precision(
        run, pairs, which=which, decoding=decoding, progress=say
    )
    rows = [("precision", "BLEU", "seconds", "to float32")]
    rows += [
        (name, f"{one.bleu:.2f}", f"{one.seconds:.2f}", f"{one.speed:.2f}")
        for name, one in choice.measured.items()
    ]
    say(table(rows))
    say(f"{choice.precision}: {choice.reason}")
    decoding = dataclasses.replace(decoding, precision=choice.precision)
    return decoding, {"limits": choice.limits, "measured": choice.to_dict()}


def _verify_only(arguments):
    """Runs every check on a version folder and prints their results.

    Args:
        arguments: of `export`.

    Raises:
        InputError: another option was given, there is no SavedModel, or a
            check failed.
    """
    from keras_transformer.export.registry.version_folders import (
        find_saved_model,
    )
    from keras_transformer.export.verification.checks import (
        CTRANSLATE2_CHECKS,
        KERAS_CHECKS,
        KERAS_FORMAT,
        VERIFY,
        check_in_fresh_process,
        require_passed,
    )

    _refuse_other_options(arguments)
    folder = pathlib.Path(arguments.verify_only)
    if (folder / DESCRIPTION).is_file():
        kind = read_json(folder / DESCRIPTION).get("format")
        # What is neither is told so by the checks.
        module = KERAS_CHECKS if kind == KERAS_FORMAT else CTRANSLATE2_CHECKS
    else:
        folder, module = find_saved_model(folder), VERIFY
    say(f"checking {folder} in fresh processes")
    checks = check_in_fresh_process(folder, f"{folder}", module)
    if arguments.json:
        print(
            json.dumps(
                {
                    "path": str(folder),
                    "passed": all(check.passed for check in checks),
                    "checks": [vars(check) for check in checks],
                },
                ensure_ascii=False,
            )
        )
    else:
        rows = [
            (check.name, f"{_outcome(check):<6}  {check.detail}")
            for check in checks
        ]
        print(table(rows))
    require_passed(checks, f"{folder}")


def _outcome(check):
    return "passed" if check.passed else "FAILED"


def _refuse_other_options(arguments):
    given = [
        flag(name)
        for name, value in vars(arguments).items()
        if name not in _BESIDE_VERIFY_ONLY and value not in (None, [], False)
    ]
    if given:
        raise InputError(
            f"--verify-only exports nothing, so {', '.join(given)} can't be "
            "with it. Accepted beside it: --json"
        )
