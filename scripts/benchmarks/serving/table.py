"""The table of the server under load, as docs/performance.md has it."""

from scripts.benchmarks import page_parts

SCRIPT = "scripts/benchmarks/serving"
_COLUMNS = (
    *("way", "sentences/s (spread)", "to the translator"),
    *("p50 / p95 / p99, ms", "sentences in a batch"),
)


def page(report: dict) -> str:
    """The table and the sentences on what was measured.

    Args:
        report: what the benchmark prints with `--json`.
    """
    options = report["options"]
    rows = {
        f"`translate`, batches of {options['batch_size']}": report[
            "translator"
        ],
        **report["settings"],
        "without batching": report["unbatched"],
    }
    whole = report["translator"]["sentences_per_second"]
    parts = [
        f"Measured with {page_parts.said(report['environment'])}; "
        f"{options['clients']} clients, {options['rounds']} rounds in turn, "
        "medians.",
        page_parts.table(
            _COLUMNS, [_row(name, row, whole) for name, row in rows.items()]
        ),
    ]
    if "overload" in report:
        parts.append(_overload(report["overload"]))
    if "quick" in report:
        parts.insert(0, f"**Not to be quoted: {report['quick']}.**")
    return "\n\n".join(parts)


def _row(name, row, whole):
    rate = row["sentences_per_second"]
    times, size = "", ""
    if "p50_ms" in row:
        times = " / ".join(f"{row[f'p{n}_ms']:.0f}" for n in (50, 95, 99))
        size = f"{row['batch_size']:.1f}"
    spread = f"{rate:.0f} ({row['slowest']:.0f} to {row['fastest']:.0f})"
    return name, spread, f"{rate / whole:.2f}", times, size


def _overload(row):
    """The sentence on twice the load that the server bears."""
    statuses = ", ".join(
        f"{count:,} of status {status}"
        for status, count in row["statuses"].items()
    )
    first, last = row["memory_mib"][0], row["memory_mib"][-1]
    slowest = row["accepted"]["max_ms"]
    took = "none was accepted" if slowest is None else f"{slowest:,.0f} ms"
    return (
        f"At twice the {row['capacity_per_second']:.0f} a second that it "
        f"reaches: {statuses}; lost {row['connection_errors']}, timeouts "
        f"{row['timeouts']}; of another client's accepted requests, "
        f"{row['accepted']['wrong_answers']} answers were wrong, and the "
        f"slowest took {took}. Memory: {first:,.0f} MiB at first, {last:,.0f} "
        "at the end."
    )
