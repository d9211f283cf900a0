import dataclasses
import shutil
import threading
import time

import pytest

from keras_transformer.contract.status import Code, ServingError
from keras_transformer.errors import InputError
from keras_transformer.serving.server import model_store
from keras_transformer.serving.server.config_files import ModelConfig
from keras_transformer.serving.server.model_store import ModelStore
from tests.serving.asking import wait_for

SECONDS = 60
made = []


class FakeServable:
    """Fails, or waits for its gate, by a file `broken` or `blocked`."""

    gates = {}

    def __init__(self, name, version, folder):
        if (folder / "broken").exists():
            raise OSError(f"{folder} is broken")
        if (folder / "blocked").exists():
            gate = self.gates.setdefault(version, threading.Event())
            gate.wait(SECONDS)
        self.version = version
        self.closed = False
        made.append(self)

    def close(self):
        self.closed = True


@pytest.fixture(autouse=True)
def gates():
    """Opened in the end, so that no thread is left."""
    made.clear()
    FakeServable.gates = {}
    yield FakeServable.gates
    for gate in FakeServable.gates.values():
        gate.set()


@pytest.fixture
def base(tmp_path):
    base = tmp_path / "m"
    base.mkdir()
    add(base, 1)
    return base


def add(base, version, kind="whole"):
    folder = base / str(version)
    folder.mkdir()
    (folder / "saved_model.pb").write_text("graph")
    (folder / kind).touch()
    return folder


def store_of(*configs, load=FakeServable, **options):
    return store_following(lambda: list(configs), load, **options)


def store_following(source, load=FakeServable, **options):
    store = ModelStore(source, load, **options)
    store.poll()
    return store


def states(store, name="m"):
    return {number: s.name for number, s, _ in store.states(name)}


def test_versions_are_served_by_the_policy(base):
    for version in (10, 9):
        add(base, version)
    (base / ".tmp-11").mkdir()
    for options, expected in (
        ({}, {10}),
        ({"latest": 2}, {9, 10}),
        ({"all_versions": True}, {1, 9, 10}),
        ({"specific": (1, 7)}, {1}),
    ):
        store = store_of(ModelConfig("m", base, **options))
        assert states(store) == dict.fromkeys(expected, "AVAILABLE")
        with store.acquire("m") as handle:
            assert handle.servable.version == max(expected)


def test_a_new_version_is_loaded_before_the_old_one_goes(base):
    seen = []

    def load(name, version, folder):
        seen.append(states(store) if version == 2 else {})
        return FakeServable(name, version, folder)

    store = ModelStore(lambda: [ModelConfig("m", base)], load)
    store.poll()
    add(base, 2)
    store.poll()
    assert seen[1] == {1: "AVAILABLE", 2: "LOADING"}
    assert states(store) == {1: "END", 2: "AVAILABLE"}


def test_a_request_in_flight_keeps_its_version(base):
    store = store_of(ModelConfig("m", base))
    handle = store.acquire("m")
    add(base, 2)
    store.poll()
    assert states(store) == {1: "UNLOADING", 2: "AVAILABLE"}
    assert not handle.servable.closed
    with store.acquire("m") as new:
        assert new.servable.version == 2
    with pytest.raises(ServingError, match=r"Specific\(m, 1\)"):
        store.acquire("m", 1)
    handle.release()
    handle.release()
    assert handle.servable.closed
    assert states(store) == {1: "END", 2: "AVAILABLE"}


def test_a_broken_version_leaves_the_old_one(base):
    store = store_of(ModelConfig("m", base))
    folder = add(base, 2, kind="broken")
    store.poll()
    assert states(store) == {1: "AVAILABLE", 2: "END"}
    (_, _, error), _ = store.states("m")
    assert error.code is Code.INTERNAL
    assert "is broken" in error.message
    store.poll()
    assert states(store)[2] == "END"  # not tried again so soon
    (folder / "broken").unlink()
    store.poll()
    assert states(store) == {1: "END", 2: "AVAILABLE"}


def test_a_version_that_failed_is_loaded_from_a_corrected_path(base, tmp_path):
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    add(wrong, 1, kind="broken")
    configs = [ModelConfig("m", wrong)]
    store = store_following(lambda: configs)
    assert states(store) == {1: "END"}
    configs[0] = ModelConfig("m", base)
    store.poll()
    assert states(store) == {1: "AVAILABLE"}


