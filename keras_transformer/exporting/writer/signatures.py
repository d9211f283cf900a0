"""Signatures of an export: graphs with their tokenizers and weights."""

from __future__ import annotations

import contextlib
import pathlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from keras_transformer.config.data import DataConfig
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.contract import layout
from keras_transformer.exporting.session import log_level
from keras_transformer.search.shortlist import Lexicon, LexiconTable
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.translation.details import align, tokenize
from keras_transformer.translation.paragraphs import (
    by_sentence,
    scored_by_sentence,
)
from keras_transformer.translation.translator import (
    Translator,
    greedy,
    step_model,
    with_prefix,
)

if TYPE_CHECKING:
    import keras


# Absolute and relative tolerance of scores between batches. Rounding in float32
# depends on the batch. In bfloat16, whose numbers have 8 significant bits, and
# in int8, this seldom but visibly moves a value to the next step.
TOLERANCES = {"float32": 1e-4, "bfloat16": 2e-2, "int8": 2e-2}


class TracedSignatures:
    """The traced signatures of a model, and the module that is saved.

    A Keras model as an attribute of the saved module would add a copy of each
    weight, and the server would restore the copy instead of the variable that
    the graph reads. So the model stays in the closure of the graph functions,
    and the module tracks the raw variables that they read.

    Args:
        model: a `keras.Model` from `build_transformer`.
        source_tokenizer: `Tokenizer`.
        target_tokenizer: `Tokenizer`.
        decoding: the search behind `serving_default`, and the precision.
        limits: see `IncrementalTransformer`.
        others: further models of an `Ensemble`.
        lexicon: for a shortlist, with one model only; None: no shortlist.
        data: names the languages, whose rules split texts into sentences if
            `decoding` requests it; None: texts aren't split.

    Attributes:
        module: `tf.Module` that is saved: tokenizers and variables.
        functions: `{signature name: concrete function}`.
        variable_count: number of weight tensors that the graphs read.
    """

    def __init__(
        self,
        model: keras.Model,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        decoding: DecodingConfig,
        limits: dict | None = None,
        others: Sequence[keras.Model] = (),
        lexicon: Lexicon | None = None,
        data: DataConfig | None = None,
    ) -> None:
        source_tokenizer = with_prefix(source_tokenizer, decoding)
        # Graphs that don't use the alignment don't compute it either.
        models = [model, *others]
        steps = step_model(
            models, decoding.precision, True, limits, lexicon is not None
        )
        table = LexiconTable.of(lexicon, target_tokenizer, decoding)
        beam, best = (
            Translator(source_tokenizer, target_tokenizer, steps, config, table)
            for config in (decoding, greedy(decoding))
        )
        pairs = beam.pair_splitters(data) if data else None
        sentences = (pairs[0] if pairs else None, decoding.batch_size)
        ranks = 1 if decoding.temperature else decoding.beam_size
        # The last two return the tokens of one sentence and never split.
        graphs: dict[str, Any] = {
            layout.BEAM: by_sentence(beam.translate, *sentences),
            layout.GREEDY: by_sentence(best.translate, *sentences),
            layout.NBEST: by_sentence(beam.nbest, *sentences, ranks),
            layout.SCORING: scored_by_sentence(
                beam.score, pairs, decoding.batch_size
            ),
            layout.TOKENIZE: tokenize(beam.source_tokenizer),
            layout.ALIGN: align(beam),
        }
        self.functions = {
            name: graph.get_concrete_function()
            for name, graph in graphs.items()
        }
        self.module = tf.Module()
        self.module.source_tokenizer = beam.source_tokenizer
        self.module.target_tokenizer = target_tokenizer
        self.module.weights = _distinct(self.functions.values())
        self.variable_count = len(self.module.weights)
        self._precision = decoding.precision

    def save(self, folder: pathlib.Path) -> None:
        """Writes the SavedModel into an existing folder."""
        # In notebooks TensorFlow logs the folder, whose name is temporary.
        with log_level("WARNING"):
            tf.saved_model.save(
                self.module, str(folder), signatures=self.functions
            )

    def reference(self, texts: list[str]) -> dict:
        """Runs all signatures here, for the checks to compare with.

        Returns:
            `{"variables", "precision", "tolerance", "texts", "inputs":
            {signature: {name: list}}, "outputs": {signature: {name:
            list}}}`.
        """
        inputs: dict[str, dict] = {}
        outputs: dict[str, dict] = {}
        with full_precision():
            for name, function in self.functions.items():
                inputs[name] = {layout.TEXT: list(texts)}
                if layout.TRANSLATION in layout.SIGNATURES[name].inputs:
                    translations = outputs[layout.BEAM][layout.TRANSLATION]
                    inputs[name][layout.TRANSLATION] = translations
                result = function(
                    **{
                        key: tf.constant(values, tf.string)
                        for key, values in inputs[name].items()
                    }
                )
                outputs[name] = {
                    key: _as_json(tensor) for key, tensor in result.items()
                }
        return {
            "variables": self.variable_count,
            "precision": self._precision,
            "tolerance": TOLERANCES[self._precision],
            "texts": list(texts),
            "inputs": inputs,
            "outputs": outputs,
        }


def _as_json(tensor):
    """Converts a tensor to nested lists, with strings decoded."""
    values = tensor.numpy()
    if tensor.dtype == tf.string:
        values = np.vectorize(bytes.decode, [object])(values)
    return values.tolist()


def _distinct(functions):
    """Returns the distinct variables of several functions."""
    variables: dict = {}
    for function in functions:
        for variable in function.variables:
            variables.setdefault(variable.ref(), variable)
    return list(variables.values())


@contextlib.contextmanager
def full_precision() -> Iterator[None]:
    """Disables TF32, in which GPUs round more than the checks allow."""
    enabled = tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(False)
    try:
        yield
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(enabled)
