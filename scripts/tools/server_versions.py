#!/usr/bin/env python3
"""Proves small exports of every kind with several versions of TensorFlow.

    python -m scripts.tools.server_versions FOLDER NAME ...

`scripts/test_servers.sh` runs it, and has made the environments FOLDER/NAME.
Each has TensorFlow and TF Text, and proves all exports as `export` does, of
which the last column is: in fresh processes, through the C API with XLA off
and by `tf.saved_model.load`. The models' weights are random: what is proved is
that each version computes the same. Prints a table in Markdown; the exit
status is 1 if a check failed.
"""

import dataclasses
import gzip
import importlib.metadata
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

from keras_transformer.exporting.verification.checks import SAVED_MODEL_CHECKS
from keras_transformer.system.interpreters import child_environment

IMPORTED = pathlib.Path(__file__).parents[2] / "tests/importing/fixtures"
PAIRS = 600
DISTRIBUTIONS = ("tensorflow", "tensorflow-text")
# Prints as JSON the versions of an environment, and which of the operations on
# its standard input it lacks.
LOOK = f"""
import importlib.metadata, json, sys
import tensorflow, tensorflow_text
from tensorflow.python.framework.op_def_registry import get
print(json.dumps({{
    "versions": [importlib.metadata.version(n) for n in {DISTRIBUTIONS}],
    "lacks": [name for name in json.load(sys.stdin) if not get(name)],
}}))
"""


def main(arguments: list[str]) -> int:
    folder, *names = arguments
    with tempfile.TemporaryDirectory() as scratch:
        exports = write_exports(pathlib.Path(scratch))
        operations = {
            kind: operations_of(report.path) for kind, report in exports.items()
        }
        proved = [
            prove(pathlib.Path(folder, name), exports, operations)
            for name in names
        ]
        proved.append(proved_here(exports))
    print(table(operations, proved))
    return 0 if all(c[0] for p in proved for c in p["cells"].values()) else 1


def write_exports(folder: pathlib.Path) -> dict:
    """Makes the models and their exports.

    Returns:
        the `ExportReport` of each kind.
    """
    import keras_transformer as kt
    from keras_transformer.data.demo import load_demo_corpus
    from keras_transformer.importing.run import import_run
    from tests.toy_runs import untrained_run

    pairs = load_demo_corpus().train[:PAIRS]
    corpus = folder / "train.tsv"
    corpus.write_text("".join(f"{s}\t{t}\n" for s, t in pairs), "utf-8")
    languages = {"source_language": "en", "target_language": "zh"}

    def prepared(name, source, target, **options):
        config = kt.DataConfig(
            source_tokenizer=source,
            target_tokenizer=target,
            **languages,
            **options,
        )
        kt.prepare(corpus, folder / name, config=config, dev=0.05)
        return folder / name

    words = prepared("data-words", "word", "character")
    pieces = prepared(
        "data-pieces",
        *("sentencepiece", "sentencepiece"),
        source_vocabulary_size=600,
        target_vocabulary_size=600,
    )
    other = folder / "marian"
    shutil.copytree(IMPORTED / "base", other)
    for side in ("source", "target"):
        packed = (IMPORTED / f"{side}.spm.gz").read_bytes()
        (other / f"{side}.spm").write_bytes(gzip.decompress(packed))
    runs = {
        name: untrained_run(folder / name, data, seed, max_length=64)
        for name, data, seed in (
            ("words", words, 1),
            ("pieces", pieces, 1),
            ("second", pieces, 2),
        )
    }
    runs["imported"] = import_run(other, folder / "imported")
    kinds = {
        "words": ("words", {}),
        "SentencePiece": ("pieces", {}),
        "bfloat16": ("pieces", {"precision": "bfloat16"}),
        "int8": ("pieces", {"precision": "int8"}),
        "int8, ranges": (
            "pieces",
            {"precision": "int8", "dev": pairs[:20]},
        ),
        "imported": ("imported", {}),
        "ensemble": (
            "pieces",
            {"ensemble": [runs["second"].folder]},
        ),
    }
    exports = {}
    for number, (kind, (run, options)) in enumerate(kinds.items()):
        print(f"exporting {kind}", file=sys.stderr, flush=True)
        out = folder / f"export-{number}"
        exports[kind] = kt.export(runs[run].folder, out, **options)
    return exports


def operations_of(export: pathlib.Path) -> list[str]:
    """The names of the operations in the graph and its functions."""
    from keras_transformer.exporting.verification.graph_checks import (
        graph_is_readable,
    )

    graph = graph_is_readable(export).graph_def
    functions = graph.library.function
    nodes = [*graph.node, *(n for f in functions for n in f.node_def)]
    called = {function.signature.name for function in functions}
    return sorted({node.op for node in nodes} - called)


def prove(
    environment: pathlib.Path,
    exports: dict,
    operations: dict[str, list[str]],
) -> dict:
    """Runs the package's own checks by an environment's interpreter.

    Returns:
        `versions` and `lacks` as `LOOK` prints them, and `cells`: for each
        kind whether all checks passed, and what the table says.
    """
    print(f"proving with {environment}", file=sys.stderr, flush=True)
    variables = {
        **child_environment(),
        "CUDA_VISIBLE_DEVICES": "-1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }
    python = str(environment.resolve() / "bin" / "python")
    every = sorted({name for names in operations.values() for name in names})
    looked = subprocess.run(
        [python, "-P", "-c", LOOK],
        input=json.dumps(every),
        env=variables,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found = json.loads(looked.stdout)
    check = [python, "-P", "-m", SAVED_MODEL_CHECKS]
    report = environment / "report.json"
    cells = {}
    for kind, export in exports.items():
        report.unlink(missing_ok=True)
        subprocess.run(
            [*check, str(export.path), str(report)], env=variables, check=False
        )
        if not report.is_file():
            raise SystemExit(f"{environment}: {kind} ended without a report")
        cells[kind] = outcome(json.loads(report.read_text("utf-8")))
    return {**found, "cells": cells}


def proved_here(exports: dict) -> dict:
    """The same of this environment, by the checks of the exports."""
    cells = {
        kind: outcome([dataclasses.asdict(check) for check in export.checks])
        for kind, export in exports.items()
    }
    versions = [importlib.metadata.version(name) for name in DISTRIBUTIONS]
    return {"versions": versions, "lacks": [], "cells": cells}


def outcome(checks: list[dict]) -> tuple[bool, str]:
    """Whether all checks passed, and what the table says of them."""
    failed = [check for check in checks if not check["passed"]]
    if not failed:
        return True, f"{len(checks)}/{len(checks)}"
    return False, f"{failed[0]['name']}: {failed[0]['detail']}"


def table(operations: dict[str, list[str]], proved: list[dict]) -> str:
    """The table, a row for each environment and a column for each kind."""
    rows = [
        [
            ", ".join(environment["versions"]),
            *(environment["cells"][kind][1] for kind in operations),
            ", ".join(environment["lacks"]) or "none",
        ]
        for environment in proved
    ]
    counts = [str(len(names)) for names in operations.values()]
    rows.append(["operations", *counts, ""])
    heads = ["TensorFlow, TF Text", *operations, "lacking"]
    lines = [f"| {' | '.join(row)} |" for row in [heads, *rows]]
    return "\n".join([lines[0], "|---" * len(heads) + "|", *lines[1:]])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