def test_a_version_stays_that_of_the_old_folder(base, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    add(other, 1)
    configs, log = [ModelConfig("m", base)], []
    store = store_following(lambda: configs, log=log.append)
    for folder in (other, base, other):
        log.clear()
        configs[0] = ModelConfig("m", folder)
        store.poll()
        store.poll()
        assert (
            log
            == [
                f"m 1: stays that of {base / '1'}. Accepted: another version "
                f"number for {other / '1'}"
            ][: folder == other]
        )
    add(other, 2)
    store.poll()
    assert states(store) == {1: "END", 2: "AVAILABLE"}


def test_a_problem_is_logged_once_until_it_changes(base):
    configs, log, damage = [ModelConfig("m", base)], [], []

    def source():
        if damage:
            raise InputError(damage[0])
        return configs

    store = store_following(source, log=log.append)

    def logged():
        log.clear()
        store.poll()
        store.poll()
        return log

    for damage[:] in (["line 1"], ["line 2"], [], ["line 2"]):
        assert logged() == [f"models are left as they are: {x}" for x in damage]
    damage.clear()
    moved = base.rename(base.with_name("elsewhere"))
    for _ in range(2):
        assert logged() == [f"{base}: no such folder"]
        assert logged() == []
        moved.rename(base)
        assert logged() == []
        base.rename(moved)


def test_loading_is_tried_again_so_often(base, monkeypatch):
    monkeypatch.setattr(model_store, "_MAX_RETRIES", 2)
    monkeypatch.setattr(model_store, "_RETRY_SECONDS", 0)
    tries = []

    def load(name, version, folder):
        tries.append(version)
        raise OSError("never")

    store = store_of(ModelConfig("m", base), load=load)
    for _ in range(5):
        store.poll()
    assert tries == [1, 1, 1]


def test_a_removed_version_makes_way_for_the_one_before(base):
    add(base, 2)
    store = store_of(ModelConfig("m", base))
    shutil.rmtree(base / "2")
    store.poll()
    assert states(store) == {1: "AVAILABLE", 2: "END"}
    add(base, 2)
    store.poll()
    assert states(store) == {1: "END", 2: "AVAILABLE"}
    shutil.rmtree(base / "1")
    shutil.rmtree(base / "2")
    store.poll()
    assert states(store) == {1: "END", 2: "END"}


def test_labels(base):
    add(base, 2)
    config = ModelConfig(
        "m", base, latest=2, labels=(("stable", 1), ("gone", 7))
    )
    store = store_of(config)
    with store.acquire("m", label="stable") as handle:
        assert handle.servable.version == 1
    assert [row[0] for row in store.states("m", label="stable")] == [1]
    with pytest.raises(ServingError, match=r"Specific\(m, 7\)"):
        store.acquire("m", label="gone")
    with pytest.raises(ServingError, match="cannot be supplied"):
        store.acquire("m", 1, "stable")


def test_a_label_moves_when_its_version_can_answer(base, monkeypatch):
    monkeypatch.setattr(model_store, "_RETRY_SECONDS", 0)
    configs = [ModelConfig("m", base, latest=2, labels=(("stable", 1),))]
    answered = []

    def stable():
        with store.acquire("m", label="stable") as handle:
            return handle.servable.version

    def load(name, version, folder):
        if version > 1:
            answered.append(stable())
        return FakeServable(name, version, folder)

    store = store_following(lambda: configs, load)
    broken = add(base, 2, kind="broken") / "broken"
    configs[0] = dataclasses.replace(configs[0], labels=(("stable", 2),))
    store.poll()
    assert answered == [1]
    assert stable() == 1
    broken.unlink()
    store.poll()
    assert answered == [1, 1]
    assert stable() == 2
    configs[0] = dataclasses.replace(configs[0], labels=())
    store.poll()
    with pytest.raises(ServingError, match="label: stable"):
        stable()


def test_a_folder_that_cannot_be_seen_leaves_the_other_models(base):
    config = ModelConfig("unseen", base / ("a" * 300))
    store = store_of(config, ModelConfig("m", base))
    assert states(store) == {1: "AVAILABLE"}
    base.rename(base.with_name("elsewhere"))
    store.poll()
    assert states(store) == {1: "AVAILABLE"}


def test_models_come_and_go_with_the_configuration(base, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    add(other, 5)
    configs = [ModelConfig("m", base), ModelConfig("n", other)]
    answers = [lambda: configs]
    store = store_following(lambda: answers[0]())
    assert store.names() == ["m", "n"]
    assert store.is_available("n")
    del configs[0]
    store.poll()
    assert store.names() == ["n"]
    assert not store.is_available("m")

    def broken():
        raise InputError("no file")

    answers[0] = broken
    store.poll()
    assert store.names() == ["n"]
    assert store.is_available("n")


# Versions whose files never answer hold up nothing but themselves.


def test_a_version_that_blocks_ends_and_later_ones_load(base, gates):
    store = store_of(ModelConfig("m", base), load_seconds=0.3)
    add(base, 2, kind="blocked")
    store.poll()
    assert states(store) in (
        {1: "AVAILABLE", 2: "LOADING"},
        {1: "AVAILABLE", 2: "END"},
    )
    wait_for(lambda: states(store)[2] == "END")
    _, _, error = store.states("m", 2)[0]
    assert error.code is Code.DEADLINE_EXCEEDED
    assert error.message == "It wasn't loaded after 0.3 s"
    with store.acquire("m") as handle:
        assert handle.servable.version == 1
    store.poll()  # no second thread hangs
    assert len(gates) == 1
    assert states(store)[2] == "END"
    add(base, 3)
    store.poll()
    assert states(store) == {1: "END", 2: "END", 3: "AVAILABLE"}
    # What comes late is nobody's any more.
    gates[2].set()
    wait_for(lambda: made[-1].version == 2 and made[-1].closed)
    store.close()


def test_a_version_loads_while_another_one_blocks(base):
    """Also at the start, and where the next poll comes soon."""
    (base / "1/blocked").touch()
    add(base, 2)
    store = ModelStore(
        lambda: [ModelConfig("m", base, all_versions=True)],
        FakeServable,
        load_seconds=1.0,
        poll_seconds=0.05,
    )
    store.start()
    assert states(store)[2] == "AVAILABLE"
    wait_for(lambda: states(store)[1] == "END")
    began = time.monotonic()
    store.close(1)
    assert time.monotonic() - began < 5


def test_one_look_waits_for_all_versions(base, monkeypatch):
    monkeypatch.setattr(model_store, "_PATIENCE", 0.05)
    add(base, 2, kind="blocked")
    config = ModelConfig("m", base, latest=2, labels=(("new", 2),))
    store = ModelStore(lambda: [config], FakeServable, poll_seconds=0)
    timer = threading.Timer(0.5, lambda: FakeServable.gates[2].set())
    timer.start()
    store.start()
    assert states(store) == {1: "AVAILABLE", 2: "AVAILABLE"}
    with store.acquire("m", label="new") as handle:
        assert handle.servable.version == 2
    store.close()


def test_a_version_that_nobody_wants_any_more_is_closed(base, monkeypatch):
    monkeypatch.setattr(model_store, "_PATIENCE", 0.05)
    (base / "1/blocked").touch()
    store = store_of(ModelConfig("m", base))
    add(base, 2)
    store.poll()
    assert states(store) == {1: "LOADING", 2: "AVAILABLE"}
    FakeServable.gates[1].set()
    wait_for(lambda: states(store)[1] == "END")
    wait_for(lambda: made[-1].version == 1 and made[-1].closed)
    store.close()


def test_a_base_folder_that_blocks_leaves_the_other_models(
    base, tmp_path, monkeypatch
):
    monkeypatch.setattr(model_store, "_LOOK_PATIENCE", 0.1)
    gone = tmp_path / "n"
    gone.mkdir()
    add(gone, 1)
    answers = threading.Event()
    look = ModelConfig.version_folders

    def version_folders(self):
        if self.name == "n":
            answers.wait(SECONDS)
        return look(self)

    monkeypatch.setattr(ModelConfig, "version_folders", version_folders)
    log, configs = [], (ModelConfig("n", gone), ModelConfig("m", base))
    store = store_of(*configs, log=log.append)
    assert states(store) == {1: "AVAILABLE"}
    assert f"{gone}: no answer after 0.1 s" in log
    add(base, 2)
    store.poll()
    assert states(store)[2] == "AVAILABLE"
    answers.set()
    wait_for(lambda: (store.poll(), store.is_available("n"))[1])
    store.close()
