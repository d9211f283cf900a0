"""What the benchmark of serving serves, and how the server joins requests."""

import argparse
import pathlib
import re

from keras_transformer.exporting.server_files import batching_config
from scripts.benchmarks.models import export_forced, make_run

_LENGTH = 20  # tokens of each translation, with random weights
_THREADS = "tensorflow_intra_op_parallelism"
NAMES = (
    *re.findall(r"^(\w+) \{", batching_config(), re.MULTILINE),
    _THREADS,
)


def setting(text: str) -> dict[str, int]:
    """The values of `NAME=VALUE,...`, for `argparse`."""
    values = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        if name not in NAMES or not value.isdigit():
            raise argparse.ArgumentTypeError(
                f"{part!r}; accepted: NAME=NUMBER of {', '.join(NAMES)}"
            )
        values[name] = int(value)
    return values


def setting_name(values: dict[str, int]) -> str:
    """A setting as it was asked for; "as exported" where nothing was."""
    return ",".join(f"{k}={v}" for k, v in values.items()) or "as exported"


def server_options(values: dict[str, int], scratch: pathlib.Path) -> list[str]:
    """The options of `serve` for a setting, with requests joined.

    Args:
        values: in place of what the exported `batching.config` says.
        scratch: where a file is written.
    """
    text = batching_config()
    for name, value in values.items():
        line = re.compile(rf"^{name} .*", re.MULTILINE)
        text = line.sub(f"{name} {{ value: {value} }}", text)
    path = scratch / f"{setting_name(values)}.config"
    path.write_text(text, encoding="utf-8")
    options = ["--enable_batching", "--batching_parameters_file", str(path)]
    return [*options, *thread_options(values)]


def thread_options(values: dict[str, int]) -> list[str]:
    """The option for the threads of an operation, if the setting has one."""
    return (
        [f"--{_THREADS}", str(values[_THREADS])] if _THREADS in values else []
    )


def model(
    folder, precision: str, scratch: pathlib.Path, data=None
) -> pathlib.Path:
    """The folder of versions that is served.

    Args:
        folder: of a version or of versions; None: random weights.
        precision: of these.
        scratch: where they are put.
        data: the folder of the corpus whose vocabularies they have.
    """
    base = scratch / "model"
    if folder is None:
        version = export_forced(
            scratch, make_run(scratch, data), precision, _LENGTH
        )
        base.mkdir()
        version.rename(base / "1")
        return base
    if (folder / "saved_model.pb").is_file():
        base.mkdir()
        (base / "1").symlink_to(folder.resolve())
        return base
    return folder.resolve()
