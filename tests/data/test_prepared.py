import json
import os
import shutil

import numpy as np
import pytest

from keras_transformer.data.prepared import PreparedData, sealed
from keras_transformer.errors import InputError


@pytest.fixture
def copy(prepared, tmp_path):
    """A copy of prepared data, to be damaged."""
    return shutil.copytree(prepared.path, tmp_path / "copy")


def change_manifest(folder, **changes):
    path = folder / "manifest.json"
    manifest = json.loads(path.read_text()) | changes
    path.write_text(json.dumps(sealed(manifest)))


def refused(folder, match):
    with pytest.raises(InputError, match=match) as caught:
        PreparedData.load(folder)
    assert "\n" not in str(caught.value)


def test_loaded_data_offers_everything(copy, prepared):
    data = PreparedData.load(str(copy))
    assert data.counts == prepared.counts
    assert data.fingerprint == prepared.fingerprint
    assert len(data.files("train")) == 4
    assert all(path.is_file() for path in data.files("train"))
    assert sum(data.shard_sizes("train")) == 400
    assert data.lengths("train").shape == (400, 2)
    assert list(data.dev_pairs()) == [
        ("the mouse ran", "老鼠跑了"),
        ("nine mice ran", "九只老鼠跑了"),
    ]
    assert (
        data.source_tokenizer.fingerprint()
        == prepared.source_tokenizer.fingerprint()
    )
    data.verify()


def test_lengths_are_those_of_the_records(prepared):
    lengths = prepared.lengths("dev")
    # Characters that training doesn't have are three bytes each.
    assert sorted(lengths.tolist()) == [[3, 12], [3, 18]]
    assert lengths.dtype == np.int32


def test_unknown_split_is_refused(prepared):
    with pytest.raises(InputError, match="no test split. Has: train, dev"):
        prepared.files("test")


def test_folder_that_is_no_prepared_data(copy, write, tmp_path):
    refused("gs://bucket/data", "an address. Accepted: a folder of this")
    refused(tmp_path / "none", "is no folder. Accepted: a folder written by")
    refused(tmp_path, r"has no manifest\.json. Accepted: a folder written by")
    refused(write("file", "x"), "is no folder")
    for content in (b"[]", b'{"format": "keras_transformer.run"}', b"{"):
        (copy / "manifest.json").write_bytes(content)
        refused(copy, "not JSON" if content == b"{" else "not of prepared data")


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"format_version": 99}, "format version 99. Accepted: 1"),
        ({"counts": None}, "damaged, counts is missing or wrong"),
        ({"counts": {}, "splits": {"train": {}}}, "damaged list of files"),
        ({"config": {"max_lenght": 5}}, "data.max_lenght, did you mean data.m"),
        (
            {"tokenizer_fingerprints": None},
            "damaged, tokenizer_fingerprints is missing or wrong",
        ),
    ],
)
def test_damaged_manifest(copy, changes, match):
    change_manifest(copy, **changes)
    refused(copy, match)


@pytest.mark.parametrize("key", ["pairs", "sha256", "bytes", "name"])
def test_a_shard_that_is_not_described_is_refused(copy, key):
    splits = json.loads((copy / "manifest.json").read_text())["splits"]
    del splits["train"]["shards"][1][key]
    change_manifest(copy, splits=splits)
    file = key in ("bytes", "sha256")
    says = "its description is damaged" if file else "damaged list of files"
    refused(copy, says)


@pytest.mark.parametrize("name", ["train-00001", "train.lengths", "dev.tsv"])
def test_missing_file_is_named(copy, name):
    (path,) = copy.glob(f"{name}*")
    path.unlink()
    refused(copy, f"{path.name}: No such file.*prepare the data again")


def test_changed_shards_are_named(copy):
    (path,) = copy.glob("train-00002*")
    content = bytearray(path.read_bytes())
    content[50] ^= 1
    path.write_bytes(content)
    data = PreparedData.load(copy)
    with pytest.raises(InputError, match="train-00002.*damaged, its SHA-256"):
        data.verify()
    os.truncate(path, path.stat().st_size - 1)
    refused(copy, r"train-00002.*damaged, \d+ bytes and not \d+")


def test_missing_tokenizer_is_named(copy):
    shutil.rmtree(copy / "target_tokenizer")
    with pytest.raises(InputError, match="target_tokenizer"):
        _ = PreparedData.load(copy).target_tokenizer


def test_damaged_lengths_are_named(copy):
    data, path = PreparedData.load(copy), copy / "train.lengths.npy"
    # Python's tokenizer fails at such a header.
    bad_header = path.read_bytes().replace(b")", b"!", 1)
    for content in (b"no array", bad_header):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"train\.lengths\.npy: damaged"):
            data.lengths("train")
    np.save(path, np.zeros((3, 2), np.int32))
    with pytest.raises(InputError, match=r"damaged \(shape \(3, 2\)\)"):
        data.lengths("train")


def test_a_manifest_that_was_changed_is_refused(copy):
    path = copy / "manifest.json"
    manifest = json.loads(path.read_text()) | {"report": {}}
    unsealed = {k: v for k, v in manifest.items() if k != "manifest_sha256"}
    for changed in (manifest, unsealed):
        path.write_text(json.dumps(changed))
        refused(copy, "changed since the data was prepared .its SHA-256 is not")


@pytest.mark.parametrize("side", ["source", "target"])
def test_another_tokenizer_is_refused(copy, prepared, side):
    other = prepared.path / f"{'target' if side == 'source' else 'source'}"
    shutil.rmtree(copy / f"{side}_tokenizer")
    shutil.copytree(f"{other}_tokenizer", copy / f"{side}_tokenizer")
    data = PreparedData.load(copy)
    says = f"{side}_tokenizer: not the tokenizer that the data was prepared"
    with pytest.raises(InputError, match=says):
        getattr(data, f"{side}_tokenizer")
