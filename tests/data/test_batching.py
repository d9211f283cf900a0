import functools
import shutil
import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.constants import END_ID, PAD_ID, START_ID
from keras_transformer.data import records
from keras_transformer.data.batch_plan import few_lengths
from keras_transformer.data.batching import (
    TrainingBatches,
    evaluation_batches,
    report_damaged_shards,
)
from keras_transformer.data.model_inputs import FRAME_LENGTHS, pair_batches
from keras_transformer.data.prepared import PreparedData
from keras_transformer.errors import InputError
from tests.data.conftest import stored_ids
from tests.processes import run_python

# Four shards of about 100 pairs: each a pool; two of them together; one pool
# from all; two or more pools from each.
BUFFERS = [130, 250, 1000, 60]


def padding_share(batches):
    """PAD positions over all positions of `source_ids` and `target_ids`."""
    padding = positions = 0
    for features, _ in batches:
        for name in ("source_ids", "target_ids"):
            padding += int((features[name] == PAD_ID).sum())
            positions += features[name].size
    return padding / positions if positions else 0.0


def batches_of(dataset):
    return list(dataset.as_numpy_iterator())


def unframed(batch):
    """The plain pairs in a batch; checks its form."""
    features, labels = batch
    sources, targets = features["source_ids"], features["target_ids"]
    assert sources.dtype == targets.dtype == labels.dtype == np.int32
    assert targets.shape == labels.shape
    pairs = []
    for source, target, label in zip(sources, targets, labels, strict=True):
        source_length = int((source != PAD_ID).sum())
        target_length = int((target != PAD_ID).sum())
        assert source[0] == target[0] == START_ID
        assert source[source_length - 1] == END_ID
        assert label[target_length - 1] == END_ID
        assert not source[source_length:].any()
        assert not target[target_length:].any()
        assert not label[target_length:].any()
        np.testing.assert_array_equal(
            target[1:target_length], label[: target_length - 1]
        )
        pairs.append(
            (
                tuple(source[1 : source_length - 1].tolist()),
                tuple(target[1:target_length].tolist()),
            )
        )
    return pairs


def pairs_in(batches):
    return [pair for batch in batches for pair in unframed(batch)]


def stored_pairs(prepared, split):
    sides = [side.to_list() for side in stored_ids(prepared, split)]
    return [(tuple(s), tuple(t)) for s, t in zip(*sides, strict=True)]


def same(first, second):
    return len(first) == len(second) and all(
        np.array_equal(a[0][name], b[0][name]) and np.array_equal(a[1], b[1])
        for a, b in zip(first, second, strict=True)
        for name in a[0]
    )


