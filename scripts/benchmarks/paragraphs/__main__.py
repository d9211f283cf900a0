#!/usr/bin/env python3
"""Measures a paragraph against its sentences, each a request of its own.

    .venv/bin/python scripts/benchmarks/paragraphs \\
        --saved-model saved_models/en-zh --threads 2

Both signatures of the best translation run in a session without XLA, as stock
TensorFlow Serving runs them. Nothing else should run meanwhile.
"""

import argparse
import os
import pathlib
import sys
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3]))

TEXT = (
    "She has two cats. He has a dog. Where is the station? I like tea. My "
    "sister reads books. They drink coffee every day. We live in a big house. "
    "The cat sleeps."
)
SIGNATURES = ("serving_default", "greedy")
_WARM_UP = 5


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    options = _parser().parse_args(arguments)
    from keras_transformer.exporting.registry.version_folders import (
        find_saved_model,
    )
    from keras_transformer.exporting.session import SavedModelSession

    session = SavedModelSession(
        find_saved_model(options.saved_model), options.threads
    )
    sentences = options.text.replace("? ", "?\n").replace(". ", ".\n")
    ways = {
        "one by one": sentences.splitlines(),
        "as a paragraph": [options.text],
    }
    count = len(ways["one by one"])
    for signature in SIGNATURES:
        for way, texts in ways.items():
            seconds = [
                _seconds(session, signature, texts)
                for _ in range(_WARM_UP + options.rounds)
            ][_WARM_UP:]
            seconds.sort()
            p95 = 1000 * seconds[int(0.95 * (len(seconds) - 1))]
            rate = count * len(seconds) / sum(seconds)
            print(
                f"{signature}, {way}: {rate:.1f} sentences/s, p95 of the "
                f"{count} {p95:.0f} ms"
            )
    return 0


def _seconds(session, signature, texts):
    begin = time.perf_counter()
    for text in texts:
        session.run(signature, {"text": [text.encode()]})
    return time.perf_counter() - begin


def _parser():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = parser.add_argument
    add("--saved-model", required=True, metavar="FOLDER")
    add("--text", default=TEXT, help="of several sentences")
    add("--threads", type=int, default=1)
    add("--rounds", type=int, default=20)
    return parser


if __name__ == "__main__":
    sys.exit(main())
