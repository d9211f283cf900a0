"""The README's lines of Python, as written, on pairs of the built-in corpus."""

import pathlib
import re

import pytest

from keras_transformer.data.demo import load_demo_corpus

README = pathlib.Path(__file__).resolve().parents[2] / "README.md"


@pytest.mark.slow
def test_the_lines_of_the_readme_run(tmp_path, monkeypatch, capsys):
    (lines,) = re.findall(
        r"```py\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL
    )
    corpus = load_demo_corpus(train_size=3000)
    for name, pairs in corpus._asdict().items():
        text = "".join(f"{source}\t{target}\n" for source, target in pairs)
        (tmp_path / f"{name}.tsv").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    # The training alone is shorter than it should be.
    lines = lines.replace("epochs=20", "epochs=1")
    exec(compile(lines, str(README), "exec"), {})
    said = capsys.readouterr().out
    assert "Epoch 1/1" in said and "val_cross_entropy" in said
    one, many, bleu, again = said.splitlines()[-4:]
    assert one == again
    assert [len(texts) for texts in eval(many)] == [3, 3]
    assert 0 <= float(bleu) <= 100
