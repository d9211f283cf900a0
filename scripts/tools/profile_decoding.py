#!/usr/bin/env python3
"""Says on which operations translating spends its time.

    .venv/bin/python scripts/tools/profile_decoding.py --json > profile.json

One thread, batches of the same forced length as in the benchmark of decoding,
through TensorFlow's profiler. Operations below a microsecond aren't recorded
by it; they and the executor are what is left of a step. With `--run` a run's
weights, else random ones. With `--served` an export in a session, where int8 is
calibrated; without it each row has a scale of its own.
"""

import argparse
import collections
import json
import os
import pathlib
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from scripts.benchmarks.corpus import source_sentences
from scripts.benchmarks.decoding.measure import SessionTranslator
from scripts.benchmarks.models import (
    export_beam,
    export_forced,
    forced,
    make_run,
)

_BATCHES = 3
_SHOWN = 14
_LENGTH = 20
# What contains the operations.
_FRAMES = ("Run", "Process")


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--run")
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--beam", type=int, nargs="+", default=[1, 4])
    parser.add_argument("--precision", nargs="+", default=["bfloat16"])
    parser.add_argument("--served", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        folder = options.run or make_run(scratch)
        translator = _exported if options.served else _translator
        profiles = [
            _profile(translator, folder, precision, batch, beam, scratch)
            for precision in options.precision
            for batch in options.batch
            for beam in options.beam
        ]
    if options.json:
        print(json.dumps(profiles))
    for profile in profiles:
        _show(profile)
    return 0


def _profile(translator, folder, precision, batch, beam, scratch):
    """Time by operation in a step of one setting."""
    import tensorflow as tf

    scratch = scratch / f"{precision}-{batch}-{beam}"
    translate = translator(folder, precision, beam, scratch)
    texts = source_sentences(None, batch * _BATCHES)
    batches = [
        texts[begin : begin + batch] for begin in range(0, len(texts), batch)
    ][:_BATCHES]
    for text in [*batches, *batches]:
        started = time.perf_counter()
        translate(text)
    seconds = time.perf_counter() - started
    recording = str(scratch / "recording")
    tf.profiler.experimental.start(recording)
    for text in batches:
        translate(text)
    tf.profiler.experimental.stop()
    return {
        "title": f"batch {batch}, beam {beam}, {precision}",
        "microseconds": 1e6 * seconds / _LENGTH,
        "operations": _operations(recording, len(batches) * _LENGTH),
    }


def _translator(folder, precision, beam, scratch):
    """Translates texts with a run, in this process."""
    import tensorflow as tf

    from keras_transformer.training.run import Run
    from keras_transformer.translation.translator import Translator

    run = Run.load(folder)
    decoding = forced(folder, precision, _LENGTH, beam)
    translator = Translator.from_run(run, run.load_model(), decoding)
    return lambda texts: translator.translate(tf.constant(texts))[
        "score"
    ].numpy()


def _exported(folder, precision, beam, scratch):
    """Translates texts with an export, as TensorFlow Serving runs it."""
    export = export_forced(
        scratch, folder, precision, _LENGTH, beam=export_beam(beam, [beam])
    )
    signature = "greedy" if beam == 1 else "serving_default"
    return SessionTranslator(str(export), signature, threads=1)()


def _operations(folder, steps):
    """The longest operations of a recording, a step."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space = xplane_pb2.XSpace()
    (path,) = pathlib.Path(folder).rglob("*.xplane.pb")
    space.ParseFromString(path.read_bytes())
    duration, calls = collections.Counter(), collections.Counter()
    for plane in space.planes:
        for line in plane.lines:
            for event in line.events:
                name = plane.event_metadata[event.metadata_id].name
                operation = name.split(":")[-1].split("#")[0].strip()
                is_frame = operation in _FRAMES or "__inf" in operation
                if "CPU" in plane.name and ":" in name and not is_frame:
                    duration[operation] += event.duration_ps
                    calls[operation] += 1
    return [
        {
            "operation": operation,
            "microseconds": picoseconds / 1e6 / steps,
            "calls": round(calls[operation] / steps, 1),
        }
        for operation, picoseconds in duration.most_common(_SHOWN)
    ]


def _show(profile):
    print(
        f"{profile['title']}: {profile['microseconds']:.0f} us a step",
        file=sys.stderr,
    )
    for row in profile["operations"]:
        print(
            f"  {row['operation']:<28} {row['microseconds']:8.0f} us "
            f"{row['calls']:6} calls",
            file=sys.stderr,
        )


if __name__ == "__main__":
    sys.exit(main())
