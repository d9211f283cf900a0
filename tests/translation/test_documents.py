"""What is left of a document's translation that was killed."""

import contextlib

import pytest

from keras_transformer.errors import InputError
from keras_transformer.translation.documents import Journal

SETTINGS = {"input": "abc"}
ROWS = [("a\nb", False), ("\u2028", True)]


@pytest.fixture
def path(tmp_path):
    """Of a journal whose process was killed."""
    path = tmp_path / "out.partial"
    with contextlib.suppress(KeyError), Journal(path, SETTINGS) as journal:
        for row in ROWS:
            journal.add(*row)
        raise KeyError
    return path


@pytest.mark.parametrize("cut", [0, 1, 9])
def test_whole_lines_are_taken_and_others_added(path, cut):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - cut])
    with (
        contextlib.suppress(KeyError),
        Journal(path, SETTINGS, True) as journal,
    ):
        kept = ROWS if cut == 0 else ROWS[:1]
        assert list(journal.finished()) == kept
        assert journal.done == len(kept)
        for row in ROWS[len(kept) :]:
            journal.add(*row)
        raise KeyError
    assert path.read_bytes() == content


@pytest.mark.parametrize("content", [b"", b'{"inp'])
def test_nothing_is_taken_of_a_file_without_its_first_line(path, content):
    path.write_bytes(content)
    with Journal(path, SETTINGS, True) as journal:
        assert list(journal.finished()) == []
        journal.add(*ROWS[0])
    assert not path.exists()


def test_without_a_request_it_begins_again(path):
    with contextlib.suppress(KeyError), Journal(path, SETTINGS) as journal:
        assert journal.done == 0
        journal.add(*ROWS[0])
        raise KeyError
    assert len(path.read_bytes().splitlines()) == 2


def test_other_settings_are_refused(path):
    with pytest.raises(InputError, match=r"out\.partial: of another input"):
        Journal(path, {"input": "abd"}, True)
