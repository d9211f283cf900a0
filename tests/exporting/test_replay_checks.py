import numpy as np
import pytest

from keras_transformer.exporting.verification.checks import CheckFailed
from keras_transformer.exporting.verification.replay_checks import (
    compare,
    readable,
)

EXACT = {"precision": "float32", "tolerance": 1e-4}
ROUGH = {"precision": "bfloat16", "tolerance": 2e-2}


def strings(*values):
    return np.array(values, dtype=object)


def best(text="a", score=-1.0, truncated=False):
    return {
        "translation": strings(text),
        "score": np.array([score], np.float32),
        "truncated": np.array([truncated]),
    }


def aligned(*tokens, share=1.0):
    return {
        "source_tokens": strings(["", "x", ""]),
        "target_tokens": strings([*tokens]),
        "alignment": np.full((1, len(tokens), 3), share, np.float32),
        "truncated": np.array([False]),
    }


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (best(text="b"), "translation .* 'a' and 'b'"),
        (best(score=-1.1), "score"),
        (best(truncated=True), "truncated"),
        ({"translation": strings("a")}, "score"),
        ({**best(), "score": np.zeros([2], np.float32)}, "has shape"),
    ],
    ids=["text", "number", "truth", "names", "shape"],
)
def test_difference_is_refused(other, message):
    compare("greedy", "here", best(), best(), EXACT)
    with pytest.raises(CheckFailed, match=f"greedy, here: .*{message}"):
        compare("greedy", "here", best(), other, EXACT)


def test_numbers_may_differ_by_the_tolerance():
    compare("greedy", "x", best(), best(score=-1.00005), EXACT)
    with pytest.raises(CheckFailed):
        compare("greedy", "x", best(), best(score=-1.001), EXACT)


def test_equally_good_texts_may_differ_in_bfloat16_only():
    compare("greedy", "x", best(), best(text="b"), ROUGH)
    with pytest.raises(CheckFailed, match="score"):
        compare("greedy", "x", best(), best(text="b", score=-2.0), ROUGH)
    with pytest.raises(CheckFailed, match="truncated"):
        compare("greedy", "x", best(), best(truncated=True), ROUGH)


def test_longer_padding_is_no_difference_where_axes_vary():
    short = {"ids": np.array([[4, 5]]), "length": np.array([2])}
    long = {"ids": np.array([[4, 5, 0, 0]]), "length": np.array([2])}
    compare("tokenize", "x", short, long, EXACT)
    long["ids"][0, 3] = 7
    with pytest.raises(CheckFailed, match=r"ids \(0, 3\) is 0 and 7"):
        compare("tokenize", "x", short, long, EXACT)


def test_alignment_is_compared_where_the_tokens_are_the_same():
    same = aligned("a", "b")
    compare("align", "x", same, aligned("a", "b"), ROUGH)
    with pytest.raises(CheckFailed, match="alignment"):
        compare("align", "x", same, aligned("a", "b", share=0.5), ROUGH)
    other = aligned("c", "d", "e", share=0.5)
    compare("align", "x", same, other, ROUGH)
    with pytest.raises(CheckFailed, match="target_tokens"):
        compare("align", "x", same, other, EXACT)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (strings(b"\xff"), "not UTF-8"),
        (np.array([np.inf]), "not finite"),
        (np.array([1.0, 2.0]), r"shape \(2,\)"),
    ],
)
def test_what_a_client_cannot_read_is_refused(values, message):
    with pytest.raises(CheckFailed, match=message):
        readable("greedy, score", values, 1)
