"""The demo, smaller than by default."""

import json

import pytest

from tests.cli.conftest import start


@pytest.mark.slow
def test_the_demo_walks_the_whole_path(tmp_path):
    process = start(
        *("demo", "--epochs=2"),
        *("--work", tmp_path / "work", "--out", tmp_path / "models"),
    )
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert out.count("held-out sentences through") == 1
    for row in ("parameters", "seconds", "BLEU", "tok:zh", "chrF", "Next:"):
        assert row in out
    manifest = tmp_path / "work" / "run" / "manifest.json"
    assert json.loads(manifest.read_text())["scores"]["test"]["bleu"] > 40
    assert (tmp_path / "models" / "1" / "saved_model.pb").is_file()
    page = (tmp_path / "work" / "report.html").read_text("utf-8")
    assert "By length of the source" in page


@pytest.mark.parametrize("demos", [[], ["built-in corpus", "run"]])
def test_a_folder_with_other_files_is_left_alone(tmp_path, refuses, demos):
    for name in demos:
        (tmp_path / name).mkdir()
    (tmp_path / "mine").write_text("precious")
    options = ["--work", tmp_path, "--out", tmp_path / "models"]
    refuses("demo", *options, says=[tmp_path, "(mine)", "--work"])
    assert (tmp_path / "mine").read_text() == "precious"


def test_wrong_options_are_told_before_an_earlier_demo_is_removed(
    tmp_path, refuses
):
    kept = tmp_path / "built-in corpus"
    kept.mkdir()
    options = ["--work", tmp_path, "--out", tmp_path / "models"]
    refuses("demo", *options, "--epochs=0", says=["training.epochs", "0"])
    assert kept.is_dir()
