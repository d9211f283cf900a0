"""A work folder: one job's, many processes', and safe from kills."""

import contextlib
import dataclasses
import errno
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
    Claims,
    ShardFolder,
    open_folder,
    ranges,
)
from keras_transformer.translation.shard_manifest import BulkJob

ROOT = pathlib.Path(__file__).resolve().parents[2]
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
    return BulkJob(
        str(path),
        None,
        str(tmp_path / "out.txt"),
        3,
        window=2,
        model="abc",
        options={"beam_size": 4, "banned": ["a"]},
    )


def opened(job):
    return open_folder(job)[0]


def fill(folder, numbers):
    for number in numbers:
        with folder.writing_shard(number) as file:
            file.write(f"shard {number}\n")


def test_shards_are_joined_in_order_and_the_folder_goes(job):
    with opened(job) as folder:
        assert [shard.lines for shard in folder.shards] == [2, 4, 4]
        fill(folder, [2, 0])
        assert folder.unfinished(range(3)) == [1]
        assert folder.unfinished([0, 2]) == []
        fill(folder, [1])
        folder.join()
    assert pathlib.Path(job.output).read_text() == "shard 0\nshard 1\nshard 2\n"
    assert not job.folder.exists()


def test_files_are_named_by_number(job):
    with opened(job) as folder:
        fill(folder, [1])
    assert sorted(os.listdir(job.folder)) == [
        "00001-of-00003",
        "claims",
        "manifest.json",
    ]


def test_missing_shards_are_named(job):
    job = dataclasses.replace(job, count=12)
    with opened(job) as folder:
        fill(folder, [0, 4, 5])
        with pytest.raises(InputError, match="9 of 12 .*: 1-3, 6-11$"):
            folder.join()
    assert not pathlib.Path(job.output).exists()


def test_numbers_as_ranges():
    assert ranges([3, 7, 8, 9, 11, 12]) == "3, 7-9, 11-12"
    assert ranges([]) == ""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"model": "x"}, "another model"),
        ({"count": 4}, "3 shards and not 4"),
        ({"options": {"beam_size": 1}}, "banned .* and not None"),
        (
            {"options": {"beam_size": 1, "banned": ["a"]}},
            "beam_size 4 and not 1",
        ),
    ],
    ids=["model", "count", "option gone", "option"],
)
def test_another_job_is_refused(job, change, says):
    opened(job).__exit__()
    with pytest.raises(InputError, match=f"begun with {says}"):
        open_folder(dataclasses.replace(job, **change))
    opened(job).__exit__()


def test_another_input_is_refused_and_a_copy_is_not(job, tmp_path):
    opened(job).__exit__()
    copy = tmp_path / "copy.txt"
    shutil.copyfile(job.input, copy)
    os.utime(copy, (1, 1))
    moved = dataclasses.replace(job, input=str(copy))
    opened(moved).__exit__()
    for text in ("0\n1\n2\n3\n4\n5\n6\n7\n8\n8\n", "0\n"):
        copy.write_text(text)
        with pytest.raises(InputError, match="begun with another input"):
            open_folder(moved)


def test_prefixes_belong_to_the_job(job, tmp_path):
    path = tmp_path / "prefixes.txt"
    path.write_text("x\n" * 10)
    opened(job).__exit__()
    with pytest.raises(InputError, match="begun with another prefix"):
        open_folder(dataclasses.replace(job, prefixes=str(path)))


@pytest.mark.parametrize("count", [9, 11])
def test_a_prefix_for_each_line(job, tmp_path, count):
    path = tmp_path / "prefixes.txt"
    path.write_text("x\n" * count)
    shorter = "prefixes.txt" if count == 9 else "input"
    with pytest.raises(InputError, match=f"no line 1[01] in .*{shorter}$"):
        open_folder(dataclasses.replace(job, prefixes=str(path)))


def test_a_line_that_is_not_utf8_is_told_at_the_start(job):
    with pathlib.Path(job.input).open("ab") as file:
        file.write(b"\xff\n")
    folder, line = open_folder(job)
    folder.__exit__()
    assert line == 11
    folder, line = open_folder(job)
    folder.__exit__()
    assert line is None  # It isn't read again.


@pytest.mark.parametrize(
    "content", ["{", "[]", "{}", '{"format": 1}', '{"shards": 3}']
)
def test_a_damaged_manifest_is_refused(job, content):
    opened(job).__exit__()
    (job.folder / "manifest.json").write_text(content)
    with pytest.raises(InputError, match="manifest.json: damaged"):
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
    (job.folder / "claims").symlink_to(tmp_path / target)
    with pytest.raises(OSError, match="claims") as error:
        open_folder(job)
    assert error.value.errno == errno.ELOOP
    assert not (tmp_path / "nowhere").exists()


