"""Exports that load and run in Python and that no stock server can run."""

import shutil

import tensorflow as tf

from keras_transformer.contract import layout


def save(served, report, folder, functions, **attributes):
    """Saves functions beside the extras of the whole export."""
    module = tf.Module()
    module.tokenizers = [
        served.module.source_tokenizer,
        served.module.target_tokenizer,
    ]
    module.weights = served.module.weights
    for key, value in attributes.items():
        setattr(module, key, value)
    tf.saved_model.save(module, str(folder), signatures=functions)
    extra = "assets.extra"
    shutil.copytree(report.path / extra, folder / extra)
    return folder


def all_changed(served, change):
    """All signatures, those that translate to the best text changed."""
    best = (layout.BEAM, layout.GREEDY)
    return {
        name: _changed(function, change) if name in best else function
        for name, function in served.functions.items()
    }


def reading(weight):
    """A change that reads a weight, for nothing."""

    def read(outputs):
        number = tf.reduce_sum(weight)
        return {**outputs, "score": outputs["score"] + 0.0 * number}

    return read


def compiled(outputs):
    """A change that has to be compiled by XLA."""
    function = tf.function(lambda x: x + 0.0, jit_compile=True, autograph=False)
    return {**outputs, "score": function(outputs["score"])}


def _changed(function, change):
    """A graph function that passes the outputs of another through a change."""

    def changed(text):
        return change(function(text=text))

    signature = [tf.TensorSpec([None], tf.string, name="text")]
    return tf.function(
        changed, signature, autograph=False
    ).get_concrete_function()
