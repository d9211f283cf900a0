"""`train` and what it gives, on the toy corpus."""

import contextlib
import random
import re
import signal
import types

import keras
import pytest

import keras_transformer as kt
from keras_transformer.api import training
from keras_transformer.errors import InputError
from keras_transformer.training.checkpoint import Interrupted
from tests.toy_models import MODEL, write_corpus
from tests.word_data import word_data

CONFIG = {
    "model": MODEL,
    "training": {"batch_sentences": 16, "warmup_steps": 20, "threads": 1},
}
DATA = word_data(
    target_language="en", target_tokenizer="word", remove_duplicates=False
)


class Seen(keras.callbacks.Callback):
    """Remembers the logs of each epoch; stops after some steps."""

    def __init__(self, stop_after=None):
        super().__init__()
        self.epochs, self.steps = [], 0
        self._stop_after = stop_after

    def on_train_batch_end(self, batch, logs=None):
        self.steps += 1
        if self.steps == self._stop_after:
            raise KeyboardInterrupt

    def on_epoch_end(self, epoch, logs=None):
        self.epochs.append(dict(logs))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("door")
    write_corpus(folder)
    return folder


@pytest.fixture(scope="module")
def data(folder):
    out, dev = folder / "data", str(folder / "dev.tsv")
    return kt.prepare(folder / "train.tsv", out, DATA, dev=dev)


@pytest.fixture(scope="module")
def trained(folder, data):
    seen = Seen()
    random.seed(5)
    run = kt.train(
        data,
        folder / "run",
        preset="demo",
        config=CONFIG,
        epochs=1,
        callbacks=[seen],
        verbose=0,
    )
    return run, seen, random.random()


def test_the_run_is_as_configured_and_callbacks_see_its_scores(trained):
    run, seen, drawn = trained
    assert run.config.model.d_model == MODEL["d_model"]
    assert [epoch["epoch"] for epoch in run.history()] == [1]
    # No seed and no policy is changed.
    assert drawn == random.Random(5).random()
    assert keras.config.dtype_policy().name == "float32"
    (logs,) = seen.epochs
    assert {"cross_entropy", "val_cross_entropy", "learning_rate"} <= set(logs)


@pytest.mark.medium
def test_the_folder_translates_as_the_run(trained):
    run, _, _ = trained
    loaded = kt.load(str(run.folder))
    assert loaded.translate(["one two"]) == run.translate(["one two"])
    assert repr(loaded) == (
        f"TrainedRun({str(run.folder)!r}, en to en, best epoch 1)"
    )


@pytest.mark.parametrize(
    ("texts", "options", "says"),
    [
        (3, {}, "a string or several. Received: 3"),
        (["one", None], {}, "Received: None"),
        (b"one", {}, "takes text, not bytes"),
        (
            "one",
            {"n_best": 0},
            "n_best must be an integer, 1 or more. Received: 0",
        ),
        ("one", {"n_best": 99}, "n_best must be 1 to 4, the beam size"),
    ],
)
def test_what_is_no_text_is_told(trained, texts, options, says):
    with pytest.raises(InputError, match=says):
        trained[0].translate(texts, **options)


@pytest.mark.medium
def test_goes_on_after_an_interruption_and_shows_progress(
    data, tmp_path, capsys
):
    folder = tmp_path / "run"
    options = {"config": CONFIG, "epochs": 2}
    with pytest.raises(KeyboardInterrupt):
        kt.train(data, folder, **options, callbacks=[Seen(3)], verbose=0)
    assert capsys.readouterr() == ("", "")
    run = kt.train(data, folder, resume=True, verbose=2)
    out, err = capsys.readouterr()
    assert "Epoch 2/2" in out
    assert "val_cross_entropy" in out
    assert "parameters" in err
    assert re.search("best (epoch|mean)", err)
    assert len(run.history()) == 2
    with pytest.raises(InputError, match="resume=True"):
        kt.train(data, folder, **options)
    with pytest.raises(InputError, match="keeps its configuration"):
        kt.train(data, folder, resume=True, seed=9)
    longer = run.config.updated({"training": {"epochs": 3}})
    run = kt.train(data, folder, resume=True, config=longer, verbose=0)
    assert len(run.history()) == 3
    # Keys that aren't named stay the run's, whatever the default preset has.
    more = {"training": {"epochs": 4}}
    seen = Seen()
    run = kt.train(
        data, folder, resume=True, config=more, callbacks=seen, verbose=0
    )
    assert len(run.history()) == 4
    assert len(seen.epochs) == 1
    kept = (folder / "config.yaml").read_text()
    with pytest.raises(InputError, match="4 or more, as .* has trained"):
        kt.train(data, folder, resume=True, epochs=3)
    checkpoint = folder / "checkpoint.npz"
    checkpoint.write_bytes(checkpoint.read_bytes()[:3000])
    with pytest.raises(InputError, match="damaged"):
        kt.train(data, folder, resume=True, epochs=9, verbose=0)
    assert (folder / "config.yaml").read_text() == kept


