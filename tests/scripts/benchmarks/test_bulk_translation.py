"""The measurement of bulk translation, on few lines."""

from scripts.benchmarks.bulk_translation import __main__ as bulk_translation


def test_lines_are_those_of_the_grammar(tmp_path):
    path = tmp_path / "lines.txt"
    bulk_translation._write_lines(path, 500)
    lines = path.read_text("utf-8").splitlines()
    assert len(lines) == 500
    assert all(lines)
    bulk_translation._write_lines(tmp_path / "again.txt", 500)
    assert (tmp_path / "again.txt").read_text("utf-8") == path.read_text(
        "utf-8"
    )
