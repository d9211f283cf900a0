"""The corpus that is measured: which one, and how Tatoeba is split."""

from scripts.benchmarks import corpus


def test_sentences_are_spread_over_the_lengths(tmp_path):
    lines = [f"{'a ' * n}.\tx\n" for n in range(1, 21)]
    (tmp_path / "dev.tsv").write_text("".join(lines))
    lengths = [
        len(text.split()) for text in corpus.source_sentences(None, 5, tmp_path)
    ]
    assert lengths == [2, 6, 10, 14, 18]


def test_tatoeba_is_split_by_groups_with_its_attributions(
    tmp_path, monkeypatch
):
    from scripts.tools import download_corpus

    lines = [f"word {n // 2}\t字 {n}\t#{n}\n" for n in range(100)]

    def fetch(arguments):
        assert arguments[:3] == ["tatoeba", "--pair", "en-zh"]
        assert arguments[-2:] == ["--sha256", "00"]
        out = tmp_path / "all.tsv"
        assert arguments[4] == str(out)
        out.write_text("".join(lines), encoding="utf-8")
        return 0

    monkeypatch.setattr(corpus, "FETCHED", tmp_path)
    monkeypatch.setattr(download_corpus, "main", fetch)
    assert corpus.main(["--sha256", "00"]) == 0
    train, dev = (
        (tmp_path / name).read_text(encoding="utf-8").splitlines(True)
        for name in ("train.tsv", "dev.tsv")
    )
    assert sorted(train + dev) == sorted(lines)
    assert len(dev) == 4
    sources = [{line.split("\t")[0] for line in part} for part in (train, dev)]
    assert not sources[0] & sources[1]
