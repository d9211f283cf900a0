"""Measuring preparation, at a size that measures nothing."""

import json
import sys

import pytest

from keras_transformer.data.corpus_pairs import read_pairs
from scripts.benchmarks.preparing import __main__ as preparing
from scripts.benchmarks.preparing.corpus import write_corpus


def test_the_corpus_is_the_same_each_time_and_has_repeats(tmp_path):
    for name in "ab":
        write_corpus(tmp_path / name, 2000)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    pairs = list(read_pairs([tmp_path / "a"]))
    assert len(pairs) == 2000
    assert 40 < len(pairs) - len(set(pairs)) < 140


@pytest.mark.medium
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_corpus_is_prepared_and_measured(tmp_path, capfd):
    options = ["--pairs", "500", "--out", str(tmp_path)]
    assert preparing.main([*options, "--prepare=--dev=0.02"]) == 0
    report = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert report["pairs"] == 500
    assert report["processor seconds"] > 0
    assert report["peak MiB"] > 100
    assert (tmp_path / "data" / "manifest.json").exists()
