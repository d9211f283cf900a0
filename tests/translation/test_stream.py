import pytest

from keras_transformer.translation.stream import one_by_one, stream_lines


def shout(lines):
    return [line.upper() for line in lines]


def translated(lines, translate, **options):
    return stream_lines(lines, one_by_one(translate), **options)


@pytest.mark.parametrize("window", [1, 3, 7, 1000])
@pytest.mark.parametrize("count", [0, 1, 20])
def test_order_is_kept(count, window):
    lines = [f"{'x' * (i * 7 % 5)}{i}" for i in range(count)]
    found = list(translated(lines, shout, batch_size=3, window=window))
    assert found == [line.upper() for line in lines]


def test_blank_lines_stay_blank_and_reach_no_model():
    lines = ["", "a\n", "  \n", "\r\n", "b", "\u2060\u200b"]
    found = translated(lines, lambda lines: [(x, 1) for x in lines])
    assert list(found) == ["", ("a", 1), "", "", ("b", 1), ""]
    found = translated([" ", "a"], shout, blank=lambda line: (line, 0))
    assert list(found) == [(" ", 0), "A"]


@pytest.mark.parametrize(
    ("lengths", "options", "expected"),
    [
        # Lines of like length come together, the longest first.
        ([1, 9, 2, 8], {"batch_size": 2}, [[9, 8], [2, 1]]),
        # Long lines share smaller batches, or have one of their own.
        (
            [380, 380, 380, 380, 200, 200, 100],
            {"batch_size": 3},
            [[380, 380], [380, 380], [200, 200, 100]],
        ),
        ([599, 590, 1], {"batch_size": 2}, [[599], [590], [1]]),
        # The default fills batches of usual sentences.
        ([256] * 64, {}, [[256] * 64]),
        ([512] * 64, {}, [[512] * 32] * 2),
    ],
)
def test_batches(lengths, options, expected):
    batches = []

    def translate(lines):
        batches.append(list(map(len, lines)))
        return lines

    lines = ["x" * length for length in lengths]
    assert list(translated(lines, translate, **options)) == lines
    assert batches == expected


def test_reads_no_more_than_a_window_ahead():
    read = 0

    def lines():
        nonlocal read
        for _ in range(1000):
            read += 1
            yield "x"

    results = translated(lines(), shout, batch_size=2, window=4)
    assert read == 0
    next(results)
    assert read == 4
    for _ in range(4):
        next(results)
    assert read == 8


def test_texts_that_belong_together_stay_together():
    pairs = [("a", "x"), ("", " "), ("bbb", ""), ("", "y")]

    def translate(lines):
        return [f"{source}|{prefix}" for source, prefix in lines]

    for window in (1, 2, 10):
        found = list(translated(pairs, translate, batch_size=2, window=window))
        assert found == ["a|x", "", "bbb|", "|y"]


def test_a_blank_line_is_answered_before_the_next_is_read():
    read = []

    def lines():
        for line in ["a", "", "b"]:
            read.append(line)
            yield line

    results = translated(lines(), shout, window=1)
    assert [next(results), next(results)] == ["A", ""]
    assert read == ["a", ""]
