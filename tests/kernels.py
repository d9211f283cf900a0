"""Notebooks that run in a kernel of their own."""

import pathlib

import pytest

from tests.processes import run_python


def executed(notebook, folder: pathlib.Path, seconds: int):
    """A notebook after all of its cells have run, in order.

    Args:
        notebook: of nbformat; its outputs are dropped.
        folder: that the kernel begins in.
        seconds: for all cells.
    """
    nbformat = pytest.importorskip("nbformat", reason="needs the extra [docs]")
    for module in ("nbclient", "ipykernel"):
        pytest.importorskip(module, reason="needs the extra [dev]")
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["outputs"] = []
    path = folder / "notebook.ipynb"
    nbformat.write(notebook, path)
    # In a process: its warnings aren't this project's.
    run = "import sys; from nbclient.cli import main; sys.exit(main())"
    run_python("-c", run, "--inplace", path, folder=folder, timeout=seconds)
    return nbformat.read(path, as_version=4)


def output_of(cell) -> str | None:
    """What a cell prints on stdout; None: nothing."""
    streams = [
        one["text"] for one in cell["outputs"] if one.get("name") == "stdout"
    ]
    return "".join(streams) if streams else None
