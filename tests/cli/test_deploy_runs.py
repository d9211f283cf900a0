"""What `deploy` writes runs: the scripts with this program, and its server."""

import importlib.util
import os
import pathlib
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

from keras_transformer.cli.main import main
from tests.cli.conftest import start
from tests.deployment.objects import load, one

# Runs what is submitted at once: the tasks of an array one after the other.
SBATCH = """#!/bin/bash
first=0 last=0 words=()
for word in "$@"; do
  case "$word" in
    --array=*) last=${word##*-}; last=${last%\\%*}; array=1;;
    --*) ;;
    *) words+=("$word");;
  esac
done
export SLURM_JOB_ID=7
for ((task = first; task <= last; task++)); do
  if [ -n "${array-}" ]; then export SLURM_ARRAY_TASK_ID=$task; fi
  bash "${words[@]}" >&2 || exit 1
done
echo 7
"""
SRUN = """#!/bin/bash
while [ "${1#--}" != "$1" ]; do shift; done
exec "$@"
"""


@pytest.fixture
def slurm(tmp_path, monkeypatch):
    """Slurm's programs, and this package's, on the PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    program = f'#!/bin/bash\nexec {sys.executable} -m keras_transformer "$@"\n'
    for name, text in (
        ("sbatch", SBATCH),
        ("srun", SRUN),
        ("keras-transformer", program),
    ):
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    root = pathlib.Path(__file__).resolve().parents[2]
    monkeypatch.setenv("PYTHONPATH", str(root))
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "3")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_shards_are_translated_and_joined(run, slurm, capsys):
    lines = [f"{word} two three" for word in ("one", "two", "four")] * 20
    pathlib.Path("in put.txt").write_text("\n".join(lines) + "\n")
    words = ["--run", str(run), "--input", "in put.txt", "--batch-size", "1"]
    assert main(["translate", *words, "--output", "whole"]) == 0
    deploy = ["deploy", "translation", "--format", "slurm", "--name", "bulk"]
    deploy += [*words[:4], "--output", "joined", "--shards", "2"]
    deploy += ["--cpus", "1", "--out", ".", "--", *words[4:]]
    assert main(deploy) == 0
    subprocess.run(["bash", "bulk.sh"], check=True, timeout=300)
    joined = pathlib.Path("joined").read_bytes()
    assert joined == pathlib.Path("whole").read_bytes()


@pytest.mark.slow
@pytest.mark.skipif(
    not importlib.util.find_spec("uvicorn"), reason="needs the extra [serving]"
)
def test_the_embedded_server_starts_with_its_arguments(
    export, tmp_path, capsys
):
    """And its probes succeed, and SIGTERM ends it well."""
    words = ["deploy", "serving", "--format", "kubernetes", "--image", "mt:1"]
    words += ["--server", "embedded", "--claim", "models", "--cpus", "1"]
    assert main([*words, "--saved-model", str(export)]) == 0
    documents = load(capsys.readouterr().out)
    (container,) = one(documents, "Deployment")["spec"]["template"]["spec"][
        "containers"
    ]
    ports = free_ports(2)
    replaced = {
        "/config": str(tmp_path),
        "/models/": f"{export.parent}/",
        "8500": ports[0],
        "8501": ports[1],
    }
    for name, text in one(documents, "ConfigMap")["data"].items():
        (tmp_path / name).write_text(with_replaced(text, replaced))
    arguments = [with_replaced(a, replaced) for a in container["args"]]
    process = start(*container["command"][1:], *arguments)
    try:
        for line in process.stderr:
            if line.startswith("gRPC on"):
                break
        for probe in ("startupProbe", "readinessProbe"):
            path = container[probe]["httpGet"]["path"]
            url = f"http://127.0.0.1:{ports[1]}{path}"
            assert urllib.request.urlopen(url, timeout=30).status == 200
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0


def with_replaced(text, values):
    for old, new in values.items():
        text = text.replace(old, new)
    return text


def free_ports(number):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [str(each.getsockname()[1]) for each in sockets]
    for one_socket in sockets:
        one_socket.close()
    return ports
