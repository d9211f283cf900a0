"""The table of training, as docs/performance.md has it."""

import statistics

from scripts.benchmarks import page_parts

SCRIPT = "scripts/benchmarks/training"
_COLUMNS = (
    *("precision", "tokens/s (spread)", "to OpenNMT-tf", "of the matrix rate"),
    *("peak memory, MiB", "to OpenNMT-tf", "dev loss after an epoch"),
)


def page(report: dict) -> str:
    """The table and the sentence on what was measured.

    Args:
        report: what the benchmark prints with `--json` on TensorFlow; without
            `--peer` the columns that compare are empty.
    """
    parts = [
        f"Measured with {page_parts.said(report['environment'])}; "
        f"{report['rounds']} rounds in turn, medians.",
        page_parts.table(
            _COLUMNS, [_row(row, report) for row in report["settings"]]
        ),
    ]
    if peers := report.get("peers"):
        rates = [f"{one['tokens_per_second']:,.0f}" for one in peers]
        parts.append(f"OpenNMT-tf, every round: {' / '.join(rates)} tokens/s.")
    if "quick" in report:
        parts.insert(0, f"**Not to be quoted: {report['quick']}.**")
    return "\n\n".join(parts)


def _row(row, report):
    rate, memory = row["tokens_per_second"], row["peak_memory_mib"]
    share = ""
    if row["precision"] == "float32":
        share = f"{row['gflops'] / report['matrix_gflops']['float32']:.1%}"
    epoch = row.get("epoch")
    return (
        row["precision"],
        f"{rate:,.0f} ({row['slowest']:,.0f} to {row['fastest']:,.0f})",
        _to_peer(rate, "tokens_per_second", report),
        share,
        f"{memory:,.0f}",
        _to_peer(memory, "peer_memory_mib", report),
        f"{epoch['dev_loss']:.3f}" if epoch else "",
    )


def _to_peer(value, name, report):
    peers = report.get("peers")
    if not peers:
        return ""
    return f"{value / statistics.median(one[name] for one in peers):.2f}"
