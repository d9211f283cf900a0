import json

import pytest

PAIRS = [
    ("one two", "two one"),
    ("one two", "five"),
    ("", ""),
    ("three", "one Zed"),
]


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS))
    return path


@pytest.fixture
def score(run, pairs, succeed):
    """What `score` prints for the pairs, and what it warns of."""

    def call(*options, input=pairs):
        said = succeed("score", "--run", run, "--input", input, *options)
        # A slow machine is told how far it is, too.
        lines = said.err.splitlines()
        warnings = [line for line in lines if not line.startswith("scoring:")]
        return said.out.splitlines(), "\n".join(warnings)

    return call


def test_a_line_a_pair(score):
    rows = [line.split("\t") for line in score()[0]]
    assert [int(row[2]) for row in rows] == [3, 2, 0, 3]
    for total, mean, count in rows:
        if int(count):
            assert float(total) < 0
            assert float(mean) * int(count) == pytest.approx(
                float(total), abs=1e-3
            )
    assert [float(number) for number in rows[2]] == [0, 0, 0]
    keys = json.loads(score("--json")[0][0]).keys()
    assert not {"tokens", "token_log_probabilities"} & keys


def test_pairs_of_as_many_sentences_are_scored_one_by_one(score, tmp_path):
    path = tmp_path / "several.tsv"
    path.write_text("One. Two.\tTwo. One.\nOne.\tTwo.\nTwo.\tOne.\n")
    both, first, second = (
        float(line.split("\t")[0]) for line in score(input=path)[0]
    )
    assert both == pytest.approx(first + second, abs=1e-3)
    whole = float(score("--sentences=keep", input=path)[0][0].split("\t")[0])
    assert whole != pytest.approx(both, abs=1e-3)


def test_tokens_add_up(score):
    lines, _ = score("--json", "--token-scores")
    values = [json.loads(line) for line in lines]
    assert [(v["source"], v["target"]) for v in values] == PAIRS
    assert values[0]["tokens"] == ["two", "one", "</s>"]
    assert values[3]["tokens"] == ["one", "<unk>", "</s>"]
    for value in values:
        assert sum(value["token_log_probabilities"]) == pytest.approx(
            value["log_probability"], rel=1e-4
        )
    columns = [line.split("\t")[3] for line in score("--token-scores")[0]]
    assert columns[0].split()[1].startswith("one:-")
    assert columns[2] == ""


def test_what_is_too_long_is_reported(score, tmp_path):
    path = tmp_path / "long.tsv"
    long = "one " * 30
    path.write_text(f"one\ttwo\n{long}\ttwo\none\t{long}\n")
    lines, said = score("--json", input=path)
    truncated = [json.loads(line)["truncated"] for line in lines]
    assert truncated == [False, True, True]
    assert "2 truncated pairs (number 2, 3): more tokens" in said


def test_the_export_scores_like_the_run(export, pairs, score, succeed, refuses):
    expected, _ = score("--json")
    command = ["score", "--saved-model", export, "--input", pairs]
    lines = succeed(*command, "--json").out.splitlines()
    for line, other in zip(lines, expected, strict=True):
        value, other = json.loads(line), json.loads(other)
        assert value["length"] == other["length"]
        assert value["score"] == pytest.approx(other["score"], rel=1e-4)
        assert value["truncated"] == other["truncated"]
    for option in ("--token-scores", "--beam-size=2", "--set=decoding.top_k=1"):
        refuses(*command, option, says=[option.split("=")[0]])
