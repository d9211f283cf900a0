"""A CTranslate2 export, run through the same signatures as a SavedModel.

Names, types and meanings are those of `contract.layout`. There is no `align`
signature, as CTranslate2's alignments aren't known to match the model's.

Axes: B texts, K hypotheses.
"""

import os
from collections.abc import Callable

import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2

from keras_transformer.constants import NO_SCORE
from keras_transformer.contract import layout
from keras_transformer.contract.status import invalid_argument
from keras_transformer.data.masking import mask_pairs
from keras_transformer.exporting.ctranslate2_translator import (
    CTranslate2Translator,
)
from keras_transformer.exporting.session import outputs_of
from keras_transformer.search.scoring import ONE_EACH, LengthPenalty
from keras_transformer.translation.details import tokenize
from keras_transformer.translation.paragraphs import added_scores
from keras_transformer.translation.translator import greedy


class CTranslate2Session:
    """Runs the signatures of an export. Thread-safe.

    Args:
        folder: the folder that `export --format ctranslate2` wrote.
        intra_op_threads: threads for one batch; 0: CTranslate2's choice.
        workers: batches translated in parallel; further ones are queued.

    Attributes:
        signatures: `SignatureDef` by name.

    Raises:
        InputError: CTranslate2 isn't installed, or the folder isn't a
            CTranslate2 export or is damaged.
    """

    def __init__(
        self,
        folder: str | os.PathLike,
        intra_op_threads: int = 0,
        workers: int = 1,
    ) -> None:
        self._translator = CTranslate2Translator(
            folder, threads=intra_op_threads, workers=workers
        )
        decoding = self._translator.decoding
        self._greedy = self._translator.with_search(greedy(decoding))
        self._ids = tokenize(self._translator.source_tokenizer)
        self._functions: dict[str, Callable[..., dict]] = {
            layout.BEAM: lambda text: _translated(self._translator, text),
            layout.GREEDY: lambda text: _translated(self._greedy, text),
            layout.NBEST: lambda text: _translated(
                self._translator, text, decoding.beam_size
            ),
            layout.SCORING: self._score,
            layout.TOKENIZE: self._tokenize,
        }
        self.signatures = {
            name: _definition(layout.SIGNATURES[name])
            for name in self._functions
        }
        # Traces the tokenizers now, so that the first request isn't slow.
        for name, signature in self.signatures.items():
            self.run(name, {key: [b"a"] for key in signature.inputs})

    def run(self, name: str, inputs: dict, outputs: tuple = ()) -> dict:
        """Runs a signature.

        Args:
            name: the signature's name.
            inputs: an array or a list of bytes by the name of each input.
            outputs: names of the outputs to return; empty: all of them.

        Returns:
            an array by the name of each output; strings are bytes in an
            array of objects.

        Raises:
            KeyError: there is no such signature, input or output.
            ServingError: the numbers of texts and translations differ.
            RuntimeError: CTranslate2 failed.
        """
        texts = {key: list(values) for key, values in inputs.items()}
        values = self._functions[name](**texts)
        return {key: values[key] for key in outputs or values}

    def close(self) -> None:
        """Frees the weights."""
        self._translator.close()

    def _score(self, text, translation):
        if len(text) != len(translation):
            raise invalid_argument(f"{ONE_EACH} {len(text)} {len(translation)}")
        if (placeholders := self._translator.placeholders) is not None:
            sides = _decoded(text), _decoded(translation)
            pairs = mask_pairs(zip(*sides, strict=True), placeholders)
            text, translation = (
                [pair[side].encode() for pair in pairs] for side in (0, 1)
            )
        split = self._translator.split_pairs
        if split is None:
            return self._score_sentences(text, translation)
        *columns, rows = split(
            *(tf.constant(side, tf.string) for side in (text, translation))
        )
        outputs = self._score_sentences(*(c.numpy().tolist() for c in columns))
        added = added_scores(outputs, rows, len(text))
        return {name: tensor.numpy() for name, tensor in added.items()}

    def _score_sentences(self, text, translation):
        translator, shape = self._translator, self._translator.config.model
        tokens = translator.target_tokenizer.tokenize(
            tf.constant(translation, tf.string)
        )  # (B, ragged)
        most = shape.max_length - 1  # without END
        by_token = translator.token_log_probabilities(
            text, tokens[:, :most].to_list()
        )
        lengths = np.array([len(values) for values in by_token], np.int32)
        sums = np.array([sum(values) for values in by_token], np.float32)
        source = self._ids(tf.constant(text, tf.string))[layout.LENGTH].numpy()
        if not (shape.source_start or shape.source_end):
            # CTranslate2 skips rows whose source is empty.
            sums[source == 0] = NO_SCORE
        decoding = translator.decoding
        penalty = LengthPenalty(
            decoding.length_normalization, decoding.length_penalty
        )
        return {
            layout.LOG_PROBABILITY: sums,
            layout.SCORE: (sums / penalty.of(lengths)).numpy(),
            layout.TOKENS: lengths,
            layout.TRUNCATED: source > shape.max_length - 2,  # START and END
            layout.TRANSLATION_TRUNCATED: tokens.row_lengths().numpy() > most,
        }

    def _tokenize(self, text):
        outputs = self._ids(tf.constant(text, tf.string))
        return {name: tensor.numpy() for name, tensor in outputs.items()}


def _translated(translator, text, count=None):
    return outputs_of(translator.results(_decoded(text), count), count)


def _decoded(texts):
    return [text.decode("utf-8", "replace") for text in texts]


def _definition(signature):
    """`SignatureDef` of a `contract.layout.Signature`."""

    def info(name, dtype, rank):
        return meta_graph_pb2.TensorInfo(
            name=f"{name}:0",
            dtype=tf.as_dtype(dtype).as_datatype_enum,
            tensor_shape=tf.TensorShape([None] * rank).as_proto(),
        )

    return meta_graph_pb2.SignatureDef(
        inputs={name: info(name, "string", 1) for name in signature.inputs},
        outputs={
            name: info(name, *described)
            for name, described in signature.outputs.items()
        },
        method_name=tf.saved_model.PREDICT_METHOD_NAME,
    )
