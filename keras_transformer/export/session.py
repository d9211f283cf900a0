"""A SavedModel loaded as the server loads it: in a session, without XLA."""

import ctypes
import pathlib

import numpy as np
import tensorflow as tf

from keras_transformer.export.layout import INPUT, SCORE, TAG, TRANSLATION
from keras_transformer.export.report import CheckFailed

# `void tensorflow::DisableXlaCompilation()`, which the stock server calls
# when it starts.
_DISABLE_XLA = "_ZN10tensorflow21DisableXlaCompilationEv"


def disable_xla() -> bool:
    """Forbids XLA in this process, for good.

    Returns:
        False where TensorFlow comes without its C++ library (Windows).
    """
    folder = pathlib.Path(tf.sysconfig.get_lib())
    for path in sorted(folder.glob("libtensorflow_cc.*")):
        function = getattr(ctypes.CDLL(str(path)), _DISABLE_XLA, None)
        if function is not None:
            function()
            return True
    return False


class ServedModel:
    """Runs the signatures of a version folder.

    Args:
        folder: the version folder.

    Raises:
        tf.errors.OpError, OSError, ValueError: it can't be loaded.
    """

    def __init__(self, folder):
        self._session = tf.compat.v1.Session(graph=tf.Graph())
        # One call adds the graph, restores the variables from the checkpoint
        # and runs the initializers of the tables.
        meta_graph = tf.compat.v1.saved_model.load(
            self._session, [TAG], str(folder)
        )
        self._signatures = dict(meta_graph.signature_def)

    def predict(self, signature: str, texts: list[bytes]):
        """Runs a signature, and checks the outputs' types and shapes.

        Args:
            signature: its name.
            texts: any bytes.

        Returns:
            translations, a list of str, and scores, float32 `(B,)`.

        Raises:
            CheckFailed: a translation isn't UTF-8 or a score isn't a number,
                or there isn't one of each for each text.
            tf.errors.OpError: the graph failed.
        """
        description = self._signatures[signature]
        outputs = self._session.run(
            {name: info.name for name, info in description.outputs.items()},
            {description.inputs[INPUT].name: np.array(texts, dtype=object)},
        )
        translations, scores = outputs[TRANSLATION], outputs[SCORE]
        if not translations.shape == scores.shape == (len(texts),):
            raise CheckFailed(
                f"{signature}: {len(texts)} texts gave outputs of shape "
                f"{translations.shape} and {scores.shape}"
            )
        if not np.isfinite(scores).all():
            raise CheckFailed(f"{signature}: scores are not finite: {scores}")
        try:
            return [text.decode() for text in translations], scores
        except UnicodeDecodeError as error:
            raise CheckFailed(
                f"{signature}: a translation is not UTF-8: {error}"
            ) from None
