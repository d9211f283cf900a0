"""The examples in the docstrings of public names run."""

import doctest
import sys

import pytest

import keras_transformer
from keras_transformer.constants import SPECIAL_TOKENS

# Their examples name a run or an export, which takes minutes to make.
NEED_A_RUN = {
    "SavedTranslator",
    "TrainedRun",
    "Translator",
    "export",
    "prepare",
    "load",
    "train",
    "translate_file",
}
FINDER = doctest.DocTestFinder(recurse=False)


def examples(name):
    thing = getattr(keras_transformer, name)
    module = sys.modules.get(getattr(thing, "__module__", None))
    known = {**vars(module), "SPECIAL_TOKENS": SPECIAL_TOKENS} if module else {}
    tests = FINDER.find(thing, name, globs=known)
    return [test for test in tests if test.examples]


@pytest.mark.parametrize(
    "name", sorted(set(keras_transformer.__all__) - NEED_A_RUN)
)
def test_examples_give_what_they_show(name):
    for test in examples(name):
        report = []
        results = doctest.DocTestRunner().run(test, out=report.append)
        assert results.failed == 0, "".join(report)
