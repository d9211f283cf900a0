import math
import types

import keras
import numpy as np
import pytest

from keras_transformer.config import TrainingConfig
from keras_transformer.data.batching import evaluation_batches
from keras_transformer.data.prepare import prepare
from keras_transformer.errors import InputError
from keras_transformer.evaluation.run_evaluation import cross_entropy
from keras_transformer.text.subword_sampler import SubwordSampler
from keras_transformer.training import hosts
from keras_transformer.training.checkpoint import Interrupted
from keras_transformer.training.fit import (
    _calls,
    _lengths,
    callback_list,
    fit,
)
from keras_transformer.training.run import Run
from tests.toy_models import (
    Recorder,
    assert_same_weights,
    fit_watched,
    write_corpus,
)
from tests.word_data import word_data


@pytest.fixture(scope="module")
def whole(prepared, new_run):
    """A run of three epochs that nothing interrupts, but much watches."""
    run = new_run(training={"bleu_every": 2})
    return run, *fit_watched(run, prepared)


def test_loss_falls_and_everything_is_written(whole):
    run, _, recorder = whole
    first, last = recorder.epochs[0][1], recorder.epochs[-1][1]
    assert last["val_cross_entropy"] < first["val_cross_entropy"]
    assert [epoch for epoch, _ in recorder.epochs] == [1, 2, 3]
    history = run.history()
    assert [line["epoch"] for line in history] == [1, 2, 3]
    for key in ("tokens_per_second", "learning_rate", "seconds", "loss"):
        assert history[-1][key] > 0
    assert history[-1]["val_perplexity"] == pytest.approx(
        math.exp(history[-1]["val_cross_entropy"]), rel=1e-4
    )
    assert [line.get("val_bleu") for line in history] == [None, 12.5, None]


def test_weights_are_those_of_the_last_and_of_the_best_epoch(whole, prepared):
    run = Run.load(whole[0].folder)
    assert_same_weights((whole[1], run.load_model("last")))
    losses = [line["val_cross_entropy"] for line in run.history()]
    best = run.manifest["scores"]["best"]["epoch"]
    assert best == 1 + int(np.argmin(losses))
    dev = evaluation_batches(prepared, "dev", batch_tokens=200)
    loss, _ = cross_entropy(run.load_model("best"), dev)
    assert loss == pytest.approx(min(losses), rel=1e-4)


