"""Versions whose files never answer hold up nothing but themselves."""

import os
import threading
import time

import pytest

from keras_transformer.contract.status import Code
from keras_transformer.errors import InputError
from keras_transformer.exporting.session import SavedModelSession
from keras_transformer.serving.server import model_store
from keras_transformer.serving.server.config_files import (
    ModelConfig,
    read_model_configs,
)
from keras_transformer.serving.server.loading import require_regular_files
from keras_transformer.serving.server.model_store import ModelStore
from tests.attack.served import Served
from tests.fake_models import write_version
from tests.serving.asking import ask, wait_for

SECONDS = 60


class FakeServable:
    """Its loading waits for ever where its folder has a file `blocked`."""

    gates = {}

    def __init__(self, name, version, folder):
        if (folder / "blocked").exists():
            gate = self.gates.setdefault(version, threading.Event())
            gate.wait(SECONDS)
        self.version = version
        self.closed = False
        made.append(self)

    def close(self):
        self.closed = True


made = []


@pytest.fixture(autouse=True)
def gates():
    """Opened in the end, so that no thread is left."""
    made.clear()
    FakeServable.gates = {}
    yield FakeServable.gates
    for gate in FakeServable.gates.values():
        gate.set()


def add(base, version, blocked=False):
    folder = base / str(version)
    folder.mkdir(parents=True)
    if blocked:
        (folder / "blocked").touch()


def states(store, name="m"):
    return {number: s.name for number, s, _ in store.states(name)}


def test_a_version_that_blocks_ends_and_later_ones_load(tmp_path, gates):
    base = tmp_path / "m"
    add(base, 1)
    store = ModelStore(
        lambda: [ModelConfig("m", base)], FakeServable, load_seconds=0.3
    )
    store.poll()
    add(base, 2, blocked=True)
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


def test_a_version_loads_while_another_one_blocks(tmp_path):
    """Also at the start, and where the next poll comes soon."""
    base = tmp_path / "m"
    add(base, 1, blocked=True)
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


def test_one_look_waits_for_all_versions(tmp_path, monkeypatch):
    monkeypatch.setattr(model_store, "_PATIENCE", 0.05)
    base = tmp_path / "m"
    add(base, 1)
    add(base, 2, blocked=True)
    config = ModelConfig("m", base, latest=2, labels=(("new", 2),))
    store = ModelStore(lambda: [config], FakeServable, poll_seconds=0)
    timer = threading.Timer(0.5, lambda: FakeServable.gates[2].set())
    timer.start()
    store.start()
    assert states(store) == {1: "AVAILABLE", 2: "AVAILABLE"}
    with store.acquire("m", label="new") as handle:
        assert handle.servable.version == 2
    store.close()


def test_a_version_that_nobody_wants_any_more_is_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(model_store, "_PATIENCE", 0.05)
    base = tmp_path / "m"
    add(base, 1, blocked=True)
    store = ModelStore(lambda: [ModelConfig("m", base)], FakeServable)
    store.poll()
    add(base, 2)
    store.poll()
    assert states(store) == {1: "LOADING", 2: "AVAILABLE"}
    FakeServable.gates[1].set()
    wait_for(lambda: states(store)[1] == "END")
    wait_for(lambda: made[-1].version == 1 and made[-1].closed)
    store.close()


def test_a_base_folder_that_blocks_leaves_the_other_models(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(model_store, "_LOOK_PATIENCE", 0.1)
    there, gone = tmp_path / "m", tmp_path / "n"
    add(there, 1)
    add(gone, 1)
    answers = threading.Event()
    look = ModelConfig.version_folders

    def version_folders(self):
        if self.name == "n":
            answers.wait(SECONDS)
        return look(self)

    monkeypatch.setattr(ModelConfig, "version_folders", version_folders)
    log = []
    store = ModelStore(
        lambda: [ModelConfig("n", gone), ModelConfig("m", there)],
        FakeServable,
        log=log.append,
    )
    store.poll()
    assert states(store) == {1: "AVAILABLE"}
    assert f"{gone}: no answer after 0.1 s" in log
    add(there, 2)
    store.poll()
    assert states(store)[2] == "AVAILABLE"
    answers.set()
    wait_for(lambda: (store.poll(), store.is_available("n"))[1])
    store.close()


@pytest.mark.parametrize("where", ["saved_model.pb", "variables/variables.x"])
def test_only_regular_files_are_read(tmp_path, where):
    (tmp_path / "variables").mkdir()
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "variables" / "circle").symlink_to(tmp_path)
    (tmp_path / "nowhere").symlink_to("missing")
    require_regular_files(tmp_path)
    os.mkfifo(tmp_path / where)
    with pytest.raises(InputError, match=f"{where}: not a regular file"):
        require_regular_files(tmp_path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "linked").symlink_to(tmp_path / where)
    with pytest.raises(InputError, match="linked: not a regular file"):
        require_regular_files(elsewhere)


@pytest.mark.parametrize("name", ["saved_model.pb", "saved_model.pbtxt"])
def test_a_graph_that_is_larger_than_any_is_not_read(tmp_path, name):
    """A hole of a terabyte takes no space, and all memory to be read."""
    with (tmp_path / name).open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(InputError, match=f"{name}: 1,099,511,627,776 bytes"):
        SavedModelSession(tmp_path)


def test_a_configuration_that_is_a_pipe_nobody_writes_to(tmp_path):
    os.mkfifo(tmp_path / "models.config")
    with pytest.raises(InputError, match="a pipe without a writer"):
        read_model_configs(tmp_path / "models.config")


def test_a_pipe_in_a_version_folder(tmp_path):
    """The command passes it over, and stops in time."""
    base = tmp_path / "toy"
    write_version(base, 1, mark="1")
    options = ("--model_base_path", base, "--drain-seconds", 2)
    with Served(*options, "--file_system_poll_wait_seconds", 0.2) as server:
        blocked = tmp_path / "blocked"
        blocked.mkdir()
        os.mkfifo(blocked / "saved_model.pb")
        blocked.rename(base / "2")

        def status(version):
            answer = ask(server.host, f"/v1/models/toy/versions/{version}")
            return answer.body.decode()

        wait_for(lambda: "not a regular file" in status(2))
        assert '"FAILED_PRECONDITION"' in status(2)
        assert '"END"' in status(2)
        write_version(base, 3, mark="3")
        wait_for(lambda: '"AVAILABLE"' in status(3))
        began = time.monotonic()
    assert server.process.returncode == 0
    assert time.monotonic() - began < 20
