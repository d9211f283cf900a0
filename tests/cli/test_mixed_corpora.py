import json

from tests.cli.conftest import DATA_OPTIONS


def write(folder, name, word, count):
    lines = [f"{word} {n} .\t{word} {n} !\n" for n in range(count)]
    path = folder / name
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_train_is_repeated_with_weights_and_tags(tmp_path, succeed):
    real = write(tmp_path, "real.tsv", "a", 100)
    odd = write(tmp_path, "odd*2", "b", 50)
    made = write(tmp_path, "made.tsv", "c", 300)
    out = tmp_path / "out"
    files = ["--train", f"{real}*2", odd, "--train", f"{made}*0.5#BT"]
    said = succeed("prepare", *files, "--out", out, *DATA_OPTIONS).out
    assert "real.tsv: 100 read, 100 left, times 2 are 200 in an epoch" in said
    assert "odd*2: 50 read, 50 left, times 1 are 50 in an epoch" in said
    assert "<BT> made.tsv: 300 read, 300 left, times 0.5 are" in said
    described = json.loads(succeed("info", out, "--json").out)
    corpora = described["report"]["corpora"]
    assert [corpus["weight"] for corpus in corpora] == [2, 1, 0.5]
    assert 120 < corpora[2]["trained"] < 180
