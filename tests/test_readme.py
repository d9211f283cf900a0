"""What README shows is what happens."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)


def text_of(path):
    return path.read_text(encoding="utf-8")


def blocks(language):
    found = BLOCK.findall(text_of(README))
    return [body for kind, body in found if kind == language]


@pytest.mark.parametrize("code", blocks("python"))
def test_python_blocks_print_what_their_comments_say(code, capsys):
    exec(compile(code, str(README), "exec"), {})
    expected = re.findall(r"print\(.*\)  # (.*)", code)
    assert capsys.readouterr().out.splitlines() == expected