@pytest.mark.medium
def test_an_epoch_that_a_callback_ends_is_gone_on_with(
    prepared, new_run, whole
):
    class Stops(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.stop_training = batch == 4

    run = new_run()
    fit(run, prepared, callbacks=[Stops()])
    assert len(run.history()) == 1
    model = fit(run, prepared, resume=True)
    assert_same_weights((whole[1], model))
    assert [line["epoch"] for line in run.history()] == [1, 2, 3]


def test_resume_of_a_finished_run_trains_no_more(prepared, whole, monkeypatch):
    run, _, _ = whole
    recorder, events = Recorder(), []
    recorder.start = lambda *_: events.append("start")
    # The other hosts, whose observers do nothing, wait for the chief's.
    monkeypatch.setattr(hosts, "wait", lambda: events.append("wait"))
    fit(Run.load(run.folder), prepared, resume=True, observer=recorder)
    assert recorder.steps == []
    assert events == ["start", "wait"]


@pytest.mark.parametrize(
    ("changes", "longest"),
    [({}, 6), ({"augment": 0.1}, 24), ({"subword_sampling": 0.1}, 24)],
)
def test_few_lengths_suit_pairs_that_are_changed(
    prepared, config, changes, longest
):
    config = config.updated({"training": {"length_buckets": "few", **changes}})
    assert _lengths(config, prepared)["length_buckets"][-1] == longest


@pytest.mark.parametrize(
    ("first_batch", "epochs", "calls"),
    [(0, 4, [(2, 4)]), (5, 4, [(2, 3), (3, 4)]), (5, 3, [(2, 3)]), (5, 2, [])],
)
def test_the_rest_of_an_epoch_is_trained_by_itself(first_batch, epochs, calls):
    batches = types.SimpleNamespace(first_batch=first_batch)
    training = TrainingConfig(epochs=epochs)
    assert list(_calls(batches, 2, training)) == calls


@pytest.mark.medium
def test_a_run_killed_before_any_checkpoint_starts_again(
    prepared, new_run, whole
):
    recorder = Recorder(stop_after=1)
    told = {"observer": recorder, "stop_requested": recorder.stop}
    with pytest.raises(Interrupted):
        fit(new_run(), prepared, resume=True, **told)
    assert recorder.steps[0] == pytest.approx(whole[2].steps[0])


@pytest.fixture(scope="module")
def motionless(prepared, new_run):
    """A run at a rate of almost nothing."""
    training = {"epochs": 9, "early_stopping": 2, "learning_rate": 1e-13}
    run, recorder = new_run(training=training), Recorder()
    return run, fit(run, prepared, observer=recorder), recorder


@pytest.mark.medium
def test_early_stopping_waits_for_patience(motionless):
    run, _, recorder = motionless
    # The first epoch stays the best or ties.
    best = run.manifest["scores"]["best"]["epoch"]
    assert len(recorder.epochs) == recorder.ended_after == best + 2 < 9


@pytest.mark.medium
def test_more_epochs_after_early_stopping_train_none(motionless, prepared):
    run, _, stopped = motionless
    run = Run.load(run.folder)
    run.config = run.config.updated({"training": {"epochs": 20}})
    again = Recorder()
    again.start = lambda *_: pytest.fail("nothing starts")
    fit(run, prepared, resume=True, observer=again)
    assert again.steps == []
    assert again.ended_after == stopped.ended_after
    # How many it is to have is written, now that nothing was refused.
    assert Run.load(run.folder).config.training.epochs == 20


def test_word_vectors_start_the_embeddings(prepared, new_run, tmp_path):
    class Told(Recorder):
        def vectors(self, side, fraction):
            self.fractions = {side: fraction}

    class Begins(keras.callbacks.Callback):
        def on_train_begin(self, logs=None):
            embedding = self.model.get_layer("source_embedding")
            raise StopIteration(embedding.get_weights()[0])

    row = " ".join(["0.5"] * 16)
    path = tmp_path / "vectors.txt"
    path.write_text(f"one {row}\ntwo {row}\nother {row}\n")
    run, told = new_run(training={"source_embeddings": str(path)}), Told()
    with pytest.raises(StopIteration) as begun:
        fit(run, prepared, observer=told, callbacks=[Begins()])
    (matrix,) = begun.value.args
    tokens = run.source_tokenizer.tokens()
    share = pytest.approx(2 / (len(tokens) - 4), abs=0.15)
    assert told.fractions == {"source": share}
    np.testing.assert_allclose(matrix[tokens.index("one")] * 4, 0.5, atol=1e-3)


@pytest.mark.medium
@pytest.mark.parametrize(
    "policy",
    [
        "mixed_bfloat16",
        pytest.param("mixed_float16", marks=pytest.mark.slow),
    ],
)
def test_mixed_precision_trains(prepared, new_run, policy):
    recorder = Recorder()
    run = new_run(training={"precision": policy})
    fit(run, prepared, observer=recorder)
    losses = [logs["val_cross_entropy"] for _, logs in recorder.epochs]
    assert losses[-1] < losses[0]
    assert keras.config.dtype_policy().name == "float32"


@pytest.mark.medium
def test_the_learning_rate_cools_down(prepared, new_run):
    training = {"epochs": 4, "cooldown_epochs": 2, "warmup_steps": 1}
    run = new_run(training=training)
    fit(run, prepared)
    rates = [epoch["learning_rate"] for epoch in run.history()]
    # Those of the next update: half as high in the middle of the cooldown.
    assert rates[1] / rates[0] == pytest.approx((1 / 2) ** 0.5, rel=0.1)
    assert rates[2] / rates[1] == pytest.approx((2 / 3) ** 0.5 / 2, rel=0.1)
    assert rates[3] == 0


def test_a_training_without_an_update_is_refused(prepared, new_run):
    run = new_run(training={"accumulate_steps": 1000, "epochs": 1})
    with pytest.raises(InputError, match="or less, the batches of all epochs"):
        fit(run, prepared)


@pytest.fixture(scope="module")
def pieces(tmp_path_factory):
    """The toy corpus in SentencePieces on the target side."""
    folder = tmp_path_factory.mktemp("pieces")
    write_corpus(folder)
    config = word_data(
        target_language="en",
        target_tokenizer="sentencepiece",
        target_vocabulary_size=40,
        remove_duplicates=False,
    )
    return prepare(
        [folder / "train.tsv"], folder / "data", config, folder / "dev.tsv"
    )


@pytest.mark.medium
def test_training_samples_subwords_where_asked(
    pieces, config, tmp_path, monkeypatch
):
    sampled = []
    draw = SubwordSampler.__call__
    monkeypatch.setattr(
        SubwordSampler,
        "__call__",
        lambda *arguments: sampled.append(draw(*arguments)) or sampled[-1],
    )
    config = config.updated({"training": {"subword_sampling": 0.3}})
    run, recorder = Run.create(tmp_path / "run", config, pieces), Recorder(1)
    with pytest.raises(Interrupted):
        fit(run, pieces, observer=recorder, stop_requested=recorder.stop)
    assert sampled
    # TensorFlow forgets their models where its kernels are cleared.
    assert run.target_tokenizer.tokenize(["one two"]).to_list()


@pytest.mark.parametrize(
    "callback",
    [
        keras.callbacks.BackupAndRestore("backup"),
        keras.callbacks.LearningRateScheduler(lambda epoch, rate: rate),
        keras.callbacks.ReduceLROnPlateau("loss"),
        keras.callbacks.SwapEMAWeights(),
        type("Mine", (keras.callbacks.ReduceLROnPlateau,), {})("loss"),
    ],
    ids=lambda callback: type(callback).__name__,
)
def test_callbacks_that_a_schedule_defeats_are_refused(callback):
    others = [keras.callbacks.TerminateOnNaN()]
    assert callback_list(others) == others
    match = f"training.learning_rate.* Received: {type(callback).__name__}"
    with pytest.raises(InputError, match=match):
        callback_list([*others, callback])
    with pytest.raises(InputError, match=match):
        callback_list(callback)
