"""The moving average of the weights, in the model where it is wanted."""

import keras


class MovingAverage(keras.callbacks.Callback):
    """Puts the weights' moving average into the model while it is scored.

    From the first dev batch, or the end of the epoch without a dev set, the
    model has the average; `give_back` is the callback that returns the
    weights that are trained, to be put behind those that score and save.
    Without `training.ema` nothing happens.

    Args:
        model: compiled with `DenseAdam`, built.
    """

    def __init__(self, model):
        super().__init__()
        # Under mixed_float16, Keras wraps the optimizer.
        optimizer = model.optimizer
        optimizer = getattr(optimizer, "inner_optimizer", optimizer)
        self._pairs = optimizer.moving_averages()
        self._in_use = False
        self.give_back = keras.callbacks.LambdaCallback(
            on_epoch_end=lambda epoch, logs: self.use(False)
        )

    def on_test_begin(self, logs=None):
        self.use(True)

    def on_epoch_end(self, epoch, logs=None):
        self.use(True)

    def use(self, average: bool):
        """Has the model use the average, or the weights that are trained."""
        if average == self._in_use:
            return
        for variable, other in self._pairs:
            # Through copies: sums and differences would round.
            value, other_value = variable.numpy(), other.numpy()
            variable.assign(other_value)
            other.assign(value)
        self._in_use = average
