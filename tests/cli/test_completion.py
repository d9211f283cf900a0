"""`completion`: what bash offers after the first letters of a word."""

import re
import shutil
import subprocess

import pytest

from keras_transformer.cli.completion import SHELLS
from keras_transformer.cli.main import COMMANDS, main
from keras_transformer.config.presets import PRESETS

ASK = """
source "$1"; shift
complete -p keras-transformer > /dev/null || exit 3
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMP_LINE="$*"
COMP_POINT=${#COMP_LINE}
COMPREPLY=()
$(complete -p keras-transformer | sed 's/.*-F \\([^ ]*\\) .*/\\1/') \\
    keras-transformer "${!#}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def script(capsys):
    """What is printed for a shell."""

    def printed(shell):
        assert main(["completion", shell]) == 0
        return capsys.readouterr().out

    return printed


@pytest.fixture
def offered(script, tmp_path):
    """What bash offers for the last of some words, in a folder of two."""
    path = tmp_path / "completion.bash"
    path.write_text(script("bash"), encoding="utf-8")
    folder = tmp_path / "here"
    (folder / "runs").mkdir(parents=True)
    (folder / "rows.tsv").write_text("")

    def offered(*words):
        done = subprocess.run(
            ["bash", "-c", ASK, "-", path, "keras-transformer", *words],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout.split()

    return offered


def test_commands_and_their_options_are_offered(offered):
    assert offered("") == list(COMMANDS)
    assert offered("ex") == ["export"]
    assert "--n-best" in offered("translate", "--n")
    assert offered("versions", "base", "ro") == ["rollback"]


def test_values_are_offered(offered):
    assert offered("train", "--preset", "") == ["auto", *PRESETS]
    assert offered("train", "--backend", "ja") == ["jax"]
    assert offered("completion", "") == list(SHELLS)


def test_files_and_folders_are_offered(offered):
    assert offered("translate", "--run", "r") == ["runs"]
    assert sorted(offered("translate", "--input", "r")) == ["rows.tsv", "runs"]
    assert offered("serve", "r") == ["runs"]


@pytest.mark.parametrize("shell", SHELLS)
def test_what_is_printed_is_a_script(script, shell, tmp_path):
    path = tmp_path / "script"
    path.write_text(script(shell), encoding="utf-8")
    assert re.search(r"\bexport\b", path.read_text("utf-8"))
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}")
    subprocess.run([shell, "-n", path], check=True)
