"""A head of the decoder that learns to align words."""

import numpy as np
import pytest

from keras_transformer import load
from keras_transformer.data.prepare import prepare
from keras_transformer.training.fit import fit
from keras_transformer.training.run import Run
from scripts.tools.alignment_error_rate import aligned_by, alignment_error_rate
from tests.aligned_words import write_aligned_corpus
from tests.toy_models import Recorder, assert_same_weights, fit_in_two_parts
from tests.word_data import word_data

GUIDED = {"training": {"guided_alignment": 1.0}}


@pytest.mark.medium
def test_resumed_training_is_the_same_to_the_bit(prepared, new_run):
    both = {"training": {**GUIDED["training"], "threads": 2}}
    whole = fit(new_run(**both), prepared)
    resumed = fit_in_two_parts(new_run(**both), prepared, stop_after=18)
    assert_same_weights((whole, resumed))


def head_of(run):
    loaded = Run.load(run.folder)
    head = loaded.build_model().alignment_head
    return head and [*head]


def test_the_head_is_stored_and_taken_over(prepared, new_run):
    once = {"training": {**GUIDED["training"], "epochs": 1}}
    run, recorder = new_run(**once), Recorder()
    fit(run, prepared, observer=recorder)
    assert recorder.aligned_pairs == 200
    assert head_of(run) == [0, 0]
    assert head_of(new_run(run)) == [0, 0]
    deep = {"num_decoder_layers": 3}
    assert head_of(new_run(run, model=deep)) is None
    assert head_of(new_run(run, model=deep, **GUIDED)) == [1, 0]


def rate_of(folder, prepared, config, gold):
    run = Run.create(folder, config, prepared)
    fit(run, prepared)
    found = aligned_by(load(folder), [row[:2] for row in gold])
    links = [
        {tuple(map(int, link.split("-"))) for link in row[2].split()}
        for row in gold
    ]
    return alignment_error_rate(found, links), run.history()[-1]


@pytest.mark.medium
@pytest.mark.parametrize("precision", ["float32", "mixed_bfloat16"])
def test_a_guided_head_aligns(precision, config, tmp_path):
    write_aligned_corpus(tmp_path)
    data = word_data(target_language="en", target_tokenizer="word")
    train = tmp_path / "train.tsv"
    prepared = prepare([train], tmp_path / "data", data, dev=0.1)
    gold = [
        line.split("\t")
        for line in (tmp_path / "gold.tsv").read_text().splitlines()
    ]
    config = config.updated(
        {"training": {"epochs": 12, "precision": precision}}
    )
    plain, before = rate_of(tmp_path / "plain", prepared, config, gold)
    guiding = config.updated({"training": {"guided_alignment": 0.2}})
    rate, after = rate_of(tmp_path / "guided", prepared, guiding, gold)
    # Seen: 0.10 and 0.71.
    assert rate < 0.15 < 0.5 < plain
    loss = "val_cross_entropy"
    assert after[loss] < before[loss] + 0.1
    assert np.isfinite(after["loss"])
