"""A SavedModel in its own session, loaded as TensorFlow Serving does.

One call adds the graph, restores the variables from the checkpoint and runs
the initializers of the tables; from then on only the graph runs, without Keras.
Whether XLA may compile is a setting of the process.
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
    """Runs the signatures of a version folder. Thread-safe.

    Args:
        folder: the version folder.
        intra_op_threads: threads within one operation; 0: TensorFlow's choice.
        inter_op_threads: threads for independent operations; 0: TensorFlow's
            choice; -1: the calling thread runs all of them, as handing small
            operations to other threads takes longer than running them.

    Attributes:
        signatures: `SignatureDef` by name; that of the initializers, which
            can't be called, has no `method_name`.

    Raises:
        tf.errors.OpError, OSError, ValueError: it can't be loaded.
        InputError: the graph's file is larger than protobuf's maximum.
    """

    def __init__(
        self,
        folder: str | os.PathLike,
        intra_op_threads: int = 0,
        inter_op_threads: int = -1,
    ) -> None:
        # Imported late, as it registers operations: `graph_checks` asks which
        # ones TensorFlow has by itself.
        import tensorflow_text  # noqa: F401

        _require_size(folder)
        config = tf.compat.v1.ConfigProto(
            intra_op_parallelism_threads=intra_op_threads,
            inter_op_parallelism_threads=inter_op_threads,
        )
        self._session = session_with_plain_errors(tf.Graph(), config)
        try:
            # The loader logs a deprecation warning on each call, but it is the
            # only one in Python that loads as the server's own loader does.
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
            name: the signature's name.
            inputs: an array or a list by the name of each input.
            outputs: names of the outputs to compute; empty: all of them.

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
            # The graph's error message quotes text that isn't UTF-8.
            message = error.object.decode("utf-8", "replace")
            raise tf.errors.InvalidArgumentError(None, None, message) from None
        return {key: _array(value) for key, value in values.items()}

    def close(self) -> None:
        """Frees the graph and its variables."""
        self._session.close()
        dismantle_graph(self._session.graph)


def _require_size(folder):
    """Refuses a graph file so large that loading could exhaust the memory."""
    for path in pathlib.Path(folder).glob("saved_model.pb*"):
        size = path.stat().st_size
        if size > LARGEST_GRAPH:
            raise InputError(
                f"{path}: {size:,} bytes. Accepted: up to {LARGEST_GRAPH:,}"
            )


@contextlib.contextmanager
def without_wildcards(folder: str | os.PathLike) -> Iterator[str]:
    """Yields a path of the folder that has no glob characters.

    TensorFlow treats the checkpoint's path as a glob pattern, and wouldn't find
    it in a folder such as `model[1]`.
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
    """Sets TensorFlow's log level, such as "ERROR", for the block."""
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
    """Converts a session's outputs to translations of texts.

    Args:
        texts: the source texts.
        outputs: arrays by name, from a signature that translates.
        count: number of translations requested for each text; None: all.

    Raises:
        InputError: there are fewer translations than `count`.
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
    """Converts translations of texts to a session's outputs.

    Args:
        results: the translations of B texts.
        count: K of an n-best list, padded with "" and a score of `NO_SCORE`;
            None: only the best translation.
    """
    ranks = count or 1
    shape = (len(results), ranks) if count else (len(results),)
    left = [Hypothesis("", NO_SCORE)] * ranks
    rows = [[*one.hypotheses, *left][:ranks] for one in results]
    sentences = [
        # Texts that aren't split count as one sentence, blank ones as none.
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
    """Returns the names of the outputs with texts and with scores."""
    if layout.TRANSLATIONS in outputs:
        return layout.TRANSLATIONS, layout.SCORES
    return layout.TRANSLATION, layout.SCORE


def _tensor_names(infos):
    return {key: info.name for key, info in infos.items()}


def _array(value):
    """Wraps a scalar string, which a session returns as bytes."""
    return np.array(value, object) if isinstance(value, bytes) else value
