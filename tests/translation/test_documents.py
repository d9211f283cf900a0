"""What is left of a document's translation that was killed."""

import contextlib
import json

import pytest

from keras_transformer.documents.tables import JsonLines
from keras_transformer.errors import InputError
from keras_transformer.translation.documents import Journal, write_translated
from keras_transformer.translation.request import Hypothesis, Translation
from keras_transformer.translation.stream import one_by_one

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


def test_line_ends_and_blank_texts_are_the_source_s(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"k": "One.\\n"}\n{"k": " "}\n{"k": "\\nTwo."}\n')

    def translate(lines):
        return [
            Translation(line, [Hypothesis(line.upper(), 0.0)]) for line in lines
        ]

    document = JsonLines(path, "k")
    write_translated(document, tmp_path / "b", one_by_one(translate), 2)
    expected = '{"k": "ONE.\\n"}\n{"k": " "}\n{"k": "\\nTWO."}\n'
    assert (tmp_path / "b").read_text() == expected


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


@pytest.mark.parametrize(
    "line", [b"x", b"\0\0", b'["a"]', b"[1, 2]", b"3", b'["a", false, 1]']
)
def test_nothing_is_taken_from_a_damaged_line_on(path, line):
    head, *_ = path.read_bytes().splitlines(keepends=True)
    whole = json.dumps(ROWS[0]).encode() + b"\n"
    path.write_bytes(head + whole + line + b"\n" + whole)
    with Journal(path, SETTINGS, True) as journal:
        assert list(journal.finished()) == ROWS[:1]
        assert path.read_bytes() == head + whole


def test_a_link_of_its_name_is_left_alone(tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link").symlink_to("mine")
    with Journal(tmp_path / "link", SETTINGS) as journal:
        with pytest.raises(InputError, match="link"):
            journal.add(*ROWS[0])
    assert (tmp_path / "mine").read_text() == "mine"


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
