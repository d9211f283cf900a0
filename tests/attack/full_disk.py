"""Runs a command again and again, each time with files that can't grow.

`python -m tests.attack.full_disk` reads a JSON object from stdin: `words` of
the command, with `{out}` for its folder; `again`, words beside them where the
folder has a manifest; `begin`, a folder of which the command's is a copy, or
null; `folder`, for all that is written; `points`. It runs the command without
a limit, then with as many limits as points, then once more without one, where
the last point has left off. It prints a JSON list of what came of each.

A limit on the size of files is what any user may set, and the system refuses
the byte that is too many, whoever writes it: Python, HDF5, TensorFlow, or a
process that the command has started.
"""

import contextlib
import io
import json
import pathlib
import random
import resource
import shutil
import sys
import time
import traceback


def attack(plan: dict) -> list[dict]:
    """All runs of a command; see the module."""
    folders = [
        pathlib.Path(plan["folder"]) / f"{number}" / "out"
        for number in range(plan["points"] + 1)
    ]
    for folder in folders:
        folder.parent.mkdir()
        if plan["begin"]:
            shutil.copytree(plan["begin"], folder)
    before = _sizes(folders[0])
    done = [_run(plan, folders[0], None)]
    written = _sizes(folders[0]) - before
    for limit, folder in zip(
        _limits(written, plan["points"]), folders[1:], strict=True
    ):
        done.append(_run(plan, folder, limit))
    kept = folders[-1].with_name("again")
    if folders[-1].exists():
        shutil.copytree(folders[-1], kept)
    done.append(_run(plan, kept, None))
    return done


def _sizes(folder):
    """The files of a folder, and what they hold of bytes."""
    return {
        (str(path.relative_to(folder)), path.stat().st_mtime_ns, size)
        for path in folder.rglob("*")
        if path.is_file() and (size := path.stat().st_size)
    }


def _limits(written, count):
    """Limits, each smaller than the largest file; the first is 0."""
    chance = random.Random(0)
    sizes = sorted(size for *_, size in written)
    limits = [
        0,
        *(int(chance.choice(sizes) * chance.random()) for _ in range(count)),
    ]
    return limits[:count]


def _run(plan, folder, limit) -> dict:
    """Runs the command once, with files of so many bytes at most."""
    from keras_transformer.cli.main import main

    words = [word.replace("{out}", str(folder)) for word in plan["words"]]
    if (folder / "manifest.json").exists():
        words += plan["again"]
    _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    said = io.StringIO()
    began = time.monotonic()
    with (
        contextlib.redirect_stderr(said),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        resource.setrlimit(
            resource.RLIMIT_FSIZE, (most if limit is None else limit, most)
        )
        try:
            status = main(words)
        except BaseException:
            status = None
            traceback.print_exc()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
    return {
        "folder": str(folder),
        "limit": limit,
        "status": status,
        "said": said.getvalue(),
        "seconds": time.monotonic() - began,
    }


if __name__ == "__main__":
    print(json.dumps(attack(json.load(sys.stdin))))
