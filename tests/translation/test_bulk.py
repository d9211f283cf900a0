"""Shards in turn: failures, retries, and others at the same work."""

import contextlib
import dataclasses
import pathlib
import pickle
import shutil
import threading
import typing

import pytest

from keras_transformer.errors import InputError
from keras_transformer.translation import bulk
from keras_transformer.translation.bulk import LocalAttempt, finish
from keras_transformer.translation.request import Hypothesis, Translation
from keras_transformer.translation.shard_folder import open_folder
from keras_transformer.translation.shard_manifest import BulkJob
from keras_transformer.translation.spark_attempt import ShardTask
from keras_transformer.translation.stream import one_by_one


def shout(lines):
    """Upper case; `kill` is as if a worker had died."""
    for line in lines:
        if line.startswith("kill"):
            raise InputError("a translating worker was killed")
    return [
        Translation(line, [Hypothesis(line.upper(), 0.0)], "long" in line)
        for line in lines
    ]


def plain(translation, number):
    return f"{number} {translation.hypotheses[0].text}\n"


class Bulk:
    """Translates a text in 4 shards of 2 lines, and remembers what happens."""

    def __init__(self, folder, lines):
        self.input = folder / "in.txt"
        self.input.write_bytes("".join(f"{x}\n" for x in lines).encode())
        self.opened = []
        self.truncated = []
        self.progress = []
        self.said = []
        self.translate = shout
        self.job = BulkJob(
            *(str(self.input), None, str(folder / "out.txt"), 4),
            *(1, 2, "model", {}),
        )
        self.folder = open_folder(self.job)

    @contextlib.contextmanager
    def open(self):
        self.opened.append("begin")
        yield one_by_one(lambda lines: self.translate(lines))
        self.opened.append("end")

    def finish(self, numbers=range(4), retries=2):
        """Finishes shards; why it ended with some left, None if it didn't."""
        with LocalAttempt(
            self.folder,
            self.open,
            plain,
            self.truncated.append,
            self.progress.append,
        ) as attempt:
            try:
                finish(
                    *(self.folder, numbers, attempt, retries),
                    self.said.append,
                    lambda: self.folder.discard_damaged(numbers),
                )
            except InputError as error:
                if "are left" not in str(error):
                    raise
                return str(error)
        return None

    def result(self):
        self.folder.join()
        return pathlib.Path(self.job.output).read_text()


@pytest.fixture
def make(tmp_path):
    made = []

    def make(lines="abcdefgh"):
        made.append(Bulk(tmp_path, lines))
        return made[-1]

    yield make
    for one in made:
        one.folder.__exit__()


def expected(lines):
    return "".join(f"{i} {line.upper()}\n" for i, line in enumerate(lines, 1))


def test_finished_shards_are_skipped(make):
    work = make()
    work.finish([1, 3])
    assert work.opened == ["begin", "end"]
    assert work.folder.finished_lines() == 4
    work.progress.clear()
    seen = []
    work.translate = lambda lines: [seen.extend(lines), *shout(lines)][1:]
    work.finish()
    assert sorted(seen) == ["a", "b", "e", "f"]
    assert sorted(set(work.progress)) == [5, 6, 7, 8]
    assert work.result() == expected("abcdefgh")


def test_a_failed_shard_is_tried_again_after_the_others(make):
    work = make(["a", "kill", "c", "d", "e", "f", "g", "h"])
    left = work.finish(retries=2)
    assert "1 of 4 shards are left: 0 (a translating worker was killed)" in left
    assert work.said == [
        f"shard 0 failed (try {n} of 3): a translating worker was killed"
        for n in (1, 2, 3)
    ]
    assert work.folder.unfinished(range(4)) == [0]
    # Another after each failure; the second does the other shards, too.
    assert work.opened == ["begin", "end"] * 3


def test_a_text_that_changes_meanwhile_spares_other_shards(make):
    work = make()
    content = work.input.read_bytes().replace(b"c", b"\xff")
    work.input.write_bytes(content)
    left = work.finish(retries=1)
    assert "are left: 1 (" in left
    assert "line 3: invalid UTF-8" in left
    assert len(work.said) == 2
    assert work.folder.unfinished(range(4)) == [1]


def test_another_process_that_has_joined_ends_it(make):
    work = make()

    def joined(lines):
        shutil.rmtree(work.job.folder)
        return shout(lines)

    work.translate = joined
    assert work.finish() is None


def test_waits_for_what_others_do(make, monkeypatch):
    work = make()
    monkeypatch.setattr(bulk, "_POLL_SECONDS", 0.05)
    claimed = {1, 3}

    @contextlib.contextmanager
    def claim(number):
        yield number not in claimed and bool(work.folder.unfinished([number]))

    def others():
        """One finishes its shard, the other dies."""
        with work.folder.writing_shard(1) as file:
            file.write("3 theirs\n4 theirs\n")
        claimed.clear()

    monkeypatch.setattr(work.folder, "claim", claim)
    timer = threading.Timer(0.5, others)
    timer.start()
    assert work.finish() is None
    timer.join()
    result = work.result().splitlines()
    assert result[2:4] == ["3 theirs", "4 theirs"]
    assert result[6:] == ["7 G", "8 H"]


class Loads:
    """A translator factory that counts how often it loads."""

    loaded: typing.ClassVar[list] = []

    def __call__(self):
        self.loaded.append(1)
        return shout


class Fails:
    def __call__(self):
        raise InputError("weights: damaged")


def test_a_task_of_spark_translates_from_its_folder(
    make, tmp_path, monkeypatch
):
    work = make(["a", "long", "c", "d", "e", "f", "g", "h"])
    monkeypatch.chdir(tmp_path)
    job = dataclasses.replace(work.job, input="in.txt", output="out.txt")
    task = ShardTask(job, Loads(), plain, 1, bool)
    monkeypatch.chdir("/")  # Where Spark's Python workers begin.
    task = pickle.loads(pickle.dumps(task))
    assert task(0) == ([(0, None)], [2], None)
    assert task(1) == ([(1, None)], [], None)
    assert task(1) == ([], [], None)  # It is finished.
    assert Loads.loaded == [1]
    work.input.write_text("changed\n")
    [(number, reason)] = task(2).tried
    assert (number, "changed since it was cut" in reason) == (2, True)


def test_a_task_of_spark_whose_model_is_damaged_ends_all(make):
    task = ShardTask(make().job, Fails(), plain, 1, bool)
    assert task(0).fatal == "weights: damaged"
