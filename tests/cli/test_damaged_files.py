"""Damaged files and hostile values: one line, at once, whatever they hold."""

import contextlib
import copy
import json
import os
import shutil
import threading

import pytest

from keras_transformer.data.prepared import sealed
from keras_transformer.errors import InputError
from keras_transformer.exporting.registry.labels import read_labels
from keras_transformer.system.checksums import check_file
from keras_transformer.system.files import read_json, read_yaml
from keras_transformer.text.tokenizer import load_tokenizer
from keras_transformer.training.run import Run
from keras_transformer.training.weights import check_weights, weights_path
from tests.cli.conftest import read_prepared

HUGE = "9" * 6000
# What may stand in the place of any value of a JSON file.
WRONG = [None, 5, -1, 1.5, "x", "x" * 1000, [], {}, [[]], True, "../x", 2**70]
DEEP = "[" * 200_000
LIMIT = 400  # characters of a message, the paths of a test's folder included


def places(value, path=()):
    """The paths of all values in a JSON value; of lists, of both ends."""
    yield path
    items = value.items() if isinstance(value, dict) else ends(value)
    for key, part in items:
        yield (*path, key)
        if isinstance(part, dict | list) and part:
            yield from (p for p in places(part, (*path, key)) if len(p) > 1)


def ends(values):
    """The first and the last of a list, whose others are treated alike."""
    indices = range(len(values))
    return [(i, values[i]) for i in {*indices[:1], *indices[-1:]}]


def with_value(document, path, value):
    document = copy.deepcopy(document)
    if not path:
        return value
    part = document
    for key in path[:-1]:
        part = part[key]
    part[path[-1]] = value
    return document


def refused_in_one_line(load):
    said = ""
    try:
        load()
    except InputError as error:
        said = str(error)
    assert "\n" not in said, said
    assert len(said) < LIMIT, said


def damaged(path, load):
    """Loads with every value of a JSON file replaced by wrong ones."""
    whole = path.read_bytes()
    document = json.loads(whole)
    for place in dict.fromkeys(places(document)):
        for value in WRONG:
            path.write_text(json.dumps(with_value(document, place, value)))
            refused_in_one_line(load)
    for text in (DEEP, "{" + '"a":{' * 100_000, f"[{HUGE}]", "\ufffe"):
        path.write_text(text)
        with pytest.raises(InputError):
            load()
    path.write_bytes(whole)


@pytest.mark.medium
def test_every_value_of_a_runs_files(run, tmp_path):
    folder = shutil.copytree(run, tmp_path / "run")
    loaded = Run.load(folder)

    def load():
        str(Run.load(folder).manifest.get("initial", {}).get("run"))

    damaged(folder / "manifest.json", load)
    damaged(folder / "source_tokenizer" / "tokenizer.json", load)
    path = folder / "weights" / "best.json"
    damaged(path, lambda: loaded.check_weights("best"))
    damaged(folder / "history.jsonl", loaded.history)


@pytest.mark.medium
def test_every_value_of_prepared_data(data, tmp_path):
    folder = shutil.copytree(data, tmp_path / "data")

    path = folder / "manifest.json"

    def load():
        # Otherwise its checksum would be all that is looked at.
        with contextlib.suppress(ValueError, RecursionError, TypeError):
            manifest = json.loads(path.read_text())
            path.write_text(json.dumps(sealed(manifest)))
        read_prepared(folder)

    damaged(path, load)


def test_every_value_of_labels(tmp_path):
    labels = {"versions": {"stable": 2}, "earlier": {"stable": [1]}}
    path = tmp_path / "labels.json"
    path.write_text(json.dumps(labels))
    damaged(path, lambda: read_labels(tmp_path))


def test_a_checksum_that_is_no_text(tmp_path):
    path = weights_path(tmp_path, "best")
    path.write_bytes(b"x")
    described = {"name": path.name, "bytes": 1, "sha256": 5}
    with pytest.raises(InputError, match="description is damaged"):
        check_file(path, described, "write it again", content=True)
    (tmp_path / "best.json").write_text('{"sha256": 5}')
    with pytest.raises(InputError, match="sha256 is no list of checksums"):
        check_weights(path)


def test_a_pipe_is_taken_if_somebody_writes(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    for read, text in ((read_json, '{"a": 1}'), (read_yaml, "a: 1")):
        with pytest.raises(InputError, match="a pipe without a writer"):
            read(path)
        writer = threading.Thread(target=path.write_text, args=[text])
        writer.start()
        assert read(path) == {"a": 1}
        writer.join()


@pytest.mark.medium
def test_a_tokenizer_that_is_a_folder(run, tmp_path):
    folder = shutil.copytree(run / "source_tokenizer", tmp_path / "tokenizer")
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer.json").mkdir()
    with pytest.raises(InputError, match="Is a directory"):
        load_tokenizer(folder)
