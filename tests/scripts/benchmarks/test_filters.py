"""What filters find of dirt, with a corpus that measures nothing."""

import random

from keras_transformer.cli.main import main
from scripts.benchmarks import steps
from scripts.benchmarks.filters import __main__ as filters
from scripts.benchmarks.filters.dirt import KINDS


def test_each_kind_of_dirt_and_the_corpus_have_a_row(
    tmp_path, capsys, monkeypatch
):
    # In this process; without `language`, which needs the extra [filters].
    monkeypatch.setattr(steps, "run", lambda words: main([*map(str, words)]))
    names = "script", "copies", "numbers", "alignment"
    monkeypatch.setattr(filters, "FILTERS", names)
    generator = random.Random(1)
    lines = []
    for n in range(200):
        words = [generator.choice("abcdefgh") * 3 for _ in range(6)]
        target = " ".join(f"{word}o" for word in reversed(words))
        lines.append(f"{' '.join(words)} {n}\t{target} {n}\n")
    (tmp_path / "train.tsv").write_text("".join(lines))
    third = "".join(lines).replace("o", "i")
    (tmp_path / "other.tsv").write_text(third)
    files = [f"--{name}={tmp_path}/{name}.tsv" for name in ("train", "other")]
    words = ["--source-language=en", "--target-language=da"]
    assert filters.main([*files, *words, f"--out={tmp_path}/out"]) == 0
    header, _, *rows = capsys.readouterr().out.splitlines()[-9:]
    assert header == f"| pairs | number | {' | '.join(names)} | all |"
    kinds = [row.strip("| ").split(" | ")[0] for row in rows]
    assert kinds == [*KINDS, "as it came", "precision"]