def test_claims_that_are_a_pipe_are_refused(job):
    job.folder.mkdir()
    os.mkfifo(job.folder / "claims")
    with pytest.raises(InputError, match="claims: a pipe"):
        open_folder(job)


def test_what_is_no_file_is_refused(job, tmp_path):
    for name in ("input", "output"):
        wrong = dataclasses.replace(job, **{name: str(tmp_path)})
        with pytest.raises(InputError, match="not a file. Accepted with"):
            open_folder(wrong)
    with pytest.raises(FileNotFoundError):
        open_folder(dataclasses.replace(job, input=str(tmp_path / "no")))


def test_a_failed_shard_leaves_nothing(job):
    def write_half(file):
        file.write("half")
        raise KeyError

    with opened(job) as folder:
        with pytest.raises(KeyError):
            with folder.writing_shard(0) as file:
                write_half(file)
        assert folder.unfinished([0]) == [0]
        assert sorted(os.listdir(job.folder)) == ["claims", "manifest.json"]


def test_what_killed_processes_left_is_removed(job, tmp_path):
    with opened(job) as folder:
        left = job.folder / ".tmp-0123abcd-00000-of-00003"
        left.touch()
        fill(folder, [0])
        assert not left.exists()
        fill(folder, [1, 2])
        left = tmp_path / ".tmp-0123abcd-out.txt"
        others = tmp_path / ".tmp-0123abcd-my-out.txt"
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
    with opened(job) as folder:
        fill(folder, range(3))
        changes = 0

        def changing(do):
            def change(*arguments, **options):
                nonlocal changes
                changes += 1
                if changes == moment:
                    raise Killed
                return do(*arguments, **options)

            return change

        for module, name in (
            (os, "rename"),
            (os, "replace"),
            (pathlib.Path, "unlink"),
            (pathlib.Path, "rmdir"),
        ):
            changed = changing(getattr(module, name))
            monkeypatch.setattr(module, name, changed)
        with contextlib.suppress(Killed):
            folder.join()
    monkeypatch.undo()
    after, _ = open_folder(job)
    if after is not None:
        with after:
            left = after.unfinished(range(3))
            # All is there, or the folder was gone and this is a new one.
            assert left == [] or pathlib.Path(job.output).exists()
            fill(after, left)
            after.join()
    assert pathlib.Path(job.output).read_text() == "shard 0\nshard 1\nshard 2\n"
    assert not job.folder.exists()


def test_a_joined_folder_of_another_job_is_emptied(job):
    with opened(job) as folder:
        fill(folder, range(3))
    (job.folder / "manifest.json").rename(job.folder / "joined.json")
    pathlib.Path(job.output).write_text("old")
    with opened(dataclasses.replace(job, model="x")) as folder:
        assert folder.unfinished(range(3)) == [0, 1, 2]
    assert pathlib.Path(job.output).read_text() == "old"


def test_a_joined_folder_without_its_output_begins_anew(job):
    with opened(job) as folder:
        fill(folder, range(3))
    (job.folder / "manifest.json").rename(job.folder / "joined.json")
    with opened(job) as folder:
        assert folder.unfinished(range(3)) == [0, 1, 2]


def test_another_process_has_joined_meanwhile(job):
    with opened(job) as folder:
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
    with opened(job) as folder:
        shutil.rmtree(job.folder)
        pathlib.Path(job.output).touch()
        with opened(dataclasses.replace(job, model="x")) as other:
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
    with opened(job) as folder:
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


def test_a_finished_shard_is_not_claimed(job):
    with opened(job) as folder:
        fill(folder, [0])
        with folder.claim(0) as is_ours:
            assert not is_ours


def test_without_locks_everyone_gets_every_claim(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.lockf", refuse)
    one = Claims(tmp_path / "claims")
    assert one.are_kept
    assert one.claim(3)
    assert not one.are_kept
    one.close()


def test_a_manifest_tells_what_was_begun(job):
    with opened(job) as folder:
        content = json.loads((folder.path / "manifest.json").read_text())
        with ShardFolder(job) as again:
            assert again.shards == folder.shards
    assert content["input"]["name"] == "in.txt"
    assert content["input"]["bytes"] == 20
    assert len(content["input"]["sha256"]) == 64
    assert content["options"] == job.options
