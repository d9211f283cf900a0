"""The corpus that is measured: which one, and how Tatoeba is split."""

from scripts.benchmarks import corpus


def test_sentences_are_spread_over_the_lengths(tmp_path):
    lines = [f"{'a ' * n}.\tx\n" for n in range(1, 21)]
    (tmp_path / "dev.tsv").write_text("".join(lines))
    lengths = [
        len(text.split()) for text in corpus.source_sentences(None, 5, tmp_path)
    ]
    assert lengths == [2, 6, 10, 14, 18]