def check_epochs(make):
    """What is drawn anew in each epoch follows from the seed and its number."""
    first, again, other = make(), make(), make(seed=2)
    for batches in (first, again, other):
        batches.epoch = 3
    found = batches_of(first.dataset)
    assert same(found, batches_of(again.dataset))
    assert same(found, batches_of(first.dataset))
    assert not same(found, batches_of(other.dataset))
    first.epoch = 2
    assert not same(found, batches_of(first.dataset))
    first.epoch = 3
    for start in (1, 2, len(found) // 2, len(found) - 1, len(found)):
        first.first_batch = start
        assert same(batches_of(first.dataset), found[start:])


def training(prepared, **options):
    defaults = {"batch_tokens": 200, "shuffle_buffer": 130, "seed": 1}
    return TrainingBatches(prepared, **{**defaults, **options})


@pytest.fixture(scope="module")
def stored(prepared):
    """The pairs of each split, sorted."""
    return {
        split: sorted(stored_pairs(prepared, split))
        for split in ("train", "dev")
    }


@pytest.fixture(scope="module")
def two_epochs(prepared):
    """`TrainingBatches` and lists of their first two epochs, read once."""

    @functools.cache
    def read(shuffle_buffer, sentences):
        batches = training(
            prepared, shuffle_buffer=shuffle_buffer, batch_sentences=sentences
        )
        epochs = []
        for epoch in range(2):
            batches.epoch = epoch
            epochs.append(batches_of(batches.dataset))
        return batches, epochs

    return read


@pytest.mark.parametrize(
    ("shuffle_buffer", "sentences"),
    [*((buffer, None) for buffer in BUFFERS), (130, 32)],
)
def test_an_epoch_has_every_pair_once(
    two_epochs, stored, shuffle_buffer, sentences
):
    batches, epochs = two_epochs(shuffle_buffer, sentences)
    for epoch, found in enumerate(epochs):
        batches.epoch = epoch
        assert sorted(pairs_in(found)) == stored["train"]
        assert len(found) == batches.batches_per_epoch
        if sentences is None:
            for features, labels in found:
                assert features["source_ids"].size <= 200
                assert labels.size <= 200
        share = padding_share(found)
        assert batches.padding_share() == pytest.approx(share, abs=1e-12)
        assert 0 < share < 0.2
    assert int(batches.dataset.cardinality()) == batches.batches_per_epoch


def test_a_pair_longer_than_a_batch_is_one_alone(prepared):
    batches = training(prepared, batch_tokens=1)
    assert batches.batches_per_epoch == 400
    assert all(len(labels) == 1 for _, labels in batches_of(batches.dataset))


def without_blank(batch):
    """The batch without the rows that fill it up."""
    features, labels = batch
    real = (labels != PAD_ID).any(axis=1)
    for ids in features.values():
        np.testing.assert_array_equal((ids != PAD_ID).any(axis=1), real)
    return {name: ids[real] for name, ids in features.items()}, labels[real]


@pytest.mark.parametrize("sentences", [None, 32])
def test_few_lengths_give_few_shapes(prepared, stored, sentences):
    lengths = few_lengths(prepared.lengths("train") + FRAME_LENGTHS)
    options = {"batch_sentences": sentences, "length_buckets": lengths}
    batches = training(prepared, **options)
    found = batches_of(batches.dataset)
    assert sorted(pairs_in(map(without_blank, found))) == stored["train"]
    assert len(found) == batches.batches_per_epoch
    for features, labels in found:
        longest = labels.shape[1]
        assert features["source_ids"].shape == labels.shape
        assert longest in lengths
        assert len(labels) == (sentences or max(1, 200 // longest))
    share = padding_share(found)
    assert batches.padding_share() == pytest.approx(share, abs=1e-6)


@pytest.mark.medium
def test_padded_lengths_leave_the_batches_as_they_are(prepared, two_epochs):
    lengths = (4, 6, 8, 10, 14, 18, 24, 30, 38, 40)
    padded = training(prepared, padded_lengths=lengths)
    ours = batches_of(padded.dataset)
    _, (theirs, _) = two_epochs(130, None)
    assert [sorted(unframed(batch)) for batch in theirs] == [
        sorted(unframed(without_blank(batch))) for batch in ours
    ]
    shapes = [
        {(f["source_ids"].shape, y.shape) for f, y in found}
        for found in (ours, theirs)
    ]
    assert len(shapes[0]) < len(shapes[1])
    share = padding_share(ours)
    assert padded.padding_share() == pytest.approx(share, abs=1e-6)
    dev = [
        evaluation_batches(
            prepared, "dev", batch_tokens=200, padded_lengths=padded
        )
        for padded in ((), lengths)
    ]
    theirs, ours = map(batches_of, dev)
    assert pairs_in(theirs) == pairs_in(map(without_blank, ours))


@pytest.mark.medium
@pytest.mark.parametrize("shuffle_buffer", [130, 60])
def test_order_follows_from_seed_and_epoch(prepared, shuffle_buffer):
    options = {"shuffle_buffer": shuffle_buffer}
    check_epochs(functools.partial(training, prepared, **options))


def test_pairs_meet_others_in_each_epoch(two_epochs):
    _, epochs = two_epochs(1000, None)
    together = [
        {frozenset(unframed(batch)) for batch in found} for found in epochs
    ]
    assert len(together[0] & together[1]) < len(together[0]) / 2


@pytest.mark.medium
def test_another_process_makes_the_same_batches(prepared):
    code = f"""
import hashlib
from keras_transformer.data.batching import TrainingBatches
from keras_transformer.data.prepared import PreparedData
prepared = PreparedData.load({str(prepared.path)!r})
batches = TrainingBatches(
    prepared, batch_tokens=200, shuffle_buffer=130, seed=5)
batches.epoch, batches.first_batch = 2, 3
digest = hashlib.sha256()
for features, labels in batches.dataset.as_numpy_iterator():
    digest.update(features["source_ids"].tobytes() + labels.tobytes())
print(digest.hexdigest())
"""
    here = {}
    exec(code, {"print": lambda digest: here.update(digest=digest)})
    there = run_python("-c", code, TF_CPP_MIN_LOG_LEVEL="0")
    assert there.stdout.strip() == here["digest"]
    # A page of text that TensorFlow has for datasets of ragged rows.
    assert "Type inference failed" not in there.stderr


def test_no_tuner_sleeps_while_an_iterator_is_to_end(prepared):
    datasets = (
        TrainingBatches(prepared, batch_tokens=200).dataset,
        evaluation_batches(prepared, batch_tokens=200),
    )
    for dataset in datasets:
        assert dataset.options().autotune.enabled is False


def test_evaluation_has_every_pair_once_shortest_first(prepared, stored):
    for split in ("train", "dev"):
        dataset = evaluation_batches(prepared, split, batch_tokens=200)
        batches = batches_of(dataset)
        found = pairs_in(batches)
        assert sorted(found) == stored[split]
        assert int(dataset.cardinality()) == len(batches)
        lengths = [len(target) for _, target in found]
        assert lengths == sorted(lengths)
        assert same(batches, batches_of(dataset))
    by_sentences = evaluation_batches(prepared, "train", batch_sentences=64)
    assert len(batches_of(by_sentences)) == -(-400 // 64)


def test_evaluation_of_a_missing_split_is_refused(prepare_text):
    prepared = prepare_text("a\t中\n")
    with pytest.raises(InputError, match="has no dev split. Has: train"):
        evaluation_batches(prepared, "dev", batch_tokens=200)


def test_text_in_batches_is_that_of_its_records(prepared, stored, pairs):
    tokenizers = prepared.source_tokenizer, prepared.target_tokenizer
    made = pair_batches(pairs, *tokenizers, max_length=100, batch_sentences=2)
    batches = [tf.nest.map_structure(np.array, batch) for batch in made]
    assert [len(labels) for _, labels in batches] == [2, 2, 1]
    found = pairs_in(batches)
    assert len(found) == 5
    assert set(found) <= set(stored["train"])
    made = pair_batches(pairs, *tokenizers, max_length=6)
    features, labels = next(made)
    assert features["source_ids"].shape == labels.shape == (5, 6)


def test_paragraphs_share_smaller_batches(prepared):
    tokenizers = prepared.source_tokenizer, prepared.target_tokenizer
    pairs = [("a", "b"), *[("a " * 400, "b " * 300)] * 20]
    batches = list(pair_batches(pairs, *tokenizers, max_length=500))
    shapes = [features["source_ids"].shape for features, _ in batches]
    assert sum(rows for rows, _ in shapes) == 21
    assert max(length for _, length in shapes) == 402
    assert all(rows * length <= 2048 for rows, length in shapes)


def reader():
    """A model that sums what it is given; any shape will do."""
    sources = keras.Input((None,), dtype="int32", name="source_ids")
    targets = keras.Input((None,), dtype="int32", name="target_ids")
    total = keras.ops.sum(sources, 1) + keras.ops.sum(targets, 1)
    logits = keras.layers.Dense(1)(keras.ops.cast(total[:, None], "float32"))
    model = keras.Model({"source_ids": sources, "target_ids": targets}, logits)
    model.compile("sgd", loss=lambda labels, logits: keras.ops.mean(logits) * 0)
    return model


def fit(dataset, **options):
    # Keras warns that it can't shuffle a dataset, which nobody asked for.
    reader().fit(dataset, shuffle=False, verbose=0, **options)


def test_fit_goes_on_after_the_last_batch_of_an_epoch(prepared):
    batches, steps = training(prepared), []
    batches.first_batch = batches.batches_per_epoch
    counting = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: steps.append(batch)
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Your input ran out of data")
        fit(batches.dataset, epochs=1, callbacks=[counting])
    assert steps == []


def test_evaluate_ends_without_a_warning(prepared):
    dataset = evaluation_batches(prepared, "train", batch_tokens=200)
    assert reader().evaluate(dataset, verbose=0) == 0.0


@pytest.mark.parametrize("damage", ["changed", "cut", "gone"])
def test_shard_damaged_while_training_is_named(prepared, tmp_path, damage):
    folder = shutil.copytree(prepared.path, tmp_path / "copy")
    data = PreparedData.load(folder)
    dataset = training(data).dataset
    path = data.files("train")[2]
    content = bytearray(path.read_bytes())
    if damage == "gone":
        path.unlink()
    else:
        content[len(content) // 2] ^= 0xFF
        path.write_bytes(content[:-7] if damage == "cut" else content)
    with pytest.raises(InputError, match="train-00002-of-00004") as caught:
        with report_damaged_shards(data):
            fit(dataset)
    assert "\n" not in str(caught.value)


def test_damage_that_left_no_trace_is_told_too(prepared):
    with pytest.raises(InputError, match="damaged while it was read"):
        with report_damaged_shards(prepared):
            raise tf.errors.DataLossError(None, None, "corrupted record")


def test_empty_shards_do_no_harm(prepare_text, monkeypatch):
    monkeypatch.setattr(records, "SHARD_PAIRS", 1)
    pairs = [*zip("abcdefgh", "一二三四五六七八", strict=True)]
    prepared = prepare_text(pairs)
    assert 0 in prepared.shard_sizes("train")
    batches = training(prepared, shuffle_buffer=2)
    found = batches_of(batches.dataset)
    assert len(found) == batches.batches_per_epoch
    assert sorted(pairs_in(found)) == sorted(stored_pairs(prepared, "train"))
