"""Measuring the searches, at a size that measures nothing."""

import json
import pathlib
import subprocess
import sys

import pytest

from tests.toy_models import MODEL, write_corpus

ROOT = pathlib.Path(__file__).resolve().parents[3]
SCRIPTS = ROOT / "scripts"
CELLS = ("b1_greedy", "b64_greedy", "b64_beam4")
# What a peer prints, faster each time that it is called.
PEERS = """
import json, pathlib, sys
size = ["--sentences", "12", "--repeats", "3"]
command, option, data, *rest = sys.argv[1:]
assert [command, option, *rest] == ["decode", "--data", *size]
assert (pathlib.Path(data) / "dev.tsv").is_file()
calls = pathlib.Path(__file__).with_suffix(".calls")
calls.write_text(calls.read_text() + "x" if calls.exists() else "x")
factor = len(calls.read_text())
rates = {
    f"{compute} batch {batch} beam {beam}": size * factor
    for compute, size in (("float32", 10), ("int8_float32", 20))
    for batch, beam in ((1, 1), (1, 4), (64, 1), (64, 4))
}
print("peers say more")
print(json.dumps({"peer": "x", "output_tokens_per_s": rates}))
"""


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    from keras_transformer.cli.main import main

    folder = tmp_path_factory.mktemp("measured")
    write_corpus(folder)
    data, run = str(folder / "data"), str(folder / "run")
    pairs = ["--train", str(folder / "train.tsv"), "--dev", "0.1"]
    kinds = [f"--{side}-language=en" for side in ("source", "target")]
    kinds += [f"--{side}-tokenizer=word" for side in ("source", "target")]
    assert main(["prepare", *pairs, *kinds, "--out", data]) == 0
    shape = [f"--set=model.{key}={value}" for key, value in MODEL.items()]
    size = ["--epochs", "1", "--batch-sentences", "16"]
    assert main(["train", "--data", data, "--out", run, *shape, *size]) == 0
    return folder


def script(name, *arguments):
    return subprocess.run(
        [sys.executable, str(SCRIPTS / name), *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )


def measured(folder, *options):
    sizes = ["--sentences", 12, "--length", 3, "--rounds", 2, "--json"]
    files = ["--run", folder / "run", "--input", folder / "dev.tsv"]
    files += ["--bleu", folder / "dev.tsv"]
    done = script("benchmarks/decoding", *files, *sizes, *options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.slow
def test_ratios_are_to_the_medians_of_a_peer(run_folder, tmp_path):
    peers = tmp_path / "peers.py"
    peers.write_text(PEERS)
    report, last = measured(
        run_folder, "--peer", "--peers", peers, "--data", run_folder
    )
    assert list(last) == ["ratios"]
    assert last["ratios"] == report["ratios"]
    assert set(last["ratios"]) == {
        f"{kind}_{cell}" for kind in ("served", "translator") for cell in CELLS
    }
    served = max(
        row["tokens_per_second"]
        for row in report["cells"]
        if (row["kind"], row["batch"], row["beam"]) == ("served", 1, 1)
    )
    # The peer's median of 10 and 20, and of 20 and 40.
    assert last["ratios"]["served_b1_greedy"] == {
        "vs_float32": pytest.approx(served / 15, rel=0.01),
        "vs_int8": pytest.approx(served / 30, rel=0.01),
    }


@pytest.mark.slow
def test_a_step_of_an_export_is_profiled(run_folder):
    profiled = script(
        *("tools/profile_decoding.py", "--run", run_folder / "run", "--json"),
        *("--served", "--precision", "float32", "--batch", 2, "--beam", 2),
    )
    assert profiled.returncode == 0, profiled.stderr
    (profile,) = json.loads(profiled.stdout)
    assert profile["microseconds"] > 0
    assert any("MatMul" in row["operation"] for row in profile["operations"])
