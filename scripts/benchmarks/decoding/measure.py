"""One measurement of `scripts/benchmarks/decoding`: a setting, in processes."""

import dataclasses
import resource
import statistics
import time
from typing import NamedTuple

from keras_transformer.translation.workers import translation_workers
from scripts.benchmarks.command import run_peer

_CELLS = {"b1_greedy": (1, 1), "b64_greedy": (64, 1), "b64_beam4": (64, 4)}
_PEERS = {"vs_float32": "float32", "vs_int8": "int8_float32"}


@dataclasses.dataclass(frozen=True)
class Cell:
    """What is translated.

    Attributes:
        batch: sentences at a time.
        beam: beam size, 1 for greedy search.
        length: output tokens of every sentence.
    """

    batch: int
    beam: int
    length: int


@dataclasses.dataclass(frozen=True)
class Setting:
    """How it is translated.

    Attributes:
        cell: what.
        kind: "served" or "translator".
        precision: "float32", "bfloat16" or "int8".
        workers: processes.
        threads: of each.
    """

    cell: Cell
    kind: str
    precision: str
    workers: int
    threads: int

    def to_dict(self) -> dict:
        """All in one level."""
        values = dataclasses.asdict(self)
        return {**values.pop("cell"), **values}


class Timed(NamedTuple):
    """What a worker says of one batch, once for each of its lines.

    Attributes:
        seconds: that the batch took.
        memory: the most that the process ever had, MiB.
    """

    seconds: float
    memory: float


@dataclasses.dataclass(frozen=True)
class TimedTranslator:
    """Factory of a translator that returns times, not translations."""

    factory: object

    def __call__(self):
        translate = self.factory()

        def timed(lines):
            started = time.perf_counter()
            translate(lines)
            seconds = time.perf_counter() - started
            memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            return [Timed(seconds, memory)] * len(lines)

        return timed


@dataclasses.dataclass(frozen=True)
class SessionTranslator:
    """Factory of an export as stock TensorFlow Serving runs it: no XLA."""

    folder: str
    signature: str
    threads: int

    def __call__(self):
        from keras_transformer.exporting.session import SavedModelSession
        from keras_transformer.exporting.verification.c_api import disable_xla

        disable_xla()
        inter_op_threads = 1 if self.threads == 1 else 0
        model = SavedModelSession(self.folder, self.threads, inter_op_threads)

        def translate(lines):
            texts = [line.encode() for line in lines]
            return model.run(self.signature, {"text": texts})

        return translate


def measure(setting: Setting, folder, export, texts: list[str]) -> dict:
    """Translates the texts, sorted by length, after a pass to warm up.

    Args:
        setting: what and how.
        folder: the run's.
        export: the version folder, for "served".
        texts: sentences; with batches of 1 a tenth of them.
    """
    cell = setting.cell
    factory = TimedTranslator(_factory(setting, folder, export))
    texts = sorted(texts, key=lambda text: len(text.split()))
    if cell.batch == 1:
        texts = texts[::10]
    batches = [
        texts[begin : begin + cell.batch]
        for begin in range(0, len(texts), cell.batch)
    ]
    with translation_workers(
        factory, setting.workers, setting.threads
    ) as workers:
        list(workers.map(batches))
        started = time.perf_counter()
        results = list(workers.map(batches))
        seconds = time.perf_counter() - started
    timed = [batch[0] for batch in results]
    latencies = [1000 * batch.seconds for batch in timed]
    return {
        "tokens_per_second": len(texts) * cell.length / seconds,
        "latency_p50_ms": statistics.median(latencies),
        "latency_p95_ms": sorted(latencies)[int(0.95 * (len(latencies) - 1))],
        "peak_memory_mib": max(b.memory for b in timed) * setting.workers,
    }


def _factory(setting, folder, export):
    if setting.kind == "served":
        signature = "greedy" if setting.cell.beam == 1 else "serving_default"
        return SessionTranslator(str(export), signature, setting.threads)
    from keras_transformer.translation.workers import RunTranslatorFactory
    from scripts.benchmarks.models import forced

    decoding = forced(
        folder, setting.precision, setting.cell.length, setting.cell.beam
    )
    decoding = dataclasses.replace(decoding, batch_size=setting.cell.batch)
    return RunTranslatorFactory(str(folder), "best", decoding)


def best_rate(rows, kind, batch, beam):
    """The highest median of all settings of a cell, tokens a second."""
    return max(
        row["tokens_per_second"]
        for row in rows
        if (row["kind"], row["batch"], row["beam"]) == (kind, batch, beam)
    )


def measure_peer(script, folder, sentences, repeats) -> dict[str, int]:
    """One run of CTranslate2: output tokens a second by cell."""
    size = "--sentences", sentences, "--repeats", repeats
    last = run_peer(script, "decode", "--data", folder, *size)
    return last["output_tokens_per_s"]


def ratios(rows, peers: list[dict]) -> dict:
    """Median by median, each side at its best setting."""
    by_cell = {}
    for kind in dict.fromkeys(row["kind"] for row in rows):
        for name, (batch, beam) in _CELLS.items():
            rate = best_rate(rows, kind, batch, beam)
            by_cell[f"{kind}_{name}"] = {
                key: round(rate / _peer_rate(peers, compute, batch, beam), 3)
                for key, compute in _PEERS.items()
            }
    return by_cell


def _peer_rate(peers, compute, batch, beam):
    cell = f"{compute} batch {batch} beam {beam}"
    return statistics.median(peer[cell] for peer in peers)


def bleu(folder, path, precisions) -> dict:
    """BLEU of the run's own search on pairs, by precision."""
    from keras_transformer.api.evaluation import evaluate
    from keras_transformer.data.corpus import CorpusFile, read_pairs
    from keras_transformer.training.run import Run

    run = Run.load(folder)
    pairs = list(read_pairs([CorpusFile.parse(str(path))]))
    return {
        precision: evaluate(
            run,
            pairs,
            decoding=dataclasses.replace(
                run.config.decoding, precision=precision
            ),
        ).bleu
        for precision in precisions
    }
