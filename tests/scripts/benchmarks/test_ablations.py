"""Variants of a recipe are configurations."""

from pathlib import Path

import pytest

from keras_transformer.cli.main import build_parser
from keras_transformer.config import Config
from scripts.benchmarks.ablations import __main__ as ablations


def sections(settings):
    """`{"section.key": value}` as `{section: {key: value}}`."""
    values = {}
    for key, value in settings.items():
        section, name = key.split(".")
        values.setdefault(section, {})[name] = value
    return values


@pytest.mark.parametrize("file", ["variants.yaml", "variants_quarter.yaml"])
def test_variants_of_the_files_are_valid_configurations(file):
    path = Path(ablations.__file__).with_name(file)
    recipes = ablations._recipes(path, None)
    assert len(recipes) > 1
    for recipe in recipes.values():
        for part in ("prepare", "train"):
            Config().updated(sections(recipe[part]))
        words = ablations._evaluate_options(recipe)
        build_parser().parse_args(["evaluate", "--run=r", "--input=d", *words])
