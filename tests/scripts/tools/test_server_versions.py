"""Exports are proved beside other versions of TensorFlow."""

import json

import pytest

from scripts.tools import server_versions
from tests.processes import run_python


@pytest.mark.medium
def test_an_environment_says_what_it_lacks():
    names = json.dumps(["Add", "Gather9", "TFText>BoiseTagsToOffsets"])
    looked = run_python("-c", server_versions.LOOK, stdin=names)
    found = json.loads(looked.stdout)
    assert found["lacks"] == ["Gather9"]
    assert all(version[0].isdigit() for version in found["versions"])


@pytest.mark.medium
def test_checks_need_no_other_packages():
    others = "duckdb nltk opencc sacrebleu sentencepiece tqdm yaml"
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({others.split()}))\n"
        "import keras_transformer.exporting.verification.saved_model_checks\n"
        "import keras_transformer.exporting.verification.c_api_checks"
    )
    run_python("-W", "ignore", "-c", code)
