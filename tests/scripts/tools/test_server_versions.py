"""Exports are proved beside other versions of TensorFlow."""

import json
import subprocess
import sys

import pytest

from scripts.tools import server_versions


@pytest.mark.medium
def test_an_environment_says_what_it_lacks():
    looked = subprocess.run(
        [sys.executable, "-c", server_versions.LOOK],
        input=json.dumps(["Add", "Gather9", "TFText>BoiseTagsToOffsets"]),
        capture_output=True,
        text=True,
        check=True,
    )
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
    run = [sys.executable, "-W", "ignore", "-c", code]
    done = subprocess.run(run, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
