"""Loss, schedule and optimizer in files of Keras."""

import keras
import pytest

from keras_transformer.training.loss import SmoothedCrossEntropy
from keras_transformer.training.optimizer import DenseAdam
from keras_transformer.training.schedule import WarmupSchedule


@pytest.mark.parametrize(
    ("module", "made"),
    [
        (keras.losses, SmoothedCrossEntropy(0.3)),
        (keras.optimizers.schedules, WarmupSchedule(64, 10, 0.5, 2, 100, 20)),
        (keras.optimizers, DenseAdam(0.3, beta_2=0.98)),
    ],
    ids=["loss", "schedule", "optimizer"],
)
def test_serialises(module, made):
    revived = module.deserialize(module.serialize(made))
    assert type(revived) is type(made)
    assert revived.get_config() == made.get_config()
