"""What is said on a terminal, which obeys no file and no server."""

import argparse
import io
import json
import sys

import pytest

from keras_transformer.cli import console, info, main
from keras_transformer.errors import InputError
from keras_transformer.system import machine
from tests.processes import run_python

# It names the window, clears the screen, and turns the direction of writing.
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202e"
SHOWN = r"\x1b]0;owned\x07\x1b[2J\x9b31m\x7f\u202e"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a plain text, 狗", "a plain text, 狗"),
        (HOSTILE, SHOWN),
        ("a\nb\tc\rd", r"a\nb\tc\rd"),
        ("\ud800 \u2028 \ufeff \U000e0041", r"\ud800 \u2028 \ufeff \U000e0041"),
        # The joiners of Persian and of emoji.
        ("می\u200cخواهم 👩\u200d🔬", "می\u200cخواهم 👩\u200d🔬"),
        # What is there stays, and so does what Unicode got later.
        ("C:\\x1b \u00a0\u3000\U0010fffd", "C:\\x1b \u00a0\u3000\U0010fffd"),
    ],
)
def test_what_a_terminal_would_obey_is_shown(text, shown):
    assert console.visible(text) == shown


def test_errors_obey_nothing(capsys):
    console.tell_error(f"{HOSTILE}: no\n such\tfile\ud800")
    assert capsys.readouterr().err == (
        f"keras-transformer: error: {SHOWN}: no such file\\ud800\n"
    )


def test_a_long_error_stays_short(capsys):
    console.tell_error("\x1b" * 10**5)
    assert len(capsys.readouterr().err) < 2100


def test_lines_obey_nothing_but_their_ends(capsys, monkeypatch):
    monkeypatch.setattr(console, "_speaker", "")
    console.say_as("host\x1b")
    console.say(f"{HOSTILE}\r\none\ttwo")
    said = capsys.readouterr().err
    assert said == f"host\\x1b: {SHOWN}\\r\none\ttwo\n"


@pytest.fixture
def described(tmp_path, capsys):
    """Runs `info` on an export that says of itself what it is given."""

    def run(description, as_json):
        path = tmp_path / "1" / "assets.extra" / "keras_transformer.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(description))
        info.run(argparse.Namespace(folder=path.parents[1], json=as_json))
        return capsys.readouterr().out

    return run


@pytest.mark.parametrize("as_json", [True, False])
def test_info_is_printable(described, as_json):
    said = {"format": HOSTILE, "a": ["\ud800", "\u202e", "狗"]}
    out = described(said, as_json)
    assert out.replace("\n", "").isprintable()
    if as_json:
        assert json.loads(out) == {"kind": "export", **said}
    else:
        assert "狗" in out


def test_info_of_too_many_levels(described):
    said = {"format": 1, "a": []}
    for _ in range(500):
        said["a"] = [said["a"]]
    with pytest.raises(InputError, match="nested too deeply. Accepted"):
        described(said, False)


@pytest.mark.parametrize("variables", [{}, {"LC_ALL": "C", "PYTHONUTF8": "0"}])
def test_arguments_are_utf_8_in_every_locale(variables):
    code = (
        "import sys\n"
        "from keras_transformer.cli.console import argument_text\n"
        "print(ascii(argument_text(sys.argv[1], 'TEXT')))"
    )
    done = run_python(
        *("-c", code, "caf\xe9"), PYTHONCOERCECLOCALE="0", **variables
    )
    assert done.stdout == "'caf\\xe9'\n"


def test_output_is_what_a_reader_takes_its_name_for(tmp_path):
    (tmp_path / "link.gz").symlink_to("linked.txt")
    for name in ("a.txt", "a.txt.gz", "a.GZ", "link.gz"):
        path = tmp_path / name
        for _ in range(2):
            before = path.exists() and path.read_bytes()
            with console.output_file(path) as file:
                file.write("ü\n好\n")
                file.flush()
        assert list(console.input_lines(path)) == ["ü\n", "好\n"]
        # Neither a name nor a time is in it.
        assert path.read_bytes() == before


class Terminal(io.StringIO):
    """A terminal; what it shows in the end, line by line."""

    def isatty(self):
        return True

    def lines(self):
        shown = []
        for line in self.getvalue().replace("\x1b[A", "").split("\n"):
            cells: list = []
            for part in line.split("\r"):
                cells[: len(part)] = part
            shown.append("".join(cells).rstrip())
        return shown


def test_what_is_said_beside_a_bar_is_a_line_of_its_own(monkeypatch):
    """Of warnings, of errors and of lines for the person."""
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with console.Progress("translating", 10) as progress:
        progress.update(3)
        console.say("a line")
        progress.update(4)
        main._show_warning("cut off", UserWarning, __file__, 1)
        console.tell_error("broken")
        progress.update(5)
    said = [line for line in terminal.lines() if line]
    wanted = ["a line", "warning: cut off", "keras-transformer: error: broken"]
    assert said[:3] == wanted
    assert len(said) == 3  # The bar is gone.


ON_AN_OLDER_PROCESSOR = """
import os, pathlib, sys
from keras_transformer.system import machine
machine._CPUINFO = pathlib.Path(sys.argv[1])
from keras_transformer.cli.main import main
main(sys.argv[2:])
print(os.environ.get(machine.USES_ONEDNN))
"""


@pytest.mark.medium
@pytest.mark.parametrize(
    ("lines", "words", "said"),
    [
        (1, ["translate", "--format=lines"], "None"),
        (40, ["translate", "--format=lines", "--workers=1"], "1"),
        (40, ["evaluate"], "1"),
    ],
)
def test_batches_alone_are_left_to_onednn(
    lines, words, said, run, write, monkeypatch
):
    monkeypatch.delenv(machine.USES_ONEDNN, raising=False)
    cpuinfo = write("cpuinfo", "flags : fpu avx2\n")
    path = write("pairs.tsv", "a b\tb a\n" * lines)
    command, *options = words
    done = run_python(
        *("-c", ON_AN_OLDER_PROCESSOR, cpuinfo, command, "--run", run),
        *("--input", path, *options),
        timeout=300,
    )
    assert done.stdout.splitlines()[-1] == said
