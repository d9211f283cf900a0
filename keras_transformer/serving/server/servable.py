"""One version of a model, loaded as TensorFlow Serving loads it."""

import os
import pathlib

import numpy as np
import tensorflow as tf
import tensorflow_text  # noqa: F401  (registers its operations)
from tensorflow.python.framework import ops

from keras_transformer.contract.errors import Code, ServingError
from keras_transformer.contract.names import TAG, WARMUP
from keras_transformer.contract.tensors import complete_inputs
from keras_transformer.serving.server.warmup import replay

DEFAULT_SIGNATURE = "serving_default"


class Servable:
    """A SavedModel in a session of its own.

    Whether XLA may compile is up to the process; `keras-transformer serve`
    forbids it. Nothing of Keras and none of the project's models is needed:
    what runs is the graph. `run` may be called by many threads at once.

    Args:
        name: of the model.
        version: its number.
        folder: the version folder.
        intra_op_threads: that one operation uses; 0: TensorFlow's choice.

    Attributes:
        name, version, folder: as given.
        signatures: `SignatureDef` by name.

    Raises:
        ServingError, tf.errors.OpError, OSError, ValueError: it can't be
            loaded, or a warm-up record fails.
    """

    def __init__(
        self,
        name: str,
        version: int,
        folder: str | os.PathLike,
        intra_op_threads: int = 0,
    ):
        self.name = name
        self.version = version
        self.folder = pathlib.Path(folder)
        config = tf.compat.v1.ConfigProto(
            intra_op_parallelism_threads=intra_op_threads,
            # A worker runs its batch itself: handing small operations to
            # other threads takes longer than they do.
            inter_op_parallelism_threads=-1,
        )
        # It says that it is deprecated, each time; there is no other way to
        # load what the server's own loader loads.
        tf.get_logger().setLevel("ERROR")
        self._session = tf.compat.v1.Session(graph=tf.Graph(), config=config)
        try:
            meta_graph = tf.compat.v1.saved_model.load(
                self._session, [TAG], str(self.folder)
            )
            self.signatures = dict(meta_graph.signature_def)
            warmup = self.folder / WARMUP
            if warmup.is_file():
                replay(warmup, self)
        except BaseException:
            self.close()
            raise

    def signature(self, name: str):
        """The `SignatureDef` of a name; "" is the default one.

        Raises:
            ServingError: there is none.
        """
        name = name or DEFAULT_SIGNATURE
        if name not in self.signatures:
            raise ServingError(
                Code.FAILED_PRECONDITION,
                f'Serving signature key "{name}" not found.',
            )
        signature = self.signatures[name]
        if not signature.method_name:
            # An initializer of tables is listed among the signatures.
            raise ServingError(
                Code.INVALID_ARGUMENT, f'"{name}" is no signature to predict'
            )
        return signature

    def run(self, name: str, inputs: dict, outputs: tuple = ()) -> dict:
        """Runs a signature.

        Args:
            name: of the signature; "" is the default one.
            inputs: arrays by name.
            outputs: names of the wanted ones; all if there are none.

        Returns:
            arrays by name; those of strings are of `bytes` objects.

        Raises:
            ServingError: there is no such signature, or an input isn't what
                it takes.
            tf.errors.OpError: the graph failed.
        """
        signature = self.signature(name)
        inputs = complete_inputs(signature, inputs)
        fetches = {
            output: signature.outputs[output].name
            for output in outputs or signature.outputs
        }
        feeds = {
            signature.inputs[key].name: array for key, array in inputs.items()
        }
        found = self._session.run(fetches, feeds)
        return {output: _array(value) for output, value in found.items()}

    def close(self):
        """Frees the graph and its variables."""
        self._session.close()
        # It refers to itself: Python would look for such cycles much later.
        ops.dismantle_graph(self._session.graph)


def _array(value):
    """A session gives a scalar string as bytes."""
    return np.array(value, object) if isinstance(value, bytes) else value
