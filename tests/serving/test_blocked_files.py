"""Files that never answer, or are no files, of models and settings."""

import os
import time

import pytest

from keras_transformer.errors import InputError
from keras_transformer.exporting.session import SavedModelSession
from keras_transformer.serving.server.config_files import (
    read_model_configs,
)
from keras_transformer.serving.server.loading import require_regular_files
from tests.attack.served import Served
from tests.fake_models import write_version
from tests.serving.asking import ask, wait_for


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
