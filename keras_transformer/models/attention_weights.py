"""Attention weights of every layer of a model.

Axes: L layers, B batch, N heads, T target positions, S source positions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_transformer.layers import padding_mask, seen_source
from keras_transformer.tensors import Tensor


class AttentionWeights(NamedTuple):
    """Attention weights of all layers; the last axis sums to 1.

    Attributes:
        encoder: float `(L, B, N, S, S)`, the encoder's self-attention.
        decoder: float `(L, B, N, T, T)`, the decoder's self-attention.
        cross: float `(L, B, N, T, S)`, the decoder's cross-attention.
    """

    encoder: Any
    decoder: Any
    cross: Any


def attention_weights(
    model: keras.Model, source_ids: Tensor, target_ids: Tensor
) -> AttentionWeights:
    """Attention weights of one pass over given translations, without dropout.

    Args:
        model: `keras.Model` from `build_transformer`.
        source_ids: int32 `(B, S)`, as the model takes them, padded with 0.
        target_ids: int32 `(B, T)`, with START, padded with 0.

    Example:
        >>> import numpy as np
        >>> from keras_transformer import ModelConfig, build_transformer
        >>> config = ModelConfig(
        ...     num_encoder_layers=1, num_decoder_layers=1, d_model=8
        ... )
        >>> model = build_transformer(config, 10, 10)
        >>> ids = np.array([[2, 5, 3]])
        >>> attention_weights(model, ids, ids).cross.shape
        (1, 1, 8, 3, 3)
    """
    source_ids = ops.convert_to_tensor(source_ids, "int32")
    target_ids = ops.convert_to_tensor(target_ids, "int32")
    seen = seen_source(source_ids, model.source_start, model.source_end)
    source_mask = padding_mask(seen)
    target_mask = padding_mask(target_ids)
    encoder, encoder_inputs = _layers(model, "encoder_layer_")
    decoder, decoder_inputs = _layers(model, "decoder_layer_")
    layer_inputs = keras.Model(model.inputs, [encoder_inputs, decoder_inputs])
    encoder_inputs, decoder_inputs = layer_inputs(
        {"source_ids": source_ids, "target_ids": target_ids}, training=False
    )
    in_encoder = [
        layer.attention_weights(x[0], source_mask)
        for layer, x in zip(encoder, encoder_inputs, strict=True)
    ]
    to_itself, to_source = zip(
        *(
            layer.attention_weights(*x[:2], target_mask, source_mask)
            for layer, x in zip(decoder, decoder_inputs, strict=True)
        ),
        strict=True,
    )
    return AttentionWeights(
        *(
            ops.convert_to_numpy(ops.stack(weights))
            for weights in (in_encoder, to_itself, to_source)
        )
    )


def _layers(model, prefix):
    """Layers in order, and the inputs of each in the functional model."""
    layers = [layer for layer in model.layers if layer.name.startswith(prefix)]
    return layers, [layer.input for layer in layers]
