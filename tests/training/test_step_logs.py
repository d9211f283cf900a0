"""How far the host runs ahead of the device, and what it reads."""

import keras

from keras_transformer.training.step_logs import UnreadLogs


class OnDevice:
    """A number of a step that may not have ended."""

    def __init__(self, number, events):
        self._number = number
        self._events = events

    def block_until_ready(self):
        self._events.append(("waited", self._number))

    def __float__(self):
        self._events.append(("read", self._number))
        return float(self._number)


class Passed(keras.callbacks.Callback):
    def __init__(self, events):
        super().__init__()
        self._events = events

    def on_train_batch_end(self, batch, logs=None):
        self._events.append(("ended", batch))


def test_steps_are_handed_out_ahead_of_the_device():
    events = []
    model = keras.Sequential()
    callbacks = UnreadLogs([Passed(events)], model=model, epochs=1)
    for batch in range(6):
        callbacks.on_train_batch_end(batch, {"loss": OnDevice(batch, events)})
    assert events == [
        *[("ended", batch) for batch in range(4)],
        ("waited", 0),
        ("ended", 4),
        ("waited", 1),
        ("ended", 5),
    ]
