"""Files of models that never answer, or are no files."""

import os
import shutil
import time

import pytest

from keras_transformer.errors import InputError
from keras_transformer.exporting.session import SavedModelSession
from keras_transformer.serving.server.config_files import ModelConfig
from keras_transformer.serving.server.loading import require_regular_files
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


def test_a_pipe_in_a_version_folder(tmp_path, toy_base, serve):
    """The server passes it over, and stops in time."""
    base, blocked = tmp_path / "toy", tmp_path / "blocked"
    shutil.copytree(toy_base / "1", base / "1")
    blocked.mkdir()
    os.mkfifo(blocked / "saved_model.pb")
    server = serve(models=(ModelConfig("toy", base),), poll_seconds=0.05)

    def status(version):
        path = f"/v1/models/toy/versions/{version}"
        return ask(server, path).body.decode()

    blocked.rename(base / "2")
    wait_for(lambda: "not a regular file" in status(2))
    assert '"FAILED_PRECONDITION"' in status(2)
    assert '"END"' in status(2)
    shutil.copytree(toy_base / "2", tmp_path / "3").rename(base / "3")
    wait_for(lambda: '"AVAILABLE"' in status(3))
    began = time.monotonic()
    server.stop()
    assert time.monotonic() - began < 20
