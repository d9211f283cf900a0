import keras
import numpy as np
import pytest

from keras_transformer.config import TrainingConfig
from keras_transformer.training.compiling import schedule
from keras_transformer.training.optimizer import DenseAdam
from keras_transformer.training.schedule import WarmupSchedule


def test_equals_the_notebook(notebook):
    for step, d_model, warmup, factor, rate in notebook["noam_rates"]:
        ours = WarmupSchedule(int(d_model), int(warmup), float(factor))
        assert float(ours(step - 1)) == pytest.approx(rate, rel=1e-5)


def test_the_cooldown_falls_linearly_to_0():
    plain = WarmupSchedule(16, 2)
    cooled = WarmupSchedule(16, 2, num_steps=10, cooldown_steps=4)
    factors = [float(cooled(step) / plain(step)) for step in range(12)]
    expected = [1.0] * 7 + [0.75, 0.5, 0.25, 0.0, 0.0]
    assert factors == pytest.approx(expected)


@pytest.mark.parametrize("accumulate_steps", [1, 3])
def test_the_cooldown_is_the_last_epochs(accumulate_steps):
    training = TrainingConfig(
        epochs=5,
        cooldown_epochs=2,
        warmup_steps=1,
        accumulate_steps=accumulate_steps,
    )
    rate = schedule(training, 64, batches_per_epoch=12)
    plain = schedule(training, 64)
    batches = np.arange(5 * 12)
    factors = np.array([float(rate(b) / plain(b)) for b in batches])
    assert factors[: 3 * 12 + 1] == pytest.approx(1)
    assert factors[-1] == pytest.approx(accumulate_steps / 24)
    assert (np.diff(factors) <= 0).all()


def test_a_cooldown_below_1_is_a_fraction_of_the_epochs():
    def of(cooldown_epochs, epochs):
        training = TrainingConfig(
            epochs=epochs, cooldown_epochs=cooldown_epochs
        )
        return schedule(training, 64, batches_per_epoch=30).get_config()

    assert of(0.2, 10) == of(2, 10)
    assert of(0.2, 20) == of(4, 20)
    # A part of an epoch, and a number that isn't whole, are accepted.
    assert of(0.1, 5)["cooldown_steps"] == 15
    assert of(2.5, 5)["cooldown_steps"] == 75
    assert of(1, 5)["cooldown_steps"] == 30
    assert of(0, 5)["cooldown_steps"] == 0


def test_counts_updates_where_gradients_are_accumulated():
    rates = []
    for steps in (1, 3):
        optimizer = DenseAdam(
            WarmupSchedule(4, 2, accumulation_steps=steps),
            gradient_accumulation_steps=steps if steps > 1 else None,
        )
        weight = keras.Variable([0.0])
        moved = [0.0]
        for _ in range(4 * steps):
            optimizer.apply([np.ones(1, "float32")], [weight])
            moved.append(float(weight.numpy()[0]))
        # Of equal gradients Adam's step is the rate.
        rates.append(-np.diff(moved[::steps]))
    assert rates[0] == pytest.approx(
        [float(WarmupSchedule(4, 2)(step)) for step in range(4)], rel=1e-3
    )
    assert rates[1] == pytest.approx(rates[0], rel=1e-3)


def test_wrong_values_are_refused():
    with pytest.raises(ValueError, match="warmup_steps=0"):
        WarmupSchedule(64, 0)
    with pytest.raises(ValueError, match="cooldown_steps=3, num_steps=2"):
        WarmupSchedule(64, 10, num_steps=2, cooldown_steps=3)
