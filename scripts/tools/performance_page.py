#!/usr/bin/env python3
"""Writes two parts of docs/performance.md from what the benchmarks printed.

    scripts/tools/performance_page.py --peer peer.json --growth growth.json \\
        --profile profile.json --write docs/performance.md

`peer.json` is the output of `scripts/benchmarks/decoding --peer --json`,
`growth.json` that of `scripts/benchmarks/decoding --json` over batches, beams
and lengths, `profile.json` that of `profile_decoding.py --json`. The part on
exports alone is made of a shorter measurement:

    scripts/tools/performance_page.py --exports served.json \\
        --write docs/performance.md

`served.json` is the output of `scripts/benchmarks/decoding --peer --json --kind
served`.
"""

import argparse
import json
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from scripts.benchmarks import page_parts

DECODING = "scripts/tools/performance_page.py --peer"
EXPORTS = "scripts/tools/performance_page.py --exports"


def main(arguments: list[str] | None = None) -> int:
    """Writes a part of the page; the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    names = ("peer", "growth", "profile")
    for name in (*names, "exports"):
        parser.add_argument(f"--{name}", metavar="JSON")
    parser.add_argument(
        "--write", type=pathlib.Path, metavar="PAGE", required=True
    )
    options = parser.parse_args(arguments)
    if options.exports:
        page_parts.replace(options.write, EXPORTS, _served(options.exports))
    elif options.peer and options.growth and options.profile:
        reports = [_read(getattr(options, name)) for name in names]
        page_parts.replace(options.write, DECODING, _decoding(*reports))
    else:
        parser.error("--peer, --growth and --profile, or --exports")
    return 0


def _decoding(peer, growth, profile):
    """The part with all ways of decoding."""
    sections = (
        _environment(peer),
        _ratios(peer),
        _settings(peer),
        _growth(growth),
        _lengths(growth),
        _profiles(profile),
    )
    return _below_a_section(sections)


def _served(path):
    """The part with exports alone."""
    report = _read(path)
    sections = _environment(report), _ratios(report), _settings(report)
    return _below_a_section(sections)


def _below_a_section(sections):
    """Sections one level below the page's own heading of the part."""
    text = "\n\n".join(section.strip() for section in sections)
    return text.replace("## ", "### ")


def _read(path):
    """The first JSON object of a file."""
    with pathlib.Path(path).open(encoding="utf-8") as file:
        return json.loads(file.readline())


def _environment(report):
    said = page_parts.said(report["environment"])
    return (
        f"Measured with {said}; {report['sentences']} sentences, "
        f"{report['rounds']} rounds in turn, medians."
    )


def _ratios(report):
    rows = [
        (name, _ratio(values["vs_float32"]), _ratio(values["vs_int8"]))
        for name, values in report["ratios"].items()
    ]
    table = page_parts.table(("cell", "to float32", "to int8"), rows)
    return (
        f"## Ratio to CTranslate2\n\nEach side at its best setting.\n\n{table}"
    )


def _settings(report):
    rows = [_row(row) for row in report["cells"]]
    peers = report["peers"]
    cells = [
        (
            f"CTranslate2 {cell}",
            "",
            " / ".join(str(peer[cell]) for peer in peers),
        )
        for cell in peers[0]
        if "batch 1 beam 4" not in cell
    ]
    return (
        "## All settings\n\n"
        + page_parts.table(_COLUMNS, rows)
        + "\n\nThe peer, every round:\n\n"
        + page_parts.table(("", "", "tokens/s"), cells)
    )


_COLUMNS = (
    "way",
    "batch",
    "beam",
    "length",
    "precision",
    "XLA",
    "workers x threads",
    "tokens/s (spread)",
    "latency p50 / p95, ms",
    "memory, MiB",
    "compiling, s",
)


def _row(row):
    return (
        row["kind"],
        row["batch"],
        row["beam"],
        row["length"],
        row["precision"],
        row["jit"],
        f"{row['workers']} x {row['threads']}",
        f"{row['tokens_per_second']:,} "
        f"({row['slowest']:,} to {row['fastest']:,})",
        f"{row['latency_p50_ms']} / {row['latency_p95_ms']}",
        f"{row['peak_memory_mib']:.0f}",
        row["compile_seconds"] or "",
    )


def _growth(report):
    text = "## Growth with batch, beam and length\n\n"
    if "bleu" in report:
        scores = ", ".join(
            f"{precision} {score:.2f}"
            for precision, score in report["bleu"].items()
        )
        text += f"BLEU of the run's own search: {scores}.\n\n"
    return text + page_parts.table(_COLUMNS, map(_row, report["cells"]))


def _lengths(report):
    """Time per token at each length, over that at the shortest."""
    groups = {}
    for row in report["cells"]:
        names = ("kind", "batch", "beam", "precision", "jit")
        key = tuple(row[name] for name in names)
        groups.setdefault(key, {})[row["length"]] = row["tokens_per_second"]
    lengths = sorted({row["length"] for row in report["cells"]})
    rows = [
        (*key, *(_ratio(rates[lengths[0]] / rates[n]) for n in lengths))
        for key, rates in groups.items()
        if len(rates) == len(lengths)
    ]
    columns = ("way", "batch", "beam", "precision", "XLA", *map(str, lengths))
    return (
        "## Time per token by length\n\nRelative to the shortest.\n\n"
        + page_parts.table(columns, rows)
    )


def _profiles(profiles):
    text = "## Where the time goes\n\nMicroseconds a step, by operation.\n"
    for profile in profiles:
        rows = [
            (row["operation"], f"{row['microseconds']:.0f}", row["calls"])
            for row in profile["operations"]
        ]
        text += (
            f"\n{profile['title']}: {profile['microseconds']:.0f} us a step"
            "\n\n" + page_parts.table(("operation", "us", "calls"), rows) + "\n"
        )
    return text


def _ratio(value):
    return f"{value:.2f}"


if __name__ == "__main__":
    sys.exit(main())
