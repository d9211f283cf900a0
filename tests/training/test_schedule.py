import keras
import numpy as np
import pytest

from keras_transformer.training.schedule import WarmupSchedule


def test_values_worked_by_hand():
    schedule = WarmupSchedule(d_model=256, warmup_steps=100, factor=2.0)
    # First update: 2 / 16 * 1 * 100^-1.5; peak at step 100: 2 / 16 * 0.1.
    assert float(schedule(0)) == pytest.approx(0.125 * 1e-3)
    assert float(schedule(99)) == pytest.approx(0.0125)
    assert float(schedule(399)) == pytest.approx(0.125 / 20)


def test_equals_the_notebook(shared):
    reference = np.load(shared / "reference" / "notebook_model.npz")
    for step, d_model, warmup, factor, rate in reference["noam_rates"]:
        schedule = WarmupSchedule(int(d_model), int(warmup), float(factor))
        assert float(schedule(step - 1)) == pytest.approx(rate, rel=1e-5)


def test_serialises():
    schedule = WarmupSchedule(64, 10, 0.5)
    config = keras.optimizers.schedules.serialize(schedule)
    revived = keras.optimizers.schedules.deserialize(config)
    assert revived.get_config() == schedule.get_config()


def test_drives_an_optimizer_from_its_first_update():
    optimizer = keras.optimizers.SGD(WarmupSchedule(4, 2))
    weight = keras.Variable([0.0])
    for _ in range(2):
        optimizer.apply([np.ones(1, "float32")], [weight])
    expected = 0.5 * (2**-1.5 + 2 * 2**-1.5)
    assert float(weight.numpy()[0]) == pytest.approx(-expected, rel=1e-5)


def test_wrong_values_are_refused():
    with pytest.raises(ValueError, match="warmup_steps=0"):
        WarmupSchedule(64, 0)
