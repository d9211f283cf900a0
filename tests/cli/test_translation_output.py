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
def source(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{line}\n" for line in LINES))
    return path


@pytest.fixture
def translate(run, source, succeed):
    """What `translate` prints for the lines, and what it warns of."""

    def call(*options, input=source):
        said = succeed("translate", "--run", run, "--input", input, *options)
        return said.out.splitlines(), said.err

    return call


def test_a_translation_is_one_line():
    """Else all lines that follow would be another source's."""
    translation = Translation("x", [Hypothesis("a\nb\r\nc", -1.0)])
    for options, line in (
        ({}, "a b c\n"),
        ({"n_best": 1, "scores": True}, "7\ta b c\t-1.0000\n"),
    ):
        request = TranslationRequest(**options)
        assert format_translation(translation, request, 7) == line
    request = TranslationRequest(json=True)
    line = format_translation(translation, request, 7)
    assert line.count("\n") == 1
    assert json.loads(line)["translations"][0]["text"] == "a\nb\r\nc"


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


def test_json_says_what_the_text_says(translate):
    plain, _ = translate("--scores")
    objects = parsed(translate("--json")[0])
    assert [value["source"] for value in objects] == LINES
    for line, value in zip(plain, objects, strict=True):
        (best,) = value["translations"]
        assert line == f"{best['text']}\t{best['score']:.4f}"
        assert set(best) == {"text", "score", "log_probability", "finished"}
        assert value["truncated"] is False


def test_n_best_lines_begin_with_their_number(translate):
    best, _ = translate()
    rows = [line.split("\t") for line in translate("--n-best=3", "--scores")[0]]
    numbers = [int(row[0]) for row in rows]
    assert numbers == [1, 1, 1, 2, 3, 3, 3, 4, 4, 4]
    firsts = [rows[numbers.index(number)][1] for number in range(1, 5)]
    assert firsts == best
    assert all(len(row) == 3 for row in rows)


def test_token_scores_add_up(translate):
    found = parsed(translate("--json", "--token-scores", "--n-best=2")[0])
    for value in found:
        for translation in value["translations"]:
            values = translation["token_log_probabilities"]
            assert len(values) == len(translation["tokens"])
            assert sum(values) == pytest.approx(
                translation["log_probability"], rel=1e-4
            )
    columns = [line.split("\t")[1] for line in translate("--token-scores")[0]]
    for column, value in zip(columns, found, strict=True):
        pairs = [pair.rpartition(":") for pair in column.split()]
        tokens = value["translations"][0]["tokens"]
        assert [token for token, _, _ in pairs] == tokens
        assert all(float(number) < 0 for _, _, number in pairs)


def test_alignment_links_words(translate):
    found = parsed(translate("--json", "--alignment")[0])
    lines = [line.split("\t") for line in translate("--alignment")[0]]
    for line, value in zip(lines, found, strict=True):
        (best,) = value["translations"]
        words = value["source"].split()
        if words:
            assert value["source_tokens"] == ["", *words, ""]
        for shares in best["alignment"]:
            assert len(shares) == len(words) + 2
            assert sum(shares) == pytest.approx(1, abs=1e-4)
        links = [link.split("-") for link in line[1].split()]
        count = len(best["tokens"]) - bool(best["finished"] and words)
        assert [int(target) for _, target in links] == list(range(count))
        assert all(0 <= int(place) < len(words) for place, _ in links)


def test_another_number_of_prefixes(run, source, tmp_path, refuses):
    prefixes = tmp_path / "prefixes.txt"
    command = ["translate", "--run", run, "--input", source]
    for text, where in (("five\n", "no line 2"), ("\n" * 5, "no line 5")):
        prefixes.write_text(text)
        refuses(*command, "--prefix", prefixes, says=["prefixes.txt", where])


def test_a_line_that_is_too_long_is_reported(translate, tmp_path):
    path = tmp_path / "long.txt"
    path.write_text("one\n" + "two " * 30 + "\nthree\n")
    lines, said = translate("--json", "--sentences=keep", input=path)
    (warning,) = [line for line in said.splitlines() if "warning" in line]
    assert "long.txt: 1 truncated lines (number 2): more" in warning
    assert [v["truncated"] for v in parsed(lines)] == [False, True, False]


def test_the_search_takes_every_key(translate):
    keys = ["banned_tokens=[two, one]", "max_length=3", "beam_size=2"]
    options = [f"--set=decoding.{key}" for key in keys]
    for value in parsed(translate("--json", *options)[0]):
        words = value["translations"][0]["text"].split()
        assert len(words) <= 3
        assert not {"one", "two"} & set(words)


@pytest.mark.slow
def test_a_run_and_its_export_replace_unknown_words(
    run, translate, tmp_path, succeed
):
    path, out = tmp_path / "unknown.txt", tmp_path / "export"
    path.write_text("Zed one Zed two\n")
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


def test_options_outdo_keys(translate):
    both = ["--set=decoding.beam_size=1", "--beam-size=3", "--n-best=3"]
    assert len(translate(*both)[0]) == 10


@pytest.mark.parametrize(
    "options",
    [
        *("--set=decoding.top_k=3", "--alignment", "--token-scores"),
        *("--n-best=2 --beam-size=1", "--n-best=9"),
        *("--ensemble=other", "--shortlist=pairs.tsv"),
    ],
)
def test_what_an_export_does_not_give(export, source, refuses, options):
    options = options.split()
    command = ["translate", "--saved-model", export, "--input", source]
    refuses(*command, *options, says=[options[-1].split("=")[0].lstrip("-")])
