"""The table of capacities, as docs/serving.md has it."""

import math
import pathlib

from scripts.benchmarks import page_parts

SCRIPT = "scripts/benchmarks/capacity"


def write_into(path: pathlib.Path, report: dict):
    """Puts the tables between the marks of a page, in place of the old ones.

    Raises:
        ValueError: the page has no such marks.
    """
    page_parts.replace(path, SCRIPT, page(report))


def page(report: dict) -> str:
    """The tables and the sentence on what was measured."""
    said = page_parts.said(report["environment"])
    parts = [
        f"Measured with {said}; model: {report['model']}, weights of "
        f"{report['weights_mib']:.0f} MiB; a server with one worker on one "
        f"core takes {report['memory_mib']:.0f} MiB.",
        "The time of a batch on one core, medians, after a pause but for the "
        "largest, and what a request costs beside it: "
        f"{1000 * report['overhead_seconds']:.1f} ms.",
        _service(report),
        "Replicas of one core, by rate and by what 99 of 100 answers shall "
        "take at most:",
        _replicas(report),
        "Checked: p99 by the model, by the simulation, and measured with "
        "requests at random moments against the server on one core; loads "
        "are parts of what full batches bear.",
        _checks(report),
    ]
    if "quick" in report:
        parts.insert(0, f"**Not to be quoted: {report['quick']}.**")
    return "\n\n".join(parts) + "\n"


def replicas(rate: float, bearable: float) -> int | None:
    """How many workers bear a rate; None: no number does."""
    return math.ceil(rate / bearable - 1e-9) if bearable > 0 else None


def _service(report):
    rows = []
    for line in report["service"]:
        row = [line["batch_size"]]
        for part in ("shorter", "longer"):
            if f"{part}_ms" in line:
                row.append(f"{line[f'{part}_characters']:.0f}")
                row.append(f"{line[f'{part}_ms']:.0f}")
            else:
                row += ["", ""]
        row.append(
            f"{1000 * line['batch_size'] / line['longer_ms']:.0f}"
            if "longer_ms" in line
            else ""
        )
        rows.append(row)
    return page_parts.table(
        (
            "sentences in a batch",
            "longest, characters",
            "ms",
            "longest, characters",
            "ms",
            "sentences/s",
        ),
        rows,
    )


def _replicas(report):
    rates = report["rates"]
    rows = []
    for line in report["capacities"]:
        needed = (replicas(rate, line["rate"]) for rate in rates)
        cells = ["none will do" if n is None else n for n in needed]
        rows.append(
            (
                f"{1000 * line['p99']:.0f} ms",
                f"{line['rate']:.1f}",
                f"{1000 * line['simulated_p99']:.0f} ms"
                if line["rate"]
                else "",
                *cells,
            )
        )
    return page_parts.table(
        (
            "p99",
            "sentences/s a replica",
            "simulated p99",
            *(f"{rate:g}/s" for rate in rates),
        ),
        rows,
    )


def _checks(report):
    rows = [
        (
            f"{line['load']:.0%}",
            f"{line['rate']:.1f}",
            f"{1000 * line['model']['p99']:.0f} ms",
            f"{1000 * line['simulated']['p99']:.0f} ms",
            f"{1000 * line['measured']['p99']:.0f} ms",
            f"{line['simulated']['p99'] / line['measured']['p99'] - 1:+.0%}",
            f"{line['simulated']['batch_size']:.1f} / "
            f"{line['measured']['batch_size']:.1f}",
        )
        for line in report["checks"]
    ]
    return page_parts.table(
        (
            "load",
            "sentences/s",
            "model",
            "simulation",
            "measured",
            "simulation to measured",
            "in a batch, simulated / measured",
        ),
        rows,
    )
