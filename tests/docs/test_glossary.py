"""What the glossary names is where it says."""

import ast
import dataclasses
import re

import pytest

from keras_transformer.config import Config
from tests.docs.pages import DOCS, ROOT

TEXT = (DOCS / "glossary.md").read_text("utf-8")
NAMES = sorted(set(re.findall(r"`(keras_transformer(?:\.\w+)+)`", TEXT)))
SECTIONS = [field.name for field in dataclasses.fields(Config)]
KEYS = sorted(set(re.findall(rf"`((?:{'|'.join(SECTIONS)})\.\w+)`", TEXT)))


def has_module(path):
    return path.is_dir() or path.with_suffix(".py").is_file()


@pytest.mark.parametrize("name", NAMES)
def test_names_in_the_code_are_there(name):
    path = ROOT.joinpath(*name.split("."))
    if has_module(path):
        return
    module = path.parent.with_suffix(".py")
    assert module.is_file(), name
    tree = ast.parse(module.read_text("utf-8"))
    assert path.name in {getattr(node, "name", None) for node in tree.body}


@pytest.mark.parametrize("key", KEYS)
def test_keys_of_the_configuration_are_there(key):
    section, name = key.split(".")
    assert hasattr(getattr(Config(), section), name)
