"""What the README shows is what happens."""

import pathlib
import re
import shlex

import pytest

from keras_transformer.cli.main import build_parser

README = pathlib.Path(__file__).resolve().parents[1] / "README.md"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def blocks(language):
    text = README.read_text(encoding="utf-8")
    return [body for kind, body in BLOCK.findall(text) if kind == language]


@pytest.mark.parametrize("code", blocks("python"))
def test_python_blocks_print_what_their_comments_say(code, capsys):
    exec(compile(code, str(README), "exec"), {})
    expected = re.findall(r"print\(.*\)  # (.*)", code)
    assert capsys.readouterr().out.splitlines() == expected


def commands():
    lines = "\n".join(blocks("sh")).replace("\\\n", " ").splitlines()
    for line in lines:
        command = line.split("|")[-1].split(" < ")[0]
        words = shlex.split(command, comments=True)
        if words and words[0] == "keras-transformer":
            yield words[1:]


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_commands_have_the_options_that_are_shown(words):
    arguments = build_parser().parse_args(words)
    assert arguments.command == words[0]


def test_scripts_that_are_shown_exist():
    named = set(re.findall(r"scripts/[\w/]+(?:\.\w+)?", README.read_text()))
    assert {"scripts/demo.sh", "scripts/benchmarks/training"} <= named
    for name in named:
        assert (README.parent / name).exists(), name
