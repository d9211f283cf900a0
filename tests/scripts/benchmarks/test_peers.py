"""The runner of the peers, with programs that stand in for them."""

import json

import pytest

from scripts.benchmarks.peers import __main__ as peers

# Logs as OpenNMT-tf does, and notes how it was called.
OPENNMT = """#!/bin/sh
echo "$@" >> calls
echo "Step = 20 ; steps/s = 1.0, tokens/s = 100 (40 source, 60 target)"
echo "Step = 40 ; steps/s = 1.0, tokens/s = 300 (40 source, 60 target)"
echo "Step = 60 ; steps/s = 1.0, tokens/s = 500 (40 source, 60 target)"
"""


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A folder with environments whose programs do next to nothing."""
    onmt, ct2, work = (tmp_path / name for name in ("onmt", "ct2", "work"))
    for name, path in (("ONMT", onmt), ("CT2", ct2), ("WORK", work)):
        monkeypatch.setattr(peers, name, path)
    files = {onmt: "opennmt_tf.txt", ct2: "ctranslate2.txt"}
    monkeypatch.setattr(peers, "REQUIREMENTS", files)
    programs = {
        onmt / "bin/python": "#!/bin/sh\necho tokenize >> calls\n",
        onmt / "bin/onmt-build-vocab": "#!/bin/sh\necho vocabulary >> calls\n",
        onmt / "bin/onmt-main": OPENNMT,
        ct2 / "bin/python": "#!/bin/sh\necho more\necho '{\"size\": '$2'}'\n",
    }
    for path, text in programs.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    for folder in files:
        (folder / "ready").touch()
    return tmp_path


@pytest.fixture
def data(tmp_path):
    """A corpus of a line."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("train.tsv", "dev.tsv"):
        (folder / name).write_text("a\tb\n")
    return folder


def calls(home):
    path = home / "work/calls"
    lines = path.read_text().splitlines() if path.exists() else []
    path.unlink(missing_ok=True)
    return [line.split()[-1] for line in lines]


def test_a_rate_is_the_median_of_the_windows_after_the_first(home, data, capfd):
    assert peers.main(["train", "--data", str(data), "--steps", "60"]) == 0
    last = json.loads(capfd.readouterr().out.splitlines()[-1])
    assert last["tokens_per_s_median"] == 400
    assert last["windows"] == [100, 300, 500]
    config = (home / "work/config.yml").read_text()
    assert '"max_step": 60' in config
    assert "1.0e-9" in config


def test_decoding_trains_and_converts_a_model_first(home, data, capfd):
    command = ["decode", "--data", str(data), "--sentences", "12"]
    assert peers.main(command) == 0
    assert calls(home)[-2:] == ["train", "ctranslate2_model"]
    said = capfd.readouterr().out.splitlines()
    assert [json.loads(line) for line in said] == [{"size": 12}]


def test_a_program_that_fails_ends_it_and_is_named(home, data):
    (home / "onmt/bin/onmt-main").write_text("#!/bin/sh\nexit 3\n")
    with pytest.raises(SystemExit, match=r"failed \(3\).*see .*train.log"):
        peers.main(["train", "--data", str(data)])