def plan(steps):
    """What an observer sees of a model and of its batches."""
    batches = types.SimpleNamespace(
        batches_per_epoch=steps,
        padding_share=lambda: 0.0,
        epoch=0,
        first_batch=0,
    )
    return types.SimpleNamespace(count_params=lambda: 1), batches


@pytest.mark.parametrize(
    ("steps", "told_at", "says"),
    [
        (100, (1, 31), ("in 9 min", "3 min", "in 38 s")),
        (10, (1, 10), ("in 40 s", "20 s", "in 20 s")),
    ],
    ids=["after a minute", "after an epoch"],
)
def test_the_end_and_the_next_checkpoint_are_told_once(
    steps, told_at, says, monkeypatch
):
    at, now, said = None, [0.0], []
    monkeypatch.setattr(training.time, "monotonic", lambda: now[0])
    config = kt.TrainingConfig(epochs=3, checkpoint_every=50)
    notes = training.TrainingNotes(config, lambda line: said.append((at, line)))
    notes.start(*plan(steps))
    said.clear()
    for epoch in (1, 2, 3):
        for batch in range(1, steps + 1):
            at = epoch, batch
            now[0] += 2
            notes.step(epoch, batch, {})
        notes.epoch(epoch, {})
    ((at, line),) = said
    assert at == told_at
    assert line.startswith("done about ")
    left, epoch, checkpoint = says
    assert line.endswith(
        f"{left} (3 epochs, {epoch} each); the next checkpoint, for --resume, "
        f"{checkpoint}"
    )


@pytest.mark.parametrize(
    ("values", "says"),
    [({}, "never a number. Try"), ({"best_by": "bleu"}, "--weights last")],
    ids=["by loss", "by BLEU"],
)
def test_a_run_without_a_best_epoch_says_why(values, says):
    config = kt.TrainingConfig(bleu_every=1, **values)
    run = types.SimpleNamespace(
        folder="runs/a",
        manifest={"scores": {}},
        config=kt.Config(training=config),
    )
    with pytest.raises(InputError, match=says):
        training.best_epoch(run)


def test_a_best_epoch_without_scores_is_named():
    best = {"epoch": 48, "averaged_epochs": 8}
    run = types.SimpleNamespace(manifest={"scores": {"best": best}})
    assert training.best_epoch(run) == "best mean of epochs 41 to 48"


def test_a_signal_stops_after_a_step_or_before_the_first():
    said = []
    with (
        pytest.raises(Interrupted),
        training._stop_on_signal(said.append),
    ):
        signal.raise_signal(signal.SIGTERM)
    with training._stop_on_signal(said.append) as is_asked:
        assert not is_asked()
        signal.raise_signal(signal.SIGINT)
        assert said == []
        assert is_asked()
        assert len(said) == 1
        with pytest.raises(KeyboardInterrupt) as stopped:
            signal.raise_signal(signal.SIGINT)
        assert stopped.type is KeyboardInterrupt


@pytest.mark.parametrize("fails", [False, True])
def test_a_signal_that_keras_swallows_stops_as_well(fails):
    def trace(is_asked):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        if fails:
            raise ValueError("None values not supported.")
        is_asked()

    with (
        pytest.raises(Interrupted),
        training._stop_on_signal(print) as is_asked,
    ):
        trace(is_asked)


def test_handlers_that_are_not_pythons_stay(monkeypatch):
    monkeypatch.setattr(training.signal, "getsignal", lambda number: None)
    monkeypatch.setattr(training.signal, "signal", pytest.fail)
    with training._stop_on_signal(print) as is_asked:
        assert not is_asked()


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (ConnectionError("refused"), None),
        (OSError(28, "No space left", "run/a"), "run/a: the disk is full"),
    ],
)
def test_an_error_is_one_of_writing_if_it_names_a_file(
    error, says, monkeypatch
):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("keras_transformer.training.fit.fit", fail)
    run = types.SimpleNamespace(folder="a", config=kt.Config(), history=list)
    with pytest.raises(InputError if says else type(error), match=says):
        training._fit(run, None, False, [], 0, None, print)


def test_training_starts_from_a_run_as_from_its_folder(trained, data, tmp_path):
    with pytest.raises(InputError, match="weights of another model"):
        kt.train(
            data,
            tmp_path / "run",
            initial=trained[0],
            config={"model": {"d_ff": 64}},
        )


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"preset": "tini"}, "unknown preset 'tini', did you mean 'tiny'"),
        ({"epoch": 3}, "train: unknown key training.epoch, did you mean"),
        ({"epochs": "3"}, "train: training.epochs takes an integer"),
        ({"preset": "tiny", "config": kt.Config()}, "a preset or a Config"),
        ({"config": {"model": 3}}, "config, section model: expected"),
        (
            {"config": types.MappingProxyType({"model": {"d": 3}})},
            "config: unknown key model.d",
        ),
        ({"callbacks": [3]}, r"a list of keras.callbacks.Callback. .* \[3\]"),
        ({"callbacks": 3}, "callbacks are a list of"),
    ],
)
def test_what_training_does_not_take_is_told(data, tmp_path, options, says):
    with pytest.raises(InputError, match=says):
        kt.train(data, tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()
