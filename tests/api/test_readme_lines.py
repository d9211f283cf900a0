"""The README's lines of Python, as written, on made and on real pairs."""

import ast
import gzip
import pathlib
import re

import pytest

from keras_transformer.data.demo import load_demo_corpus
from tests.conftest import TATOEBA
from tests.kernels import executed, output_of

LIBREOFFICE = TATOEBA.parent / "libreoffice" / "en-de"
README = pathlib.Path(__file__).resolve().parents[2] / "README.md"


@pytest.fixture(params=["built-in", "libreoffice"])
def corpora(request):
    """The text of each file that the lines read, by its name."""
    if request.param == "built-in":
        corpus = load_demo_corpus(1000, 200, 200)._asdict().items()
        return {
            # Words are what isn't translated there.
            name: "".join(f"{source}\tDas {source}\n" for source, _ in pairs)
            for name, pairs in corpus
        }
    if not LIBREOFFICE.is_dir():
        pytest.skip("needs LibreOffice's pairs beside the checkout")
    dev, train = (
        gzip.decompress((LIBREOFFICE / f"{name}.tsv.gz").read_bytes())
        .decode()
        .splitlines(keepends=True)
        for name in ("dev", "train")
    )
    parts = {"train": train[:1000], "dev": dev[:200], "test": train[-200:]}
    return {name: "".join(lines) for name, lines in parts.items()}


@pytest.fixture
def lines(corpora, tmp_path):
    """The lines; what they read lies in the folder."""
    (lines,) = re.findall(
        r"```py\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL
    )
    for name, text in corpora.items():
        (tmp_path / f"{name}.tsv").write_text(text, encoding="utf-8")
    # The training alone is shorter than it should be.
    return lines.replace("epochs=20", "epochs=2")


def check(said):
    """What they print: progress, and the same translation of run and export."""
    assert "Epoch 2/2" in said
    assert "val_cross_entropy" in said
    assert "INFO:" not in said
    one, many, bleu, again = said.splitlines()[-4:]
    assert one == again
    assert [len(texts) for texts in eval(many)] == [3, 3]
    assert 0 <= float(bleu) <= 100


@pytest.mark.slow
def test_the_lines_of_the_readme_run(lines, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    exec(compile(lines, str(README), "exec"), {})
    check(capsys.readouterr().out)


@pytest.mark.slow
def test_the_lines_of_the_readme_run_in_a_notebook(lines, tmp_path):
    v4 = pytest.importorskip("nbformat.v4", reason="needs the extra [docs]")
    cells = [v4.new_code_cell(part) for part in cells_of(lines)]
    notebook = executed(v4.new_notebook(cells=cells), tmp_path, 600)
    check("".join(output_of(cell) or "" for cell in notebook["cells"]))


def cells_of(lines):
    """A cell for each statement."""
    statements = ast.parse(lines).body
    return [ast.get_source_segment(lines, each) for each in statements]
