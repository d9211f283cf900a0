import pathlib
import types

import pytest

from keras_transformer.errors import InputError
from keras_transformer.plots import plot_runs, run_row
from tests.plots.reading import texts, ticks

HISTORY = [
    {"epoch": 1, "tokens_per_second": 900.0, "seconds": 60.0},
    {"epoch": 2, "tokens_per_second": 1000.0, "seconds": 30.0},
    {"epoch": 3, "tokens_per_second": 1500.0, "seconds": 30.0},
]


def fake_run(scores, history=HISTORY):
    return types.SimpleNamespace(
        folder=pathlib.Path("runs/one"),
        manifest={"scores": scores},
        history=lambda: history,
    )


def test_a_row_of_a_run_scored_on_a_test_set():
    scores = {"best": {"val_cross_entropy": 1.5}, "test": {"bleu": 20.0}}
    assert run_row(fake_run(scores)) == {
        "name": "one",
        "cross_entropy": 1.5,
        "bleu": 20.0,
        "tokens_per_second": 1000.0,
        "minutes": 2.0,
    }
    # BLEU of the dev set goes before that of a test set.
    scores["best"]["val_bleu"] = 19.0
    assert run_row(fake_run(scores), "name")["bleu"] == 19.0


def test_a_run_without_an_epoch_has_no_numbers():
    row = run_row(fake_run({}, []))
    assert row.pop("name") == "one"
    assert set(row.values()) == {None}
    with pytest.raises(InputError, match="nothing to compare"):
        plot_runs([{"name": "one", **row}])


def test_bars_and_the_numbers_beside_them():
    rows = [
        {"name": "甲", "cross_entropy": 1.25, "tokens_per_second": 12345.0},
        {"name": "two", "cross_entropy": None, "tokens_per_second": 10.0},
    ]
    loss, speed = plot_runs(rows).axes
    assert ticks(loss.yaxis) == ["甲", "two"]
    assert texts(loss) == ["1.250", "–"]
    assert texts(speed) == ["12,345", "10"]
    assert [bar.get_width() for bar in speed.patches] == [12345.0, 10.0]
    assert loss.get_xlabel() == "Dev cross-entropy (nats per token)"
