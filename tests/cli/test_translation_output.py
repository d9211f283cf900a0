"""What `translate` gives beside the text, and the search's options."""

import json

import pytest

from keras_transformer.cli.main import main
from keras_transformer.cli.translation_output import format_translation
from keras_transformer.translation.request import (
    Hypothesis,
    Translation,
    TranslationRequest,
)

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


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({}, "a b c\n"),
        ({"n_best": 1, "scores": True}, "7\ta b c\t-1.0000\n"),
    ],
)
def test_a_translation_is_one_line(options, line):
    """Else all lines that follow would be another source's."""
    translation = Translation("x", [Hypothesis("a\nb\r\nc", -1.0)])
    request = TranslationRequest(**options)
    assert format_translation(translation, request, 7) == line


def test_json_says_how_many_sentences_there_are(succeed, run, export):
    for model in (["--run", run], ["--saved-model", export]):
        for text, count in (("One. Two.", 2), ("one", 1)):
            out = succeed("translate", *model, "--json", text).out
            if model[0] == "--saved-model":
                count = 1  # It was exported to keep texts whole.
            assert json.loads(out)["sentences"] == count


def test_json_keeps_line_ends():
    translation = Translation("x", [Hypothesis("a\nb", -1.0)])
    line = format_translation(translation, TranslationRequest(json=True), 1)
    assert line.count("\n") == 1
    assert json.loads(line)["translations"][0]["text"] == "a\nb"


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


def test_prefixes_begin_the_translations(translate, tmp_path):
    prefixes = tmp_path / "prefixes.txt"
    prefixes.write_text("five\n\n\nzero five\n")
    found, _ = translate("--prefix", prefixes)
    assert found[0].startswith("five")
    assert found[3].startswith("zero five")
    assert found[1:3] == translate()[0][1:3]


@pytest.mark.parametrize(
    ("text", "where"),
    [("five\n", "no line 2"), ("\n" * 5, "no line 5")],
    ids=["fewer", "more"],
)
def test_another_number_of_prefixes(
    run, source, tmp_path, refuses, text, where
):
    prefixes = tmp_path / "prefixes.txt"
    prefixes.write_text(text)
    command = ["translate", "--run", run, "--input", source]
    refuses(*command, "--prefix", prefixes, says=["prefixes.txt", where])


@pytest.mark.parametrize("option", ["--scores", "--json"])
def test_a_line_that_is_too_long_is_reported(translate, tmp_path, option):
    path = tmp_path / "long.txt"
    path.write_text("one\n" + "two " * 30 + "\nthree\n")
    lines, said = translate(option, "--sentences=keep", input=path)
    warnings = [line for line in said.splitlines() if "warning" in line]
    assert len(lines) == 3
    assert len(warnings) == 1
    assert "long.txt: 1 truncated lines (number 2): more" in warnings[0]
    if option == "--json":
        assert [v["truncated"] for v in parsed(lines)] == [False, True, False]


def test_the_search_takes_every_key(translate):
    options = ["banned_tokens=[two, one]", "max_length=3", "beam_size=2"]
    found = parsed(
        translate(
            "--json", *(f"--set=decoding.{option}" for option in options)
        )[0]
    )
    for value in found:
        words = value["translations"][0]["text"].split()
        assert len(words) <= 3
        assert not {"one", "two"} & set(words)


@pytest.fixture
def unknown(tmp_path):
    """Lines, and a search that finds only unknown words for them."""
    path = tmp_path / "unknown.txt"
    path.write_text("Zed one Zed two\n")
    banned = "banned_tokens=[zero, one, two, three, four, five]"
    return path, [
        "--set",
        f"decoding.{banned}",
        "--set",
        "decoding.min_length=2",
    ]


def test_unknown_words_are_replaced(translate, unknown):
    path, options = unknown
    plain, _ = translate(*options, input=path)
    assert set(plain[0].split()) == {"⁇"}
    replaced, _ = translate(
        *options, "--set=decoding.replace_unknown=true", input=path
    )
    words = replaced[0].split()
    assert len(words) == len(plain[0].split())
    assert set(words) <= {"Zed", "one", "two"}


@pytest.mark.slow
def test_an_export_replaces_unknown_words(
    run, unknown, translate, tmp_path, capsys
):
    path, options = unknown
    options = [*options, "--set=decoding.replace_unknown=true"]
    expected, _ = translate(*options, input=path)
    out = tmp_path / "export"
    command = ["export", "--run", str(run), "--out", str(out)]
    assert main([*command, *options]) == 0
    capsys.readouterr()
    command = ["translate", "--saved-model", str(out), "--input", str(path)]
    assert main(command) == 0
    assert capsys.readouterr().out.splitlines() == expected


def test_options_outdo_keys(translate):
    both = translate(
        "--set=decoding.beam_size=1", "--beam-size=3", "--n-best=3"
    )
    assert len(both[0]) == 10


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--set=decoding.beem_size=2"], ["--set", "decoding.beam_size?"]),
        (["--set=decoding.banned_tokens=[nine]"], ["banned_tokens", "'nine'"]),
        (["--n-best=5"], ["--n-best", "1 to 4", "5"]),
        (
            ["--n-best=2", "--set=decoding.sampling=true"],
            ["--n-best", "sampling"],
        ),
        (["--prefix=no.txt"], ["no.txt", "No such file"]),
    ],
    ids=lambda value: " ".join(value) if value[0].startswith("--") else "",
)
def test_bad_options(run, source, refuses, options, says):
    command = ["translate", "--run", run, "--input", source]
    refuses(*command, *options, says=says)


@pytest.mark.parametrize(
    "options",
    [
        ["--set=decoding.top_k=3"],
        ["--alignment"],
        ["--token-scores"],
        ["--n-best=2", "--beam-size=1"],
        ["--n-best=9"],
        ["--ensemble=other"],
        ["--shortlist=pairs.tsv"],
    ],
    ids=lambda options: " ".join(options),
)
def test_what_an_export_does_not_give(export, source, refuses, options):
    command = ["translate", "--saved-model", export, "--input", source]
    refuses(*command, *options, says=[options[-1].split("=")[0].lstrip("-")])
