import shlex
import subprocess

import pytest
import yaml

from keras_transformer.deployment.values import (
    KINDS,
    environment,
    environment_lines,
    in_shell,
    mebibytes,
    require_count,
    require_kind,
    require_text,
    yaml_list,
)
from keras_transformer.errors import InputError

HOSTILE = [
    "a b",
    "a\nb",
    'a"b',
    "a'b",
    "$(reboot)",
    "`reboot`",
    "${HOME}",
    "a;b",
    "a: b",
    "a #b",
    "{{ name }}",
    "-a",
    "*a",
    "&a",
    "!a",
    "|",
    "%a",
    "a\x00",
    "a\u2028b",
    "ä",
]


@pytest.mark.parametrize("option", KINDS)
@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_names_are_nothing_that_needs_quotes(option, text):
    with pytest.raises(InputError, match=f"^{option} takes "):
        require_kind(option, text)


@pytest.mark.parametrize("text", ["true", "null", "no", "on", "y", "n"])
@pytest.mark.parametrize("option", ["--name", "--namespace", "--claim"])
def test_names_are_no_other_values_of_yaml(option, text):
    with pytest.raises(InputError, match="YAML"):
        require_kind(option, text)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--name", "en-zh"),
        ("--name", "a" * 40),
        ("--namespace", "2nd"),
        ("--image", "tensorflow/serving:2.20.0"),
        ("--image", "registry.example:5000/a/b_c:1.0-x"),
        ("--image", f"a@sha256:{'0' * 64}"),
        ("--image", "localhost:5000/a"),
        ("--bucket", "gs://models-1/a/b.c"),
        ("--bucket", "s3://models"),
        ("--partition", "gpu,long"),
        ("--time", "1-12:00:00"),
        ("--time", "30"),
    ],
)
def test_usual_names(option, text):
    assert require_kind(option, text) == text


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ("--name", "a" * 41),
        ("--name", "En"),
        ("--name", "1a"),
        ("--image", "a:b:c"),
        ("--image", "a@sha256:0"),
        ("--bucket", "http://a/b"),
        ("--bucket", "gs://a//b"),
        ("--time", "1:0"),
    ],
)
def test_unusual_names(option, text):
    with pytest.raises(InputError):
        require_kind(option, text)


@pytest.mark.parametrize("text", ["", "a\nb", "a\tb", "a\x1b[0m", "\udcff"])
def test_text_is_one_line_that_can_be_seen(text):
    with pytest.raises(InputError, match="^--data takes a text"):
        require_text("--data", text)


def test_environment():
    assert environment(["A=b", "C_1=d=e f", "E="]) == {
        "A": "b",
        "C_1": "d=e f",
        "E": "",
    }


@pytest.mark.parametrize("text", ["A", "1=2", "a-b=c", "=a", "A=b\nc", "Ä=1"])
def test_what_is_no_variable(text):
    with pytest.raises(InputError, match="^--env takes"):
        environment([text])


TEXTS = [t for t in HOSTILE if t.isprintable()] + ["$$(A)", "\\n", "狗"]


@pytest.mark.parametrize("text", TEXTS)
def test_yaml_and_kubernetes_read_what_was_meant(text):
    """`$(A)` is a variable and `$$` a dollar to Kubernetes."""
    (word,) = yaml.safe_load(yaml_list([text]))
    assert _expanded(word) == text
    (variable,) = yaml.safe_load(environment_lines({"A": text}))
    assert variable["name"] == "A"
    assert _expanded(variable["value"]) == text


def _expanded(text):
    """As third_party/forked/golang/expansion of Kubernetes, no variables."""
    out, position = "", 0
    while position < len(text):
        if text.startswith("$(", position):
            end = text.index(")", position)
            return out + "EXPANDED" + text[end:]
        if text.startswith("$$", position):
            position += 1
        out += text[position]
        position += 1
    return out


@pytest.mark.parametrize("text", TEXTS)
def test_a_shell_reads_what_was_meant(text):
    line = in_shell(["printf", "%s", text])
    assert shlex.split(line)[2] == text
    done = subprocess.run(["sh", "-c", line], capture_output=True, timeout=20)
    assert done.stdout.decode() == text


def test_memory_is_mebibytes():
    assert mebibytes(16) == 16384
    assert mebibytes(0.5) == 512
    for value in (0, -1, float("nan"), float("inf"), 1e9):
        with pytest.raises(InputError, match="--memory takes GiB"):
            mebibytes(value)


def test_counts():
    assert require_count("--hosts", 1) == 1
    with pytest.raises(InputError, match="--hosts takes 1 or more"):
        require_count("--hosts", 0)
