"""A work folder: one job's, many processes', and safe from kills."""

import contextlib
import dataclasses
import errno
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import time

import pytest

from keras_transformer.errors import InputError
from keras_transformer.translation.shard_folder import (
    AlreadyJoined,
    Claims,
    open_folder,
    ranges,
)
from keras_transformer.translation.shard_manifest import BulkJob

ROOT = pathlib.Path(__file__).resolve().parents[2]
JOINED = "shard 0\nshard 1\nshard 2\n"
# Claims a byte of a file until it is killed.
CLAIMING = """
import sys, time
from keras_transformer.translation.shard_folder import Claims
claims = Claims(sys.argv[1])
print(claims.claim(int(sys.argv[2])), flush=True)
time.sleep(600)
"""


@pytest.fixture
def job(tmp_path):
    path = tmp_path / "in.txt"
    path.write_text("".join(f"{i}\n" for i in range(10)))
    texts = str(path), None, str(tmp_path / "out.txt")
    options = {"beam_size": 4, "banned": ["a"]}
    return BulkJob(*texts, 3, 1, 2, "abc", options)


def test_a_job_that_another_process_ends_meanwhile_is_done(job, monkeypatch):
    job.folder.mkdir()

    def wait(claims, number):
        shutil.rmtree(job.folder)
        pathlib.Path(job.output).write_text("done\n")

    monkeypatch.setattr(Claims, "wait", wait)
    with pytest.raises(AlreadyJoined, match="written by another process"):
        open_folder(job)
    assert not job.folder.exists()


def fill(folder, numbers):
    for number in numbers:
        with folder.writing_shard(number) as file:
            file.write(f"shard {number}\n")


def test_missing_shards_are_named(job):
    job = dataclasses.replace(job, count=12)
    with open_folder(job) as folder:
        fill(folder, [0, 4, 5])
        left = folder.join()
        assert ranges(left) == "1-3, 6-11"
        assert set(left.values()) == {"missing"}
    assert not pathlib.Path(job.output).exists()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"model": "x"}, "another model"),
        ({"count": 4}, "3 shards and not 4"),
        ({"options": {"beam_size": 4}}, "banned .* and not None"),
        ({"input": "other.txt"}, "another input"),
        ({"prefixes": "other.txt"}, "another prefix"),
    ],
    ids=["model", "count", "option", "input", "prefix"],
)
def test_another_job_is_refused(job, tmp_path, monkeypatch, change, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other.txt").write_text("x\n" * 10)
    copy = shutil.copyfile(job.input, tmp_path / "copy.txt")
    open_folder(job).__exit__()
    with pytest.raises(InputError, match=f"begun with {says}"):
        open_folder(dataclasses.replace(job, **change))
    open_folder(dataclasses.replace(job, input=str(copy))).__exit__()


@pytest.mark.parametrize("count", [9, 11])
def test_a_prefix_for_each_line(job, tmp_path, count):
    path = tmp_path / "prefixes.txt"
    path.write_text("x\n" * count)
    shorter = "prefixes.txt" if count == 9 else "input"
    with pytest.raises(InputError, match=f"no line 1[01] in .*{shorter}$"):
        open_folder(dataclasses.replace(job, prefixes=str(path)))


def shifted(text):
    """A shard that began elsewhere would be joined at the wrong place."""
    manifest = json.loads(text)
    manifest["lines"][1] += 1
    return json.dumps(manifest)


@pytest.mark.parametrize(
    "content", ["{", "[]", "{}", '{"format": 2}', '{"lines": 3}', shifted]
)
def test_a_damaged_manifest_is_refused(job, content):
    open_folder(job).__exit__()
    path = job.folder / "manifest.json"
    text = content(path.read_text()) if callable(content) else content
    path.write_text(text)
    with pytest.raises(InputError, match="manifest.json: damaged"):
        open_folder(job)


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_a_manifest_that_is_no_file_is_refused(job, tmp_path, kind):
    open_folder(job).__exit__()
    manifest = job.folder / "manifest.json"
    whole = manifest.rename(tmp_path / "whole.json")
    make = {"link": manifest.symlink_to, "pipe": lambda _: os.mkfifo(manifest)}
    make.get(kind, lambda _: manifest.mkdir())(whole)
    with pytest.raises(InputError, match="manifest.json: "):
        open_folder(job)


def test_a_folder_of_something_else_is_left_alone(job):
    job.folder.mkdir()
    (job.folder / "photo.jpg").touch()
    with pytest.raises(InputError, match="has photo.jpg but no manifest"):
        open_folder(job)
    assert (job.folder / "photo.jpg").exists()


@pytest.mark.parametrize("target", ["nowhere", "other"])
def test_claims_that_are_a_link_are_refused(job, tmp_path, target):
    (tmp_path / "other").write_text("mine")
    job.folder.mkdir()
    claims = job.folder / "claims"
    claims.symlink_to(tmp_path / target)
    with pytest.raises(OSError, match="claims") as error:
        open_folder(job)
    assert error.value.errno == errno.ELOOP
    assert not (tmp_path / "nowhere").exists()
    claims.unlink()
    os.mkfifo(claims)
    with pytest.raises(InputError, match="claims: a pipe"):
        open_folder(job)


def test_what_is_no_file_is_refused(job, tmp_path):
    for name in ("input", "output"):
        wrong = dataclasses.replace(job, **{name: str(tmp_path)})
        with pytest.raises(InputError, match="not a file. Accepted as .* with"):
            open_folder(wrong)
    with pytest.raises(FileNotFoundError):
        open_folder(dataclasses.replace(job, input=str(tmp_path / "no")))


def test_what_killed_processes_left_is_removed(job, tmp_path):
    with open_folder(job) as folder:
        left = job.folder / f".tmp-{'0' * 20}-00000-of-00003"
        left.touch()
        fill(folder, [0])
        assert not left.exists()
        fill(folder, [1, 2])
        left = tmp_path / f".tmp-{'0' * 20}-out.txt"
        others = tmp_path / f".tmp-{'0' * 20}-my-out.txt"
        left.touch()
        others.touch()
        folder.join()
    assert not left.exists()
    assert others.exists()


class Killed(BaseException):
    """As if the process had been killed."""


@pytest.mark.parametrize("moment", range(12))
def test_a_kill_while_joining_loses_nothing(job, monkeypatch, moment):
    """At whichever change of the file system it comes."""
    with open_folder(job) as folder:
        fill(folder, range(3))
        changes = itertools.count(1)

        def changing(do):
            def change(*arguments, **options):
                if next(changes) == moment:
                    raise Killed
                return do(*arguments, **options)

            return change

        path = pathlib.Path
        for module, name in (
            *((os, "rename"), (os, "replace")),
            *((path, "unlink"), (path, "rmdir")),
        ):
            changed = changing(getattr(module, name))
            monkeypatch.setattr(module, name, changed)
        with contextlib.suppress(Killed):
            folder.join()
    monkeypatch.undo()
    with open_folder(job) as after:
        left = after.unfinished(range(3))
        # All is there, or the folder was gone and this is a new one.
        assert left == [] or pathlib.Path(job.output).exists()
        fill(after, left)
        after.join()
    assert pathlib.Path(job.output).read_text() == JOINED
    assert not job.folder.exists()


DAMAGES = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:4]),
    "extended": lambda path: path.write_bytes(path.read_bytes() * 2),
    "changed": lambda path: path.write_bytes(path.read_bytes().upper()),
    "link": lambda path: (
        path.unlink() or path.symlink_to(path.with_name(OTHER))
    ),
    "pipe": lambda path: path.unlink() or os.mkfifo(path),
    "emptied": lambda path: path.write_bytes(b""),
    "another": lambda path: shutil.copyfile(path.with_name(OTHER), path),
    "device": lambda path: path.unlink() or path.symlink_to("/dev/zero"),
    "record gone": lambda path: record(path).unlink(),
    "record cut": lambda path: record(path).write_text('{"name"'),
    "record of another": lambda path: shutil.copyfile(
        record(path.with_name(OTHER)), record(path)
    ),
    "both of another": lambda path: [
        shutil.copyfile(of(path.with_name(OTHER)), of(path))
        for of in (pathlib.Path, record)
    ],
}
OTHER = "00002-of-00003"


