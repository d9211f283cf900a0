"""Every picture in one command, from the toy corpus and its run."""

import os
from xml.etree import ElementTree

import pytest

pytest.importorskip("matplotlib", reason="needs the extra [plots]")

TEXT = "one two three"


@pytest.fixture
def plot(tmp_path, succeed):
    """Draws an SVG; returns the set of what is written on it."""

    def call(kind, *options):
        out = tmp_path / f"{kind}.svg"
        said = succeed("plot", kind, *options, "--out", out)
        assert said.out == f"{out}\n"
        root = ElementTree.fromstring(out.read_text(encoding="utf-8"))
        return {(element.text or "").strip() for element in root.iter()}

    return call


def test_pictures_of_a_run(plot, run):
    assert "Epoch" in plot("training-curves", "--run", run)
    assert run.name in plot("runs-compared", "--run", run)
    # Folders of the same name are told apart by their paths.
    assert str(run) in plot("runs-compared", "--run", run, run)


@pytest.mark.medium
def test_pictures_of_a_sentence(plot, run):
    options = ["--run", run, "--text", TEXT]
    source = {"<s>", "one", "two", "three", "</s>"}
    assert source <= plot("attention-encoder", *options, "--layer", 1)
    given = plot("attention-cross", *options, "--translation", "five four")
    assert source | {"five", "four", "Query: token being written"} <= given
    given = plot("attention-decoder", *options, "--translation", "five four")
    assert {"<s>", "five", "four"} <= given
    assert "</s>" not in given
    words = plot("beam-tree", *options, "--beam-size", 2)
    assert {"<s>", "best translation"} <= words


def test_pictures_of_a_corpus(plot, data):
    words = plot("lengths", "--data", data, "--language", "zh")
    assert {"句对数", "长度（词元数）"} <= words


def test_a_png_where_none_is_named_an_svg(data, tmp_path, monkeypatch, succeed):
    monkeypatch.chdir(tmp_path)
    command = ["plot", "lengths", "--data", data]
    assert succeed(*command).out == "lengths.svg\n"
    said = succeed(*command, "--out", "new/lengths.png").out
    assert said == "new/lengths.png\n"
    content = (tmp_path / "new" / "lengths.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert (tmp_path / "lengths.svg").is_file()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("lengths", ["lengths needs --data"]),
        ("attention-cross --run r", ["--run and --text", "--text"]),
        ("lengths --data d --text a", ["--text doesn't go"]),
        ("beam-tree --run a b --text a", ["a single run", "a b"]),
        ("lengths --data d --out x.pdf", ["x.pdf", ".svg or .png"]),
        ("training-curves --run nothing", ["nothing", "not a run"]),
        ("lengths --data nothing", ["nothing", "is no folder"]),
    ],
)
def test_bad_usage_is_one_line(refuses, options, says):
    refuses("plot", *options.split(), says=says)


def test_text_that_is_no_utf8(refuses):
    text = os.fsdecode(b"caf\xe9")
    for option, words in (
        ("--text", ["--text", text]),
        ("--translation", ["--text", "a", "--translation", text]),
    ):
        says = [f"{option}: not UTF-8", r"caf\udce9"]
        refuses("plot", "attention-cross", "--run", "r", *words, says=says)


def test_bad_values_with_a_run_are_one_line(refuses, run, tmp_path):
    options = ["--run", run, "--out", tmp_path / "x.svg", "--text"]
    for text in (" ", "\u2800"):
        refuses("plot", "beam-tree", *options, text, says=["text is blank"])
    unseen = ["no character that is seen", "u200b"]
    for kind in ("beam-tree", "attention-cross"):
        refuses("plot", kind, *options, "\u200b\u00ad", says=unseen)
    layer = ["attention-cross", *options, TEXT, "--layer=7"]
    refuses("plot", *layer, says=["layer must be 1 to 1", "7"])
    beam = ["beam-tree", *options, TEXT, "--beam-size=0"]
    refuses("plot", *beam, says=["decoding.beam_size", "0"])
    assert list(tmp_path.iterdir()) == []


def test_without_matplotlib_it_tells_what_to_install(refuses, not_installed):
    not_installed("matplotlib")
    refuses("plot", "lengths", "--data", "d", says=["'.[plots]'"])
