"""The guides and the reference keep up with the code."""

import ast
import dataclasses
import functools
import re

import pytest

import keras_transformer
from keras_transformer.cli.main import COMMANDS
from keras_transformer.config import Config
from keras_transformer.config.presets import PRESETS
from tests.docs.pages import DOCS, ROOT

EN = DOCS / "en"


@functools.cache
def texts_of_the_package() -> str:
    """Every string in the package's code, joined as Python joins them."""
    found = []
    for path in (ROOT / "keras_transformer").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\0".join(found)


def messages():
    text = (EN / "guides" / "troubleshooting.md").read_text("utf-8")
    return re.findall(r"^\| `(.+?)` \|", text, flags=re.M)


@pytest.mark.parametrize("message", messages())
def test_messages_that_are_explained_exist(message):
    said = texts_of_the_package()
    for part in message.split("..."):
        assert part.strip() in said, part


def test_reference_has_every_public_name():
    page = EN / "reference" / "api.md"
    named = re.findall(r"\{public\} (\w+)", page.read_text("utf-8"))
    assert sorted(named) == sorted(
        set(keras_transformer.__all__) - {"__version__"}
    )


def test_reference_has_every_command_section_and_preset():
    folder = EN / "reference"
    text = "".join(page.read_text("utf-8") for page in folder.glob("*.md"))
    assert re.findall(r"\{command\} ([\w-]+)", text) == list(COMMANDS)
    sections = [field.name for field in dataclasses.fields(Config)]
    assert re.findall(r"\{config\} (\w+)", text) == sections
    assert re.findall(r"\{preset\} (\w+)", text) == list(PRESETS)
