import gzip
import re

import numpy as np
import pytest

from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.errors import InputError
from keras_transformer.text.vectors import load_vectors, require_width

TOKENS = [*SPECIAL_TOKENS, "the", "你", "rare", "."]
VECTORS = {
    "</s>": [9, 9, 9],
    "the": [0.5, -1, 2],
    "other": [0.1, 1e-3, 7],
    ".": [1, 2, 3],
    "你": [-0.25, 0, 1.5],
}


def _text(vectors=VECTORS, end="\n"):
    rows = (
        f"{token} {' '.join(map(str, numbers))}"
        for token, numbers in vectors.items()
    )
    return "".join(row + end for row in rows).encode()


def _binary():
    rows = (
        token.encode() + b" " + np.array(numbers, "<f4").tobytes() + b"\n"
        for token, numbers in VECTORS.items()
    )
    return b"5 3\n" + b"".join(rows)


FORMATS = {
    "glove": _text(),
    "glove-windows": _text(end="\r\n"),
    "word2vec-text": b"5 3\n" + _text(),
    "word2vec-text-trailing-space": b"5 3\n" + _text(end=" \n"),
    "glove-tabs": _text().replace(b" ", b"\t"),
    "glove-tab-after-the-token": re.sub(rb"(?m)^(\S+) ", rb"\1\t", _text()),
    "word2vec-text-tabs": b"5\t3\n" + _text(end="\t\n").replace(b" ", b"\t"),
    "gzip": gzip.compress(_text()),
}


@pytest.mark.parametrize("content", FORMATS.values(), ids=FORMATS)
def test_every_format_is_recognised(tmp_path, content):
    path = tmp_path / "vectors"
    path.write_bytes(content)
    require_width(path, 3)
    with pytest.raises(InputError, match=r"vectors, line 1: .*4"):
        require_width(path, 4)
    matrix, found = load_vectors(path, TOKENS, 3)
    assert matrix.dtype == np.float32
    assert matrix.shape == (8, 3)
    assert found == 3 / 4
    np.testing.assert_array_equal(matrix[4], np.float32([0.5, -1, 2]))
    np.testing.assert_array_equal(matrix[5], np.float32([-0.25, 0, 1.5]))
    np.testing.assert_array_equal(matrix[7], np.float32([1, 2, 3]))
    assert np.isnan(matrix[[0, 1, 2, 3, 6]]).all()


def test_the_first_of_two_vectors_counts_and_tokens_may_hold_spaces(tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(b". . 4 5 6\nthe 1 2 3\nthe 7 8 9\n")
    matrix, found = load_vectors(path, TOKENS, 3)
    assert found == 1 / 4
    assert matrix[4].tolist() == [1, 2, 3]


DAMAGED = {
    "empty": (b"", "no vectors"),
    "wrong width in GloVe": (b"a 1 2 3\nthe 1 2\n", "line 2: vectors of 2 num"),
    "wider GloVe": (
        b"a 1 2 3 4\n",
        "line 1: vectors of 4 numbers. Accepted: .* of 3 numbers",
    ),
    "wrong width in word2vec": (b"5 4\n", "line 1: vectors of 4 numbers"),
    "not a number": (b"a 1 2 3\nthe 1 x 3\n", "line 2: not a vector"),
    "not finite": (b"the 1 nan 3\n", "line 1: not a vector"),
    "a count without end": (b"9" * 5000 + b" 3\n", "line 1: vectors of 1 num"),
    "a width without end": (b"5 " + b"9" * 5000, "line 1: vectors of 1 num"),
    "prose": (b"It was a dark night.\n", "line 1: not a vector"),
    "cut text": (b"5 3\n" + _text()[:-20], "line 5: vectors of|announces 5"),
    "cut text at a line": (b"9 3\n" + _text(), "line 1: announces 9 vectors"),
    "cut gzip": (gzip.compress(_text())[:-12], "a damaged gzip file"),
    "binary word2vec": (_binary(), "line 2: .* as text"),
    "binary noise": (b"5 3\n" + b"\xff" * 9000, "line 2: .* as text"),
}


@pytest.mark.parametrize(
    ("content", "message"), DAMAGED.values(), ids=list(DAMAGED)
)
def test_a_damaged_file_is_refused_by_name_and_line(tmp_path, content, message):
    path = tmp_path / "vectors"
    path.write_bytes(content)
    pattern = f"^{re.escape(str(path))}.*({message})"
    with pytest.raises(InputError, match=pattern) as error:
        load_vectors(path, TOKENS, 3)
    assert "\n" not in str(error.value)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="nothing: No such file"):
        load_vectors(tmp_path / "nothing", TOKENS, 3)
    with pytest.raises(InputError, match="directory"):
        load_vectors(tmp_path, TOKENS, 3)


def test_the_width_is_told_by_the_first_vector(tmp_path):
    path = tmp_path / "damaged"
    path.write_bytes(FORMATS["glove"] + b"a line without numbers\n")
    require_width(path, 3)
