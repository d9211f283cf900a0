import json

import pytest

PAIRS = [
    ("one two", "two one"),
    ("one two", "five"),
    ("", ""),
    ("three", "one Zed"),
    ("One. Two.", "Two. One."),
    ("One.", "Two."),
    ("Two.", "One."),
    ("one " * 30, "two"),
    ("one", "one " * 30),
]


@pytest.fixture
def pairs(write):
    return write("pairs.tsv", [f"{a}\t{b}" for a, b in PAIRS])


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
    rows = [line.split("\t") for line in score("--token-scores")[0]]
    lines, said = score("--json", "--token-scores")
    values = [json.loads(line) for line in lines]
    assert [(v["source"], v["target"]) for v in values] == PAIRS
    assert values[0]["tokens"] == ["two", "one", "</s>"]
    assert values[3]["tokens"] == ["one", "<unk>", "</s>"]
    assert [int(row[2]) for row in rows[:4]] == [3, 2, 0, 3]
    for (total, mean, count, _), value in zip(rows, values, strict=True):
        assert sum(value["token_log_probabilities"]) == pytest.approx(
            value["log_probability"], rel=1e-4
        )
        if int(count):
            assert float(total) < 0
            assert float(mean) * int(count) == pytest.approx(
                float(total), abs=1e-3
            )
    assert [float(number) for number in rows[2][:3]] == [0, 0, 0]
    assert rows[0][3].split()[1].startswith("one:-")
    assert rows[2][3] == ""
    # Pairs of as many sentences are scored one by one.
    both, first, second = (float(row[0]) for row in rows[4:7])
    assert both == pytest.approx(first + second, abs=1e-3)
    whole = float(score("--sentences=keep")[0][4].split("\t")[0])
    assert whole != pytest.approx(both, abs=1e-3)
    # What is too long is reported.
    assert [value["truncated"] for value in values] == [False] * 7 + [True] * 2
    assert "2 truncated pairs (number 8, 9): more tokens" in said


@pytest.mark.medium
def test_the_export_scores_like_the_run(export, pairs, score, succeed, refuses):
    # The export keeps its texts whole.
    expected, _ = score("--json", "--sentences=keep")
    command = ["score", "--saved-model", export, "--input", pairs]
    lines = succeed(*command, "--json").out.splitlines()
    for line, other in zip(lines, expected, strict=True):
        value, other = json.loads(line), json.loads(other)
        assert not {"tokens", "token_log_probabilities"} & other.keys()
        assert value["length"] == other["length"]
        assert value["score"] == pytest.approx(other["score"], rel=1e-4)
        assert value["truncated"] == other["truncated"]
    for option in ("--token-scores", "--beam-size=2", "--set=decoding.top_k=1"):
        refuses(*command, option, says=[option.split("=")[0]])