def record(path):
    """What is written down of a shard."""
    return path.with_name(f"{path.name}.json")


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_shard_that_is_not_what_was_written_is_to_be_translated(job, damage):
    with open_folder(job) as folder:
        fill(folder, range(3))
        damage(folder.shard_path(1))
        assert list(folder.join()) == [1]
        assert not pathlib.Path(job.output).exists()
        assert folder.unfinished(range(3)) == [1]
        fill(folder, [1])
        assert folder.join() == {}
    assert pathlib.Path(job.output).read_text() == JOINED


def test_a_shard_of_another_text_is_not_this_ones(job, tmp_path):
    with open_folder(job) as folder:
        fill(folder, range(3))
    path = tmp_path / "other.txt"
    path.write_text("".join(f"{9 - i}\n" for i in range(10)))
    other = dataclasses.replace(
        job, input=str(path), output=str(tmp_path / "other")
    )
    with open_folder(other) as folder:
        for file in job.folder.glob("*-of-*"):
            shutil.copyfile(file, folder.path / file.name)
        assert list(folder.join()) == [0, 1, 2]


def test_another_process_has_joined_meanwhile(job):
    with open_folder(job) as folder:
        shutil.rmtree(job.folder)
        assert folder.unfinished(range(3)) == []
        with folder.claim(0) as is_ours:
            assert not is_ours
        with pytest.raises(InputError, match="was removed meanwhile"):
            folder.join()
        pathlib.Path(job.output).touch()
        folder.join()


def test_another_job_in_the_folder_is_not_touched(job):
    """One that began after this one's shards were joined by another."""
    with open_folder(job) as folder:
        shutil.rmtree(job.folder)
        pathlib.Path(job.output).touch()
        with open_folder(dataclasses.replace(job, model="x")) as other:
            fill(other, [0])
            folder.join()
            assert other.unfinished(range(3)) == [1, 2]


@pytest.fixture
def claiming(job):
    """Starts a process that claims a shard; gives what it says of it."""
    processes = []

    def start(shard):
        process = subprocess.Popen(
            [sys.executable, "-c", CLAIMING, job.folder / "claims"]
            + [str(shard + 1)],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            text=True,
        )
        processes.append(process)
        return process, process.stdout.readline().strip()

    yield start
    for process in processes:
        process.kill()
        process.communicate()


def test_a_claim_lasts_as_long_as_its_process(job, claiming):
    with open_folder(job) as folder:
        process, said = claiming(1)
        assert said == "True"
        with folder.claim(1) as is_ours, folder.claim(2) as is_ours_too:
            assert not is_ours
            assert is_ours_too
        process.kill()
        process.wait()
        deadline = time.monotonic() + 10
        while True:
            with folder.claim(1) as is_ours:
                if is_ours:
                    assert claiming(1)[1] == "False"
                    break
            assert time.monotonic() < deadline


def test_without_locks_everyone_gets_every_claim(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.lockf", refuse)
    one = Claims(tmp_path / "claims")
    assert one.are_kept
    assert one.claim(3)
    assert not one.are_kept
    one.close()
