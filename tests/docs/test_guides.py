"""The guides and the reference keep up with the code."""

import ast
import dataclasses
import functools
import inspect
import re

import pytest

import keras_transformer
from keras_transformer.cli.main import COMMANDS, build_parser
from keras_transformer.config import Config
from keras_transformer.presets import PRESETS
from tests.docs.pages import DOCS, ROOT

LANGUAGES = ("en", "zh")


@functools.cache
def texts_of_the_package() -> str:
    """Every string in the package's code, joined as Python joins them."""
    found = []
    for path in (ROOT / "keras_transformer").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.append(node.value)
    return "\0".join(found)


def messages(language):
    page = DOCS / language / "guides" / "troubleshooting.md"
    return re.findall(r"^\| `(.+?)` \|", page.read_text("utf-8"), flags=re.M)


def test_both_languages_explain_the_same_messages():
    assert messages("en") == messages("zh")
    assert len(messages("en")) > 10


@pytest.mark.parametrize("message", messages("en"))
def test_messages_that_are_explained_exist(message):
    said = texts_of_the_package()
    for part in message.split("..."):
        assert part.strip() in said, part


@pytest.mark.parametrize("language", LANGUAGES)
def test_reference_has_every_public_name(language):
    page = DOCS / language / "reference" / "api.md"
    named = re.findall(r"\{public\} (\w+)", page.read_text("utf-8"))
    assert sorted(named) == sorted(
        set(keras_transformer.__all__) - {"__version__"}
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_reference_has_every_command_section_and_preset(language):
    folder = DOCS / language / "reference"
    text = "".join(page.read_text("utf-8") for page in folder.glob("*.md"))
    assert re.findall(r"\{command\} (\w+)", text) == list(COMMANDS)
    sections = [field.name for field in dataclasses.fields(Config)]
    assert re.findall(r"\{config\} (\w+)", text) == sections
    assert re.findall(r"\{preset\} (\w+)", text) == list(PRESETS)


@pytest.mark.parametrize("language", LANGUAGES)
def test_reference_has_a_line_of_each_without_the_site(language):
    folder = DOCS / language / "reference"
    (commands,) = build_parser()._subparsers._group_actions
    described = {one.dest: one.help for one in commands._choices_actions}
    for page, expected in (("api", first_line), ("commands", described.get)):
        text = (folder / f"{page}.md").read_text("utf-8")
        shown = re.findall(r"^```\{\w+\} (\w+)\n(.*\n)?```$", text, re.M)
        assert shown
        for name, line in shown:
            assert line == f"{name}: {expected(name)}\n"


def first_line(name):
    thing = getattr(keras_transformer, name)
    return inspect.getdoc(thing).splitlines()[0]
