"""YAML that would stop a program, take all memory, or end in a traceback."""

import time

import pytest

from keras_transformer.errors import InputError
from keras_transformer.system.files import read_yaml
from keras_transformer.system.yaml_text import load_yaml

BOMB = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60)
)
MERGED = "a0: &a0 {x: 1}\n" + "".join(
    f"a{n}: &a{n}\n  <<: [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60)
)
HOSTILE = {
    "date": "2020-99-99",
    "time": "2020-01-01 99:99:99",
    "digits": "9" * 6000,
    "no integer": "!!int x",
    "no number": "!!float x",
    "no boolean": "!!bool x",
    "no date": "!!timestamp x",
    "no bytes": "!!binary é",
    "python": "!!python/object/apply:os.getcwd []",
    "key": "{[a]: b}",
    "nested": "[" * 100_000,
    "deep": "".join(" " * n + "a:\n" for n in range(5000)),
    "alias": "*a",
    "aliases": BOMB,
    "merged": MERGED,
    "itself": "&a [*a]",
    "two": "a: 1\n---\nb: 2\n",
    "twice": "a: 1\na: 2\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_yaml_is_refused_at_once(text, tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text(text)
    began = time.thread_time()
    with pytest.raises(InputError) as raised:
        read_yaml(path)
    # Below a second alone; the bombs would take hours.
    assert time.thread_time() - began < 10
    said = str(raised.value)
    assert said.startswith(str(path))
    assert "\n" not in said
    assert len(said) - len(str(path)) < 150


def test_a_file_of_megabytes_is_refused(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_text("model: {}\n" + "#" * 1_000_000)
    with pytest.raises(InputError, match="too large. Accepted: a file of up"):
        read_yaml(path)


@pytest.mark.parametrize(
    ("text", "value"),
    [("010", 10), ("-007", -7), ("0", 0), ("0x10", 16), ("1:30", "1:30")],
)
def test_integers_are_those_of_yaml_1_2(text, value):
    assert load_yaml(text) == value


def test_few_aliases_are_taken():
    text = "a: &a {x: 1}\nb: *a\nc:\n  <<: *a\n  y: 2\n"
    value = load_yaml(text)
    assert value == {"a": {"x": 1}, "b": {"x": 1}, "c": {"x": 1, "y": 2}}
    assert load_yaml("") is load_yaml("# nothing") is None
