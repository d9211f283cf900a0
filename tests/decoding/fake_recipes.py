"""Recipes without a model, for workers."""

import dataclasses
import os
import time

from keras_transformer.errors import InputError


@dataclasses.dataclass(frozen=True)
class Shout:
    """Upper case; some words make the worker misbehave."""

    delay: float = 0.0

    def __call__(self):
        return self.translate

    def translate(self, lines):
        if self.delay:
            time.sleep(self.delay * len(lines[0]))
        for line in lines:
            if line == "bug":
                raise KeyError("no such word")
            if line == "full":
                raise MemoryError("no room")
            if line == "wrong":
                raise InputError("line 7: a wrong word")
            if line == "exit":
                os._exit(3)
            if line == "sleep":
                time.sleep(1000)
        return [line.upper() for line in lines]


@dataclasses.dataclass(frozen=True)
class Refuse:
    """Can't be loaded."""

    def __call__(self):
        raise InputError("run/weights: damaged")


@dataclasses.dataclass(frozen=True)
class Whereabouts:
    """Says of every line by whom it was translated."""

    def __call__(self):
        import tensorflow as tf

        threads = tf.config.threading.get_intra_op_parallelism_threads()
        return lambda lines: [(os.getpid(), threads) for _ in lines]


def compiling():
    """A function that says what it has spent on compiling."""

    class Translate:
        compile_seconds = 1.5

        def __call__(self, lines):
            return lines

    return Translate()


def set_up():
    """What a worker may do first."""
    os.environ["SET_UP"] = "yes"


def tell_set_up():
    """A recipe that tells whether `set_up` was called."""
    return lambda lines: [os.environ.get("SET_UP")] * len(lines)
