"""A SavedModel loaded as the server loads it: in a session, without XLA."""

import ctypes

import numpy as np
import tensorflow as tf

from keras_transformer.contract.layout import TAG, TEXT
from keras_transformer.export.verification.c_api import (
    DISABLE_XLA,
    find_library,
)
from keras_transformer.export.verification.outputs import readable


def disable_xla() -> bool:
    """Forbids XLA in this process, for good.

    Returns:
        False where TensorFlow comes without its C++ library (Windows).
    """
    library = find_library()
    if library is not None:
        getattr(ctypes.CDLL(str(library)), DISABLE_XLA)()
    return library is not None


class ServedModel:
    """Runs the signatures of a version folder.

    Args:
        folder: the version folder.
        threads: that an operation uses; None: one a core.

    Raises:
        tf.errors.OpError, OSError, ValueError: it can't be loaded.
    """

    def __init__(self, folder, threads: int | None = None):
        config = tf.compat.v1.ConfigProto(
            intra_op_parallelism_threads=threads or 0,
            inter_op_parallelism_threads=1 if threads == 1 else 0,
        )
        self._session = tf.compat.v1.Session(graph=tf.Graph(), config=config)
        # One call adds the graph, restores the variables from the checkpoint
        # and runs the initializers of the tables.
        meta_graph = tf.compat.v1.saved_model.load(
            self._session, [TAG], str(folder)
        )
        self._signatures = dict(meta_graph.signature_def)

    def predict(self, signature: str, inputs: dict) -> dict:
        """Runs a signature, and checks the outputs' types and shapes.

        Args:
            signature: its name.
            inputs: a list of bytes by the name of each input.

        Returns:
            by the name of each output: nested lists of text, or an array.

        Raises:
            CheckFailed: text isn't UTF-8, a number isn't finite, or there
                isn't a row for each of the inputs'.
            tf.errors.OpError: the graph failed.
        """
        description = self._signatures[signature]
        outputs = self._session.run(
            {name: info.name for name, info in description.outputs.items()},
            {
                description.inputs[name].name: np.array(values, dtype=object)
                for name, values in inputs.items()
            },
        )
        count = len(inputs[TEXT])
        return {
            name: readable(f"{signature}, {name}", values, count)
            for name, values in outputs.items()
        }
