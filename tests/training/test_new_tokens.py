"""Runs that start from the weights of one with fewer tokens."""

import dataclasses

import numpy as np
import pytest

from keras_transformer.data.corpus_tokenizers import existing_tokenizers
from keras_transformer.data.prepare import prepare
from keras_transformer.errors import InputError
from keras_transformer.symbols import NUMBERS
from keras_transformer.training.fit import fit
from keras_transformer.training.run import Run
from tests.toy_models import MODEL, write_corpus
from tests.toy_runs import untrained_run
from tests.word_data import word_data

ADDED = ["⟨1⟩", "⟨/1⟩", "▁Twone"]
PIECES = {"source_tokenizer": "sentencepiece", "source_vocabulary_size": 64}
SHARED = {"shared_vocabulary": True, "source_vocabulary_size": 64}
# Settings of the data, and of the model.
KINDS = {
    "shared": (SHARED, {"tied_embeddings": "all", "output_bias": True}),
    "words": ({"target_tokenizer": "word"}, {}),
    "characters": (
        {"target_tokenizer": "character"},
        {"tied_embeddings": "target"},
    ),
    "pieces": (
        {**PIECES, "target_tokenizer": "word"},
        {"tied_embeddings": "target", "output_bias": True},
    ),
    "bpe": ({**PIECES, "sentencepiece_model": "bpe"}, {}),
}


def data_of(settings):
    return word_data(target_language="en", **settings)


@pytest.fixture(scope="module", params=KINDS)
def runs(request, tmp_path_factory):
    """A run, data of its tokenizers with more tokens, and its child."""
    folder = tmp_path_factory.mktemp("tokens")
    write_corpus(folder)
    train = folder / "train.tsv"
    settings, model = KINDS[request.param]
    prepare([train], folder / "data", data_of(settings))
    parent = untrained_run(folder / "parent", folder / "data", **model)
    more = folder / "more.tsv"
    more.write_text(train.read_text() + "⟨1⟩one⟨/1⟩ Twone\tone ⟨1⟩ two\n")
    data = prepare(
        [more],
        folder / "more",
        parent.config.data,
        tokenizers=parent.folder,
        add_tokens=ADDED,
    )
    config = parent.config.updated(
        {"training": {"epochs": 1, "batch_sentences": 64}}
    )
    child = Run.create(folder / "child", config, data, parent)
    return parent, data, child


# For what doesn't depend on the kind.
ONE_KIND = pytest.mark.parametrize("runs", ["shared"], indirect=True)


def sizes_of(run):
    return [
        getattr(run, f"{side}_tokenizer").vocabulary_size
        for side in ("source", "target")
    ]


@pytest.mark.medium
def test_old_ids_keep_their_logits(runs):
    parent, _, child = runs
    old, new = parent.load_model("best"), child.load_model("initial")
    sources, targets = sizes_of(parent)
    random = np.random.default_rng(1)
    ids = {
        "source_ids": random.integers(4, sources, (3, 6)).astype("int32"),
        "target_ids": random.integers(4, targets, (3, 5)).astype("int32"),
    }
    before, after = (np.array(m(ids, training=False)) for m in (old, new))
    assert sizes_of(child) == [sources + 3, targets + 3]
    assert after.shape[-1] == targets + 3
    # On some processors a wider product rounds otherwise.
    np.testing.assert_allclose(after[..., :targets], before, rtol=0, atol=2e-6)


def test_new_rows_are_means(runs):
    parent, _, child = runs
    old, new = (
        {w.path: w.numpy() for w in model.weights}
        for model in (parent.load_model("best"), child.load_model("initial"))
    )
    grown = [path for path in new if new[path].shape != old[path].shape]
    assert grown
    for path in grown:
        side = "source" if path.startswith("source") else "target"
        tokenizer = getattr(parent, f"{side}_tokenizer")
        size = tokenizer.vocabulary_size
        if old[path].shape[0] == size:
            rows, means = old[path], new[path][size:]
        else:
            rows, means = old[path].T, new[path].T[size:]
        np.testing.assert_allclose(means[0], rows.mean(axis=0), atol=1e-6)
        made = tokenizer.pieces_of_tokens(ADDED[2:])[0]
        expected = rows[made].mean(axis=0) if made else rows.mean(axis=0)
        np.testing.assert_allclose(means[2], expected, atol=1e-6)


@ONE_KIND
def test_new_tokens_are_learned(runs):
    _, data, child = runs
    before = child.load_model("initial")
    after = fit(child, data)
    changed = {
        new.path
        for new, old in zip(after.weights, before.weights, strict=True)
        if not np.array_equal(new[-3:], old[-3:])
    }
    assert any("embedding" in path for path in changed)
    assert Run.load(child.folder).load_model("best")


def test_a_model_without_symbols_gets_them(runs, tmp_path):
    parent, _, _ = runs
    corpus = parent.folder.parent / "more.tsv"
    config = dataclasses.replace(parent.config.data, markup="symbols")
    plain = {"tokenizers": parent.folder}
    data = prepare([corpus], tmp_path / "data", config, **plain)
    run = Run.create(tmp_path / "run", parent.config, data, parent)
    assert run.config.data.symbols
    for tokenizer, size in zip(
        (run.source_tokenizer, run.target_tokenizer),
        sizes_of(parent),
        strict=True,
    ):
        assert tokenizer.first_symbol == size
        ids = tokenizer.tokenize(["⟨1⟩one⟨/1⟩"]).to_list()[0]
        assert size in ids
        assert ids[-1] == size + NUMBERS


@ONE_KIND
def test_fewer_or_other_tokens_are_refused(runs, tmp_path):
    parent, _, child = runs
    child.save_weights(child.load_model("initial"), "best", 1, {})
    corpus = parent.folder.parent / "train.tsv"
    config = parent.config.data
    plain = {"tokenizers": parent.folder}
    fewer = prepare([corpus], tmp_path / "fewer", config, **plain)
    other = {**plain, "add_tokens": ["x⟩"]}
    others = prepare([corpus], tmp_path / "others", config, **other)
    for data in (fewer, others):
        with pytest.raises(InputError, match="nor that with more tokens"):
            Run.create(tmp_path / "run", child.config, data, child)


@ONE_KIND
def test_a_deeper_model_may_have_more_tokens(runs, tmp_path):
    parent, data, _ = runs
    deep = {"model": {"num_decoder_layers": 1 + MODEL["num_decoder_layers"]}}
    run = Run.create(
        tmp_path / "run", parent.config.updated(deep), data, parent
    )
    ids = np.array([[2, 5, 6, 3]], "int32")
    ids = {"source_ids": ids, "target_ids": ids[:, :3]}
    before = np.array(parent.load_model("best")(ids, training=False))
    after = np.array(run.load_model("initial")(ids, training=False))
    size = before.shape[-1]
    np.testing.assert_allclose(after[..., :size], before, atol=1e-5)


@ONE_KIND
def test_a_token_has_no_white_space(runs):
    parent, _, _ = runs
    for wrong in ("a b", "", "\u3000"):
        with pytest.raises(InputError, match="to add has no white space"):
            existing_tokenizers(parent.folder, parent.config.data, [wrong])


def test_tokens_are_added_to_tokenizers_that_exist(tmp_path):
    with pytest.raises(InputError, match="add_tokens requires tokenizers"):
        prepare(["x.tsv"], tmp_path / "data", data_of({}), add_tokens=["x"])
