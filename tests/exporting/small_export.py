"""A small export: every signature gives nothing, and reads one weight."""

import numpy as np
import tensorflow as tf

from keras_transformer.contract import layout
from keras_transformer.exporting.warmup_requests import write_warmup
from keras_transformer.system.files import write_json


def write(folder, change=None, **attributes):
    """Writes a version folder, see `save`; returns it."""
    save(folder, change, **attributes)
    expected = reference(["a", ""])
    (folder / layout.WARMUP).parent.mkdir()
    write_warmup(folder / layout.WARMUP, "small", expected["inputs"])
    write_json(folder / layout.REFERENCE, expected)
    return folder


def save(folder, change=None, **attributes):
    """Saves the graph and the weight.

    Args:
        folder: to be written.
        change: of the outputs of signatures that give the best text.
        attributes: of the module that is saved.
    """
    module = tf.Module()
    module.weight = tf.Variable(tf.zeros([10_000]))
    for name, value in attributes.items():
        setattr(module, name, value)
    functions = {
        name: _function(
            signature,
            module.weight,
            change if name in (layout.BEAM, layout.GREEDY) else None,
        )
        for name, signature in layout.SIGNATURES.items()
    }
    tf.saved_model.save(module, str(folder), signatures=functions)


def reference(texts):
    """What the export answers."""
    return {
        "texts": texts,
        "inputs": {
            name: dict.fromkeys(signature.inputs, texts)
            for name, signature in layout.SIGNATURES.items()
        },
        "outputs": {
            name: {
                output: np.full(
                    [len(texts), 1, 1][:rank], _nothing(dtype)
                ).tolist()
                for output, (dtype, rank) in signature.outputs.items()
            }
            for name, signature in layout.SIGNATURES.items()
        },
        "variables": 1,
        "precision": "float32",
        "tolerance": 1e-4,
    }


def _function(signature, weight, change):
    def answer(**inputs):
        rows = tf.shape(inputs[layout.TEXT])[0]
        outputs = {
            name: tf.fill([rows, 1, 1][:rank], tf.cast(_nothing(dtype), dtype))
            for name, (dtype, rank) in signature.outputs.items()
        }
        if layout.SCORE in outputs:
            outputs[layout.SCORE] += weight[0]
        return change(outputs) if change else outputs

    specs = {
        name: tf.TensorSpec([None], tf.string, name=name)
        for name in signature.inputs
    }
    return tf.function(answer, autograph=False).get_concrete_function(**specs)


def _nothing(dtype):
    return "" if dtype == "string" else 0
