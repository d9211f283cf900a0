"""Dev BLEU of a model that trains on JAX, by processes that translate."""

import keras
import pytest

from keras_transformer.errors import InputError
from keras_transformer.evaluation import dev_scores
from keras_transformer.training.fit import fit

UNKNOWN = "⁇"
PAIRS = [("one two", "two one"), ("three four", "four three")]


class Echo:
    """Takes the place of the workers: translates to what it was given."""

    lost = 0  # of so many first calls
    closed = 0

    def __init__(self, *_):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        Echo.closed += 1

    def map(self, batches):
        if Echo.lost:
            Echo.lost -= 1
            raise InputError("a worker was killed")
        yield from batches


def test_any_search_is_measured_greedily(new_run):
    plain = new_run()
    keras.utils.set_random_seed(1)
    model = plain.build_model()
    lines = [source for source, _ in PAIRS]

    def translated(run):
        greedy = dev_scores.GreedyTranslator(run, model)
        return [line.split() for line in greedy(lines)]

    expected = translated(plain)
    assert translated(new_run(decoding={"temperature": 1.0})) == expected
    assert UNKNOWN in [word for line in expected for word in line]
    found = translated(new_run(decoding={"replace_unknown": True}))
    # The model is untrained: what it writes may have unknown words, and the
    # option puts words of the source in their stead.
    for source, ours, theirs in zip(lines, found, expected, strict=True):
        for word, other in zip(ours, theirs, strict=True):
            if other == UNKNOWN:
                assert word in source.split()
            else:
                assert word == other


@pytest.fixture
def run(new_run, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    monkeypatch.setattr(dev_scores, "translation_workers", Echo)
    monkeypatch.setattr(Echo, "lost", 1)
    monkeypatch.setattr(Echo, "closed", 0)
    return new_run()


def test_scores_are_left_out_aloud_where_workers_fail(run):
    model, said = run.build_model(), []
    files = set(run.folder.iterdir())
    with dev_scores.dev_scorer(run, PAIRS, said.append) as measure:
        assert measure(model) == {}
        assert said == ["no dev BLEU this time: a worker was killed"]
        assert Echo.closed == 1
        # The next time others are started.
        assert set(measure(model)) == {"bleu", "chrf"}
        assert set(run.folder.iterdir()) == files
    assert len(said) == 1
    assert Echo.closed == 2


def test_a_training_keeps_the_scores_of_its_epochs(prepared, new_run):
    run = new_run(training={"epochs": 1, "bleu_every": 1, "best_by": "bleu"})
    with dev_scores.dev_scorer(run, PAIRS, print) as measure:
        fit(run, prepared, measure=measure)
    (epoch,) = run.history()
    assert 0 <= epoch["val_bleu"] <= 100
    assert 0 <= epoch["val_chrf"] <= 100
