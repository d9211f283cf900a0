"""A SavedModel in a session of its own, loaded as TensorFlow Serving does.

One call adds the graph, restores the variables from the checkpoint and runs
the initializers of the tables; what runs then is the graph, without anything
of Keras. Whether XLA may compile is up to the process.
"""

import contextlib
import glob
import os
import pathlib
import tempfile
from collections.abc import Iterator, Sequence

import numpy as np
import tensorflow as tf

from keras_transformer.blank import is_blank
from keras_transformer.compat import (
    dismantle_graph,
    session_with_plain_errors,
)
from keras_transformer.constants import NO_SCORE
from keras_transformer.contract import layout
from keras_transformer.contract.layout import LARGEST_GRAPH, TAG
from keras_transformer.errors import InputError
from keras_transformer.translation.request import (
    Hypothesis,
    Translation,
    translations_of,
)


class SavedModelSession:
    """Runs the signatures of a version folder, for many threads at once.

    Args:
        folder: the version folder.
        intra_op_threads: that one operation uses; 0: TensorFlow's choice.
        inter_op_threads: for operations side by side; 0: TensorFlow's
            choice; -1: the thread that calls runs them all, as handing
            small ones to other threads takes longer than they do.

    Attributes:
        signatures: `SignatureDef` by name; that of the initializers, which
            can't be called, has no `method_name`.

    Raises:
        tf.errors.OpError, OSError, ValueError: it can't be loaded.
        InputError: its graph is larger than any.
    """

    def __init__(
        self,
        folder: str | os.PathLike,
        intra_op_threads: int = 0,
        inter_op_threads: int = -1,
    ) -> None:
        # Only now, as it registers its operations: a check asks which ones
        # TensorFlow has by itself.
        import tensorflow_text  # noqa: F401

        _require_size(folder)
        config = tf.compat.v1.ConfigProto(
            intra_op_parallelism_threads=intra_op_threads,
            inter_op_parallelism_threads=inter_op_threads,
        )
        self._session = session_with_plain_errors(tf.Graph(), config)
        try:
            # The loader says that it is deprecated, each time. There is no
            # other way to load what the server's own loader loads.
            with log_level("ERROR"), without_wildcards(folder) as path:
                meta_graph = tf.compat.v1.saved_model.load(
                    self._session, [TAG], path
                )
        except BaseException:
            self.close()
            raise
        self.signatures = dict(meta_graph.signature_def)
        self._tensors = {
            name: (_tensor_names(s.inputs), _tensor_names(s.outputs))
            for name, s in self.signatures.items()
        }

    def run(self, name: str, inputs: dict, outputs: tuple = ()) -> dict:
        """Runs a signature.

        Args:
            name: of the signature.
            inputs: an array, or lists, by the name of each input.
            outputs: names of those to compute; all if there are none.

        Returns:
            an array by the name of each output; strings are bytes in an
            array of objects.

        Raises:
            KeyError: there is no such signature, input or output.
            tf.errors.OpError: the graph failed.
        """
        feeds, fetches = self._tensors[name]
        if outputs:
            fetches = {key: fetches[key] for key in outputs}
        try:
            values = self._session.run(
                fetches, {feeds[key]: value for key, value in inputs.items()}
            )
        except UnicodeDecodeError as error:
            # Of the graph's error, which quotes text that isn't UTF-8.
            message = error.object.decode("utf-8", "replace")
            raise tf.errors.InvalidArgumentError(None, None, message) from None
        return {key: _array(value) for key, value in values.items()}

    def close(self) -> None:
        """Frees the graph and its variables."""
        self._session.close()
        dismantle_graph(self._session.graph)


def _require_size(folder):
    """Refuses a graph that the loader would read until no memory is left."""
    for path in pathlib.Path(folder).glob("saved_model.pb*"):
        size = path.stat().st_size
        if size > LARGEST_GRAPH:
            raise InputError(
                f"{path}: {size:,} bytes. Accepted: up to {LARGEST_GRAPH:,}"
            )


@contextlib.contextmanager
def without_wildcards(folder: str | os.PathLike) -> Iterator[str]:
    """A path of the folder that doesn't read as a pattern of paths.

    TensorFlow takes the checkpoint's path for one, and would not find it in
    a folder such as `model[1]`.
    """
    path = os.fspath(folder)
    if glob.escape(path) == path:
        yield path
        return
    with tempfile.TemporaryDirectory() as scratch:
        link = pathlib.Path(scratch, "model")
        link.symlink_to(pathlib.Path(path).resolve())
        yield str(link)


@contextlib.contextmanager
def log_level(name: str) -> Iterator[None]:
    """TensorFlow logs in the block from this level on, such as "ERROR"."""
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel(name)
    try:
        yield
    finally:
        logger.setLevel(level)


def results_of(
    texts: Sequence[str], outputs: dict, count: int | None = None
) -> list[Translation]:
    """Translations of texts, from what a session gives.

    Args:
        texts: that were translated.
        outputs: arrays by name, of a signature that translates.
        count: translations of each that are requested; None: all.

    Raises:
        InputError: there are fewer.
    """
    columns = [outputs[name] for name in _names(outputs)]
    if columns[0].ndim == 1:
        columns = [column[:, None] for column in columns]
    translations, scores = columns
    return translations_of(
        texts,
        [[text.decode("utf-8", "replace") for text in r] for r in translations],
        scores.tolist(),
        outputs[layout.TRUNCATED].tolist(),
        count or translations.shape[1],
        outputs[layout.SENTENCES].tolist(),
    )


def outputs_of(results: list[Translation], count: int | None = None) -> dict:
    """What a session gives, from translations of texts.

    Args:
        results: of B texts.
        count: K of an n-best list, "" with a score of `NO_SCORE` for what is
            left over; None: the best alone.
    """
    ranks = count or 1
    shape = (len(results), ranks) if count else (len(results),)
    left = [Hypothesis("", NO_SCORE)] * ranks
    rows = [[*one.hypotheses, *left][:ranks] for one in results]
    sentences = [
        # Of texts that aren't split.
        int(not is_blank(one.source))
        if one.sentences is None
        else one.sentences
        for one in results
    ]
    hypotheses = [one for row in rows for one in row]
    texts = [one.text.encode() for one in hypotheses]
    scores = [one.score for one in hypotheses]
    names = _names([layout.TRANSLATIONS] if count else [])
    return {
        names[0]: np.array(texts, object).reshape(shape),
        names[1]: np.array(scores, np.float32).reshape(shape),
        layout.TRUNCATED: np.array([one.truncated for one in results], bool),
        layout.SENTENCES: np.array(sentences, np.int32),
    }


def _names(outputs):
    """Outputs with texts and with scores, of those that there are."""
    if layout.TRANSLATIONS in outputs:
        return layout.TRANSLATIONS, layout.SCORES
    return layout.TRANSLATION, layout.SCORE


def _tensor_names(infos):
    return {key: info.name for key, info in infos.items()}


def _array(value):
    """A session gives a scalar string as bytes."""
    return np.array(value, object) if isinstance(value, bytes) else value
