"""What is exported: tokenizers, weights and two graph functions."""

import contextlib
import dataclasses

import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.decoding.translator import Translator
from keras_transformer.export import layout
from keras_transformer.models import IncrementalTransformer


class ServedTranslator:
    """The signatures of a model, traced, and the module that is saved.

    A Keras model as an attribute of the saved module would bring a copy of
    each weight, and the server would restore the copy instead of what the
    graph reads. So the model stays in the closure of the graph functions, and
    the module tracks the raw variables that they read.

    Args:
        model: `keras.Model` that `build_transformer` made.
        source_tokenizer: `Tokenizer`.
        target_tokenizer: `Tokenizer`.
        decoding: the search behind `serving_default`.

    Attributes:
        module: `tf.Module` of what is saved: tokenizers and variables.
        functions: `{signature name: concrete function}`.
    """

    def __init__(
        self,
        model,
        source_tokenizer,
        target_tokenizer,
        decoding: DecodingConfig,
    ):
        incremental = IncrementalTransformer(model)
        searches = {
            layout.BEAM: decoding,
            layout.GREEDY: dataclasses.replace(decoding, beam_size=1),
        }
        self.functions = {}
        for name, config in searches.items():
            translator = Translator(
                source_tokenizer,
                target_tokenizer,
                incremental.start,
                incremental.step,
                config,
                incremental.max_length,
            )
            function = translator.translate.get_concrete_function()
            self.functions[name] = function
        self.module = tf.Module()
        self.module.source_tokenizer = source_tokenizer
        self.module.target_tokenizer = target_tokenizer
        self.module.weights = _distinct(self.functions.values())

    @property
    def variable_count(self) -> int:
        """Weight tensors that the graphs read."""
        return len(self.module.weights)

    def save(self, folder):
        """Writes the SavedModel into a folder that is there."""
        tf.saved_model.save(self.module, str(folder), signatures=self.functions)

    def reference(self, texts: list[str]) -> dict:
        """What this process makes of texts, for the checks to compare with.

        Returns:
            `{"texts", "outputs": {signature: {"translation", "score"}},
            "variables"}`.
        """
        text = tf.constant(texts, tf.string)
        outputs = {}
        with _full_precision():
            for name, function in self.functions.items():
                result = function(text=text)
                translations = result[layout.TRANSLATION].numpy()
                outputs[name] = {
                    layout.TRANSLATION: [t.decode() for t in translations],
                    layout.SCORE: result[layout.SCORE].numpy().tolist(),
                }
        return {
            "variables": self.variable_count,
            "texts": list(texts),
            "outputs": outputs,
        }


def _distinct(functions):
    """The variables of several functions, each once."""
    found = {}
    for function in functions:
        for variable in function.variables:
            found.setdefault(variable.ref(), variable)
    return list(found.values())


@contextlib.contextmanager
def _full_precision():
    """Without TF32, in which GPUs round more than the checks allow."""
    enabled = tf.config.experimental.tensor_float_32_execution_enabled()
    tf.config.experimental.enable_tensor_float_32_execution(False)
    try:
        yield
    finally:
        tf.config.experimental.enable_tensor_float_32_execution(enabled)
