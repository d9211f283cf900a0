"""Training on several hosts, which here are processes on one machine."""

import importlib.util
import json
import re
import signal
import time

import numpy as np
import pytest

from tests.cli.conftest import TRAIN_OPTIONS, start
from tests.serving.asking import free_ports

EPOCHS = 6
# Small steps: at the rate of the other tests, rounding grows to 1e-4.
OPTIONS = [
    *TRAIN_OPTIONS,
    "--backend=jax",
    f"--epochs={EPOCHS}",
    "--set=training.learning_rate=0.005",
    "--set=training.batch_sentences=15",  # which two hosts can't share evenly
    # All that is kept from one step to a later one.
    "--set=training.average_epochs=3",
    "--set=training.accumulate_steps=2",
    "--set=training.gradient_clip=1.0",
]
needs_jax = pytest.mark.skipif(
    importlib.util.find_spec("jax") is None,
    reason="jax isn't installed: pip install '.[jax]'",
)


@pytest.fixture(autouse=True)
def on_processors(monkeypatch):
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")


def start_hosts(count, *arguments):
    """The processes of hosts; one that trains alone if `count` is 1."""
    if count == 1:
        return [start("train", *arguments)]
    coordinator = f"127.0.0.1:{free_ports(1)[0]}"
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


def wait_for_checkpoint(out, processes, epochs=0):
    """Waits until there is another one than there was, and so many epochs."""
    deadline = time.monotonic() + 240
    path = out / "checkpoint.npz"
    before = written(path)
    while written(path) == before or len(losses(out)) < epochs:
        for process in processes:
            assert process.poll() is None, process.communicate()[1]
        assert time.monotonic() < deadline
        time.sleep(0.02)


def written(path):
    return path.stat().st_mtime_ns if path.exists() else None


def losses(out):
    path = out / "history.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    names = ("cross_entropy", "loss", "val_cross_entropy", "val_loss")
    return [[json.loads(line)[name] for name in names] for line in lines]


@needs_jax
@pytest.mark.slow
def test_stopped_and_killed_on_one_and_two_as_never_stopped(data, tmp_path):
    out, whole = tmp_path / "run", tmp_path / "whole"
    first = ["--data", data, "--out", out, *OPTIONS]
    resumed = [*first, "--resume"]
    never_stopped = start_hosts(1, "--data", data, "--out", whole, *OPTIONS)
    alone = start_hosts(1, *first)
    wait_for_checkpoint(out, alone)
    alone[0].send_signal(signal.SIGINT)
    statuses, lines = ends(alone)
    assert statuses == [2], lines
    hosts = start_hosts(2, *resumed)
    wait_for_checkpoint(out, hosts)
    hosts[1].send_signal(signal.SIGTERM)
    assert_stopped_together(hosts)
    for killed, epochs in ((0, 0), (1, 2)):
        hosts = start_hosts(2, *resumed)
        wait_for_checkpoint(out, hosts, epochs)
        hosts[killed].kill()
        assert_ended_by_the_other(hosts, killed, out)
    statuses, lines = ends(start_hosts(1, *resumed))
    assert statuses == [0], lines
    statuses, lines = ends(never_stopped)
    assert statuses == [0], lines
    ours, theirs = losses(out), losses(whole)
    assert len(ours) == EPOCHS
    difference = np.abs(np.divide(ours, theirs) - 1).max()
    print(f"largest relative difference of losses: {difference:.2g}")
    np.testing.assert_allclose(ours, theirs, rtol=1e-5)


def assert_stopped_together(hosts):
    """After SIGTERM to the second, the first tells it for both."""
    statuses, (first, second) = ends(hosts, 60)
    assert statuses == [2, 2], (first, second)
    assert re.search(r"error: interrupted; .* --resume", first[-1])
    assert second == ["host 1: stopping after this step (once more: at once)"]
    assert not [line for line in first if "Gloo" in line or "absl" in line]


def assert_ended_by_the_other(hosts, killed, out):
    """After SIGKILL the other ends within a minute, and says how to go on."""
    began = time.monotonic()
    statuses, lines = ends(hosts)
    assert time.monotonic() - began < 60
    assert statuses[killed] == -signal.SIGKILL
    assert statuses[1 - killed] == 2
    last = lines[1 - killed][-1]
    assert "another host is dead" in last or "JAX has ended this host" in last
    assert f"; {out} goes on with keras-transformer train ... --resume" in last


@needs_jax
@pytest.mark.slow
def test_hosts_that_were_started_differently_are_refused(data, tmp_path):
    arguments = ["train", "--data", data, "--out", tmp_path / "run", *OPTIONS]
    arguments += [f"--coordinator=127.0.0.1:{free_ports(1)[0]}"]
    arguments += ["--num-processes=2"]
    hosts = [
        start(*arguments, f"--process-id={i}", f"--set=training.seed={i}")
        for i in range(2)
    ]
    statuses, lines = ends(hosts, 120)
    assert statuses == [2, 2], lines
    said = "started otherwise than host 0: training.seed is 0 there, 1 here"
    for (error,) in lines:
        assert said in error
    assert not (tmp_path / "run").exists()


@needs_jax
@pytest.mark.slow
def test_hosts_that_do_not_come_are_told_in_time(data, tmp_path):
    arguments = ["train", "--data", data, *OPTIONS, "--num-processes=2"]
    arguments += ["--join-timeout=2"]
    hosts = []  # Nobody listens where the first asks.
    for port, who in zip(free_ports(2), "10", strict=True):
        own = [f"--coordinator=127.0.0.1:{port}", f"--process-id={who}"]
        hosts.append(start(*arguments, *own, f"--out={tmp_path / who}"))
    statuses, ((first,), second) = ends(hosts, 120)
    assert statuses == [2, 2]
    assert "not reached within 2 s" in first
    assert "the same --coordinator and --num-processes on all" in second[-1]


@needs_jax
def test_hosts_without_a_launcher_are_refused(data, tmp_path):
    arguments = ["--data", data, "--out", tmp_path / "run", *OPTIONS]
    statuses, ((line,),) = ends([start("train", *arguments, "--hosts")], 60)
    assert statuses == [2]
    assert "Accepted: --hosts under Slurm" in line
