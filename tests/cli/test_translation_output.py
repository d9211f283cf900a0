"""What `translate` gives beside the text, and the search's options."""

import json

import pytest

from keras_transformer.cli.translation_output import format_translation
from keras_transformer.translation.request import (
    Hypothesis,
    Translation,
    TranslationRequest,
)
from tests.cli.conftest import call

LINES = ["one two", "", "three four five zero", "two one"]


@pytest.fixture
def source(write):
    return write("in.txt", LINES)


@pytest.fixture
def translate(run, source, succeed):
    """What `translate` prints for the lines, and what it warns of."""

    def call(*options, input=source):
        said = succeed("translate", "--run", run, "--input", input, *options)
        return said.out.splitlines(), said.err

    return call


def test_a_translation_is_one_line():
    """Else all lines that follow would be another source's."""
    hypothesis = Hypothesis("a\nb\r\nc", -1.0, -3.0, True, ["a"], [-3.0])
    translation = Translation("x", [hypothesis])
    for options, line in (
        ({}, "a b c\n"),
        ({"scores": True}, "a b c\t-1.0000\n"),
        ({"n_best": 1, "scores": True}, "7\ta b c\t-1.0000\n"),
    ):
        request = TranslationRequest(**options)
        assert format_translation(translation, request, 7) == line
    request = TranslationRequest(json=True)
    line = format_translation(translation, request, 7)
    assert line.count("\n") == 1
    (best,) = json.loads(line)["translations"]
    assert best["text"] == "a\nb\r\nc"
    assert set(best) == {"text", "score", "log_probability", "finished"}


def test_json_says_how_many_sentences_there_are(succeed, run, export):
    # The export was made to keep texts whole.
    for model, expected in (
        (("--run", run), 2),
        (("--saved-model", export), 1),
    ):
        out = succeed("translate", *model, "--json", "One. Two.", "one").out
        found = [json.loads(line)["sentences"] for line in out.splitlines()]
        assert found == [expected, 1]


def parsed(lines):
    return [json.loads(line) for line in lines]


@pytest.mark.medium
def test_json_and_columns_say_the_same(translate):
    details = ["--n-best=3", "--token-scores", "--alignment"]
    values = parsed(translate("--json", *details)[0])
    lines, _ = translate("--scores", *details)
    rows = iter([line.split("\t") for line in lines])
    best, _ = translate()
    assert [value["source"] for value in values] == LINES
    for number, value in enumerate(values, 1):
        assert value["truncated"] is False
        words = value["source"].split()
        if words:
            assert value["source_tokens"] == ["", *words, ""]
        assert len(value["translations"]) == (3 if words else 1)
        assert value["translations"][0]["text"] == best[number - 1]
        for one in value["translations"]:
            begin, text, score, tokens, links = next(rows)
            assert (int(begin), text) == (number, one["text"])
            assert score == f"{one['score']:.4f}"
            check_tokens(tokens, one)
            check_links(links, one, words)
    assert next(rows, None) is None


def check_tokens(column, translation):
    """Tokens and their log-probabilities, which add up."""
    values = translation["token_log_probabilities"]
    total = pytest.approx(translation["log_probability"], rel=1e-4)
    assert sum(values) == total
    pairs = [pair.rpartition(":") for pair in column.split()]
    assert [token for token, _, _ in pairs] == translation["tokens"]
    assert len(values) == len(pairs)
    assert all(float(number) < 0 for _, _, number in pairs)


def check_links(column, translation, words):
    """Shares of the source's tokens, and a link of each target token."""
    for shares in translation["alignment"]:
        assert len(shares) == len(words) + 2
        assert sum(shares) == pytest.approx(1, abs=1e-4)
    links = [link.split("-") for link in column.split()]
    ended = bool(translation["finished"] and words)
    count = len(translation["tokens"]) - ended
    assert [int(target) for _, target in links] == list(range(count))
    assert all(0 <= int(place) < len(words) for place, _ in links)


def test_another_number_of_prefixes(run, source, write, refuses):
    command = ["translate", "--run", run, "--input", source]
    for text, where in (("five\n", "no line 2"), ("\n" * 5, "no line 5")):
        prefixes = write("prefixes.txt", text)
        refuses(*command, "--prefix", prefixes, says=["prefixes.txt", where])


@pytest.mark.medium
def test_a_line_that_is_too_long_is_reported(translate, write):
    path = write("long.txt", ["one", "two " * 30, "three"])
    lines, said = translate("--json", "--sentences=keep", input=path)
    (warning,) = [line for line in said.splitlines() if "warning" in line]
    assert "long.txt: 1 truncated lines (number 2): more" in warning
    assert [v["truncated"] for v in parsed(lines)] == [False, True, False]


@pytest.mark.medium
def test_the_search_takes_every_key_and_options_outdo_them(translate):
    keys = ["banned_tokens=[two, one]", "max_length=3", "beam_size=1"]
    options = [f"--set=decoding.{key}" for key in keys]
    options += ["--beam-size=3", "--n-best=3"]
    found = parsed(translate("--json", *options)[0])
    hypotheses = [one for value in found for one in value["translations"]]
    assert len(hypotheses) == 10
    for one in hypotheses:
        words = one["text"].split()
        assert len(words) <= 3
        assert not {"one", "two"} & set(words)


@pytest.mark.slow
def test_a_run_and_its_export_replace_unknown_words(
    run, translate, write, tmp_path, succeed
):
    path, out = write("unknown.txt", "Zed one Zed two\n"), tmp_path / "export"
    keys = (
        *("banned_tokens=[zero, one, two, three, four, five]", "min_length=2"),
        "replace_unknown=true",
    )
    options = [f"--set=decoding.{key}" for key in keys]
    expected, _ = translate(*options, input=path)
    assert set(expected[0].split()) <= {"Zed", "one", "two"}
    call("export", "--run", run, "--out", out, *options)
    found = succeed("translate", "--saved-model", out, "--input", path).out
    assert found.splitlines() == expected
