"""Training on several hosts, which here are processes on one machine."""

import importlib.util
import json
import re
import signal
import socket
import time

import numpy as np
import pytest

from keras_transformer.cli.main import main
from tests.cli.conftest import TRAIN_OPTIONS, start

EPOCHS = 6
# Small steps: at the rate of the other tests, rounding grows to 1e-4.
OPTIONS = [
    *TRAIN_OPTIONS,
    "--backend=jax",
    f"--epochs={EPOCHS}",
    "--set=training.learning_rate_factor=0.1",
    "--batch-sentences=15",  # which two hosts can't share evenly
]
needs_jax = pytest.mark.skipif(
    importlib.util.find_spec("jax") is None,
    reason="jax isn't installed: pip install '.[jax]'",
)


@pytest.fixture(autouse=True)
def on_processors(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")


def free_port():
    with socket.socket() as listener:
        listener.bind(("", 0))
        return listener.getsockname()[1]


def start_hosts(count, *arguments):
    """The processes of hosts; one that trains alone if `count` is 1."""
    if count == 1:
        return [start("train", *arguments)]
    coordinator = f"127.0.0.1:{free_port()}"
    options = [f"--coordinator={coordinator}", f"--num-processes={count}"]
    return [
        start("train", *arguments, *options, f"--process-id={i}")
        for i in range(count)
    ]


def ends(processes, seconds=300):
    """Exit statuses and lines on stderr of all."""
    deadline = time.monotonic() + seconds
    try:
        said = [
            process.communicate(timeout=max(1, deadline - time.monotonic()))
            for process in processes
        ]
    finally:
        for process in processes:
            process.kill()
    statuses = [process.returncode for process in processes]
    return statuses, [error.splitlines() for _, error in said]


def wait_for_checkpoint(out, processes, before=None):
    """Waits until there is another checkpoint than before."""
    deadline = time.monotonic() + 240
    path = out / "checkpoint.npz"
    while not path.exists() or path.stat().st_mtime_ns == before:
        for process in processes:
            assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def written(out):
    return (out / "checkpoint.npz").stat().st_mtime_ns


def losses(out):
    lines = (out / "history.jsonl").read_text().splitlines()
    names = ("cross_entropy", "loss", "val_cross_entropy", "val_loss")
    return [[json.loads(line)[name] for name in names] for line in lines]


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    """The losses of a training on one process, never stopped."""
    out = tmp_path_factory.mktemp("whole") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAX_PLATFORMS", "cpu")
        arguments = ["--data", data, "--out", out, *OPTIONS]
        statuses, lines = ends(start_hosts(1, *arguments))
    assert statuses == [0], lines
    return losses(out)


def finish(count, out, data, whole):
    """Goes on to the end, and compares with the training never stopped."""
    arguments = ["--data", data, "--out", out, *OPTIONS, "--resume"]
    statuses, lines = ends(start_hosts(count, *arguments))
    assert statuses == [0] * count, lines
    np.testing.assert_allclose(losses(out), whole, rtol=1e-5)


@needs_jax
def test_two_hosts_stop_together_and_one_goes_on(data, whole, tmp_path):
    out = tmp_path / "run"
    arguments = ["--data", data, "--out", out, *OPTIONS]
    hosts = start_hosts(2, *arguments)
    wait_for_checkpoint(out, hosts)
    hosts[1].send_signal(signal.SIGTERM)
    statuses, (first, second) = ends(hosts, 60)
    assert statuses == [2, 2], (first, second)
    assert re.search(r"error: interrupted; .* --resume$", first[-1])
    assert second == ["host 1: stopping after this step (once more: at once)"]
    assert not [line for line in first if "Gloo" in line or "absl" in line]
    assert (out / "checkpoint.npz").exists()
    finish(1, out, data, whole)


@needs_jax
@pytest.mark.slow
def test_one_process_stops_and_two_hosts_go_on(data, whole, tmp_path):
    out = tmp_path / "run"
    alone = start_hosts(1, "--data", data, "--out", out, *OPTIONS)
    wait_for_checkpoint(out, alone)
    alone[0].send_signal(signal.SIGINT)
    assert ends(alone)[0] == [2]
    finish(2, out, data, whole)


@needs_jax
@pytest.mark.slow
@pytest.mark.parametrize("killed", [0, 1])
def test_a_killed_host_ends_the_other_in_one_line(
    killed, data, whole, tmp_path
):
    out = tmp_path / "run"
    hosts = start_hosts(2, "--data", data, "--out", out, *OPTIONS)
    wait_for_checkpoint(out, hosts)
    hosts[killed].kill()
    began = time.monotonic()
    statuses, lines = ends(hosts)
    assert time.monotonic() - began < 60
    assert statuses[killed] == -signal.SIGKILL
    assert statuses[1 - killed] == 2
    speaker = "" if killed else "host 1: "
    assert [line for line in lines[1 - killed] if "error" in line] == [
        f"keras-transformer: error: {speaker}host {killed} is dead or can't be "
        f"reached; {out} goes on with keras-transformer train ... --resume"
    ]
    assert lines[1][:-1] == []  # Progress is the first host's.
    finish(2 if killed else 1, out, data, whole)


@needs_jax
@pytest.mark.slow
def test_averages_and_ema_are_those_of_one_process(data, tmp_path):
    options = [
        *OPTIONS,
        "--set=training.average_epochs=3",
        "--set=training.ema=0.9",
        "--set=training.r_drop=0.5",
    ]
    for count in (1, 2):
        arguments = ["--data", data, "--out", tmp_path / str(count), *options]
        statuses, lines = ends(start_hosts(count, *arguments))
        assert statuses == [0] * count, lines
    one, two = (losses(tmp_path / str(count)) for count in (1, 2))
    np.testing.assert_allclose(two, one, rtol=1e-5)


@needs_jax
@pytest.mark.slow
def test_hosts_that_were_started_differently_are_refused(data, tmp_path):
    arguments = ["--data", data, "--out", tmp_path / "run", *OPTIONS]
    port = free_port()
    hosts = [
        start(
            "train",
            *arguments,
            f"--coordinator=127.0.0.1:{port}",
            "--num-processes=2",
            f"--process-id={i}",
            f"--seed={i}",
        )
        for i in range(2)
    ]
    statuses, lines = ends(hosts, 120)
    assert statuses == [2, 2], lines
    said = "another start than that of host 0: seed is 0 there, 1 here"
    for error in lines:
        assert len(error) == 1 and said in error[0]
    assert not (tmp_path / "run").exists()


@needs_jax
@pytest.mark.slow
def test_hosts_that_do_not_come_are_told_in_time(data, tmp_path):
    arguments = ["--data", data, "--out", tmp_path / "run", *OPTIONS]
    arguments += [f"--coordinator=127.0.0.1:{free_port()}"]
    arguments += ["--num-processes=2", "--join-timeout=2"]
    first = start("train", *arguments, "--process-id=0")
    second = start(
        "train", *arguments, "--process-id=1", f"--out={tmp_path / 'other'}"
    )
    first.kill()  # It never listened.
    statuses, lines = ends([first, second], 60)
    assert statuses[1] == 2
    assert len(lines[1]) == 1 and "not reached within 2 s" in lines[1][0]
    statuses, lines = ends([start("train", *arguments, "--process-id=0")], 60)
    assert statuses == [2]
    assert len(lines[0]) == 1
    assert "not all 2 hosts came within 2 s" in lines[0][0]


BY_HAND = {"coordinator": "h:1", "num-processes": 2, "process-id": 0}


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({**BY_HAND, "backend": "tensorflow"}, ["--backend jax"]),
        ({"hosts": "auto", "backend": "tensorflow"}, ["--hosts: several"]),
        ({"coordinator": "h:1"}, ["--num-processes and --process-id"]),
        ({"process-id": 1}, ["needs --coordinator"]),
        ({**BY_HAND, "hosts": "slurm"}, ["--hosts slurm says"]),
        ({**BY_HAND, "num-processes": 0}, ["--num-processes", "0"]),
        ({**BY_HAND, "process-id": 2}, ["--process-id must be 0 to 1"]),
        ({**BY_HAND, "process-id": -1}, ["Received: -1"]),
        ({**BY_HAND, "coordinator": "h"}, ["HOST:PORT", "Received: h"]),
        ({**BY_HAND, "coordinator": "h:0"}, ["1 to 65535"]),
        ({**BY_HAND, "coordinator": "::1:80000"}, ["1 to 65535"]),
        ({**BY_HAND, "join-timeout": 0}, ["--join-timeout", "0"]),
        ({"join-timeout": 5}, ["--join-timeout is for hosts"]),
    ],
    ids=lambda value: " ".join(map(str, value)),
)
def test_options_that_do_not_fit_are_refused(
    options, says, refuses, data, tmp_path
):
    options = {"backend": "jax", **options}
    words = [f"--{name}={value}" for name, value in options.items()]
    out = tmp_path / "run"
    refuses("train", "--data", data, "--out", out, *words, says=says)
    assert not out.exists()


@needs_jax
def test_hosts_without_a_launcher_are_refused(data, tmp_path):
    arguments = ["--data", data, "--out", tmp_path / "run", *OPTIONS]
    statuses, lines = ends([start("train", *arguments, "--hosts")], 60)
    assert statuses == [2]
    assert len(lines[0]) == 1 and "no launcher says who" in lines[0][0]


def test_help_names_the_options(capsys):
    with pytest.raises(SystemExit):
        main(["train", "--help"])
    said = capsys.readouterr().out
    for option in ("--hosts", "--coordinator", "--join-timeout"):
        assert option in said
