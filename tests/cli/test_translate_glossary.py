"""`translate --glossary`, and the same in Python: terms in whatever translates.

The model has random weights: what counts is that it is asked the same as with
terms that are annotated by hand, and that results are of their lines.
"""

import json

import pytest

import keras_transformer as kt
from tests.cli.conftest import call
from tests.serving.asking import ask, host
from tests.toy_runs import WORD_DATA, untrained_run

TERMS = "cell\tzelle\nthe cat\tkatze\nCalc\t\n"
LINES = ["a cell", "the cat saw a <b>cell</b> in Calc.", "no term", ""]
BY_HAND = [
    "a ⟨t⟩cell⟨=⟩zelle⟨/t⟩",
    "⟨t⟩the cat⟨=⟩katze⟨/t⟩ saw a <b>⟨t⟩cell⟨=⟩zelle⟨/t⟩</b> in "
    "⟨t⟩Calc⟨=⟩Calc⟨/t⟩.",
    "no term",
    "",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of `run`, `plain`, one without terms, and a glossary."""
    folder = tmp_path_factory.mktemp("glossary")
    words = "a the cat dog cell saw in no term zelle katze Calc".split()
    lines = []
    for n in range(120):
        source, target = (
            f"{words[n % a]} {words[n % b]} {n}" for a, b in ((12, 7), (11, 5))
        )
        lines.append(f"{source}\t{target}\n")
    (folder / "train.tsv").write_text("".join(lines))
    (folder / "terms.tsv").write_text(TERMS)
    (folder / "lines.txt").write_text("".join(f"{line}\n" for line in LINES))
    options = {"markup": "symbols", "term_share": 0.3}
    options["terms"] = folder / "terms.tsv"
    for name, values in (("run", options), ("plain", {})):
        kt.prepare(
            *(folder / "train.tsv", folder / f"{name}-data"),
            dev=0.1,
            **WORD_DATA,
            **values,
        )
        untrained_run(folder / name, folder / f"{name}-data")
    return folder


@pytest.fixture(scope="module")
def expected(folder):
    """Translations of what is annotated by hand, of which two differ."""
    run = kt.load(folder / "run")
    by_hand, without = run.translate(BY_HAND), run.translate(LINES)
    assert by_hand[:2] != without[:2]
    assert by_hand[2:] == without[2:]
    return by_hand


def test_run(folder, expected, succeed):
    model = ["--run", folder / "run", "--glossary", folder / "terms.tsv"]
    lines, out = ["--input", folder / "lines.txt"], folder / "out.txt"
    said = succeed("translate", *model, *lines).out
    assert said.splitlines() == expected
    call("translate-shards", *model, *lines, "--shards=2", "--output", out)
    assert out.read_text().splitlines() == expected
    found = json.loads(succeed("translate", *model, "--json", "a cell").out)
    assert found["source"] == "a cell"


def test_python(folder, expected):
    terms = {"cell": "zelle", "the cat": "katze", "Calc": ""}
    run = kt.load(folder / "run")
    for glossary in (terms, [*terms.items()], folder / "terms.tsv"):
        assert run.translate(LINES, glossary=glossary) == expected
    assert run.translate(LINES[0], glossary=terms) == expected[0]
    (result,) = run.translate(LINES[:1], details=True, glossary=terms)
    assert result.source == LINES[0]


@pytest.mark.medium
def test_document(folder, expected):
    text = "".join(f"{line}\t1\n" for line in ["text", *LINES[:3]])
    (folder / "in.tsv").write_text(text)
    kt.translate_file(
        *(folder / "run", folder / "in.tsv", folder / "out.tsv"),
        field="text",
        glossary=folder / "terms.tsv",
    )
    lines = (folder / "out.tsv").read_text().splitlines()
    column = [line.split("\t")[0] for line in lines]
    assert column == ["text", *expected[:3]]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--run=plain --glossary=terms.tsv", ["wasn't trained with terms"]),
        ("--run=run --glossary=none.tsv", ["none.tsv"]),
        ("--run=run --glossary=lines.txt", ["lines.txt, line 1: ", "tab"]),
        (
            "--run=run --glossary=terms.tsv --prefix=lines.txt",
            ["--glossary doesn't go with --prefix"],
        ),
    ],
)
def test_refused_in_a_line(folder, monkeypatch, refuses, options, says):
    monkeypatch.chdir(folder)
    refuses("translate", *options.split(), "a cell", says=says)


@pytest.mark.slow
def test_exports_and_servers(folder, tmp_path, serve):
    from keras_transformer.serving.server.config_files import ModelConfig

    glossary = folder / "terms.tsv"
    report = kt.export(folder / "run", tmp_path / "models" / "m")
    export = kt.load(report.path)
    expected = export.translate(BY_HAND)
    assert export.translate(LINES, glossary=glossary) == expected
    server = serve(models=(ModelConfig("m", report.path.parent),))
    address = f"http://127.0.0.1:{server.rest_port}/v1/models/m"
    served = kt.load(address)
    assert served.translate(LINES, glossary=glossary) == expected
    pairs = [line.split("\t") for line in TERMS.splitlines()]
    body = json.dumps({"instances": LINES[:3], "glossary": pairs}).encode()
    answer = ask(host(server), "/v1/models/m:predict", body)
    rows = json.loads(answer.body)["predictions"]
    assert [row["translation"] for row in rows] == expected[:3]


@pytest.mark.slow
def test_ctranslate2(folder, tmp_path):
    pytest.importorskip("ctranslate2")
    report = kt.export(folder / "run", tmp_path / "c", format="ctranslate2")
    model = kt.load(report.path)
    found = model.translate(LINES[:1], glossary=folder / "terms.tsv")
    assert found == model.translate(BY_HAND[:1])
    assert found != model.translate(LINES[:1])
