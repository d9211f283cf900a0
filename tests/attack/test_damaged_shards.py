"""Damaged shards: the result is that of whole ones, or one line refuses.

At the full size 400 folders: files cut, extended, lost, exchanged, links,
pipes, devices, manifests and records edited, and files of others among them.
"""

import contextlib
import pathlib
import shutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.errors import InputError
from keras_transformer.translation.bulk import LocalAttempt, finish
from keras_transformer.translation.request import Hypothesis, Translation
from keras_transformer.translation.shard_folder import open_folder
from keras_transformer.translation.shard_manifest import BulkJob
from keras_transformer.translation.stream import one_by_one
from tests.attack.damage_grammar import (
    FOREIGN_NAMES,
    folder_damages,
    json_damages,
)
from tests.attack.examples import attacking

pytestmark = pytest.mark.slow
SHARDS = 5
LINES = [f"line {n}" for n in range(12)]
EXPECTED = "".join(f"{line.upper()}\n" for line in LINES)
LONGEST = 1200  # characters of a message


def shout(lines):
    return [Translation(x, [Hypothesis(x.upper(), 0.0)], False) for x in lines]


def text_of(translation, number):
    return f"{translation.hypotheses[0].text}\n"


def translate(job, numbers=range(SHARDS), join=True):
    """Translates shards; why that was refused, None if it wasn't."""
    try:
        with (
            open_folder(job) as folder,
            LocalAttempt(
                folder,
                lambda: contextlib.nullcontext(one_by_one(shout)),
                text_of,
                lambda line: None,
                lambda done: None,
            ) as attempt,
        ):
            end = folder.join if join else dict
            finish(folder, numbers, attempt, 2, lambda line: None, end)
    except InputError as error:
        return str(error)
    except OSError as error:  # As the command line says it.
        return f"{error.filename}: {error.strerror}"
    return None


@pytest.fixture
def job(tmp_path):
    source = tmp_path / "in.txt"
    source.write_text("".join(f"{line}\n" for line in LINES))
    out = str(tmp_path / "out.txt")
    return BulkJob(str(source), None, out, SHARDS, 1, 2, "model", {})


def check(job, attack, damage, foreign):
    """Damages a folder of shards, and has the rest translated."""
    output = pathlib.Path(job.output)
    shutil.rmtree(job.folder, ignore_errors=True)
    output.unlink(missing_ok=True)
    assert translate(job, [0, 2, 3], join=False) is None
    damage(job.folder)
    for name, content in foreign.items():
        (job.folder / name).write_bytes(content)
    source = pathlib.Path(job.input).read_bytes()
    with attack.one():
        refused = translate(job)
    if refused is None:
        assert output.read_text() == EXPECTED
        assert sorted(foreign) == sorted(
            path.name for path in job.folder.glob("*")
        )
    else:
        assert not output.exists()
        assert "\n" not in refused
        assert len(refused) < LONGEST
    for name, content in foreign.items():
        assert (job.folder / name).read_bytes() == content
    assert pathlib.Path(job.input).read_bytes() == source


def test_damaged_shards(job, share, figures):
    @attacking(share(300))
    @given(
        st.lists(folder_damages(), min_size=1, max_size=4),
        st.dictionaries(FOREIGN_NAMES, st.binary(max_size=20), max_size=3),
    )
    def attacked(damages, foreign):
        def damage(folder):
            for damage in damages:
                with contextlib.suppress(OSError):  # One after the other.
                    damage(folder)

        check(job, attack, damage, foreign)

    with figures.attack("damaged_shards") as attack:
        attacked()


def test_edited_manifests_and_records(job, share, figures):
    @attacking(share(100))
    @given(st.sampled_from(["manifest.json", "00002-of-00005.json"]), st.data())
    def attacked(name, data):
        def damage(folder):
            path = folder / name
            path.write_bytes(data.draw(json_damages())(path.read_bytes()))

        check(job, attack, damage, {})

    with figures.attack("edited_manifests_of_shards") as attack:
        attacked()
