"""The encoder's and the decoder's stack, and models of only one of them.

Also copies weights into a model with other layers or more tokens.

Axes: B batch, S source, T target positions, D model width, V vocabulary.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformer.config.model import ModelConfig
from keras_transformer.constants import PAD_ID
from keras_transformer.layers import (
    PositionalEmbedding,
    decoder_mask,
    padding_mask,
)
from keras_transformer.layers.dense import Dense
from keras_transformer.layers.layer_normalization import LayerNormalization
from keras_transformer.layers.pooling import MaskedPooling
from keras_transformer.layers.transformer_layers import (
    DecoderLayer,
    EncoderLayer,
)
from keras_transformer.tensors import Tensor

# The last projection of a sublayer: of attention, of feed-forward.
_OUTPUT_PROJECTION = re.compile(r"attention/output/|/outer/")


def build_encoder(
    config: ModelConfig, vocabulary_size: int, pooling: str | None = None
) -> keras.Model:
    """Builds the encoder alone, for an output layer of one's own.

    Layers are named as in `build_transformer`.

    Args:
        config: the shape; its values for a decoder are ignored.
        vocabulary_size: int.
        pooling: None: a vector for each token, as taggers need; "mean" or
            "max": one for each text, see `MaskedPooling`.

    Returns:
        A `keras.Model` from ids int32 `(B, S)`, padded with 0, to float
        `(B, S, D)`, or `(B, D)` with `pooling`.

    Raises:
        ValueError: unknown `pooling`. Called with more than
            `config.max_length` ids, the model fails as `PositionalEmbedding`
            does: cut texts first, `ids[:, : config.max_length]`.

    Example:
        >>> config = ModelConfig(num_encoder_layers=1, d_model=8)
        >>> encoder = build_encoder(config, vocabulary_size=10, pooling="mean")
        >>> scores = keras.layers.Dense(2)(encoder.output)
        >>> classifier = keras.Model(encoder.input, scores)
        >>> classifier.output_shape
        (None, 2)

    Reference: Vaswani et al. 2017, figure 1, left.
    """
    ids = keras.Input((None,), dtype="int32", name="ids")
    x = embedding(config, vocabulary_size, "source_embedding")(ids)
    x = encode(config, x, padding_mask(ids), config.norm == "pre")
    if pooling is not None:
        mask = ops.not_equal(ids, PAD_ID)  # (B, S)
        x = MaskedPooling(pooling, name="pooling")(x, mask=mask)
    return keras.Model(ids, x, name="encoder")


def build_language_model(
    config: ModelConfig, vocabulary_size: int
) -> keras.Model:
    """Builds a decoder without a source, which predicts each next token.

    Layers are named as in `build_transformer`. `TextGenerator` generates text
    with the model; `IncrementalTransformer` adapts it to searches.

    Args:
        config: the shape; its values for an encoder are ignored. Tied
            embeddings, "target" or "all", share one matrix with the output.
        vocabulary_size: int, V.

    Returns:
        A `keras.Model` from ids int32 `(B, T)`, START first, padded with 0,
        to logits float32 `(B, T, V)` of the token after each. T is at most
        `config.max_length`; longer rows fail as in `PositionalEmbedding`.

    Example:
        >>> config = ModelConfig(num_decoder_layers=1, d_model=8)
        >>> build_language_model(config, vocabulary_size=10).output_shape
        (None, None, 10)

    Reference: Radford et al. 2018, "Improving Language Understanding by
    Generative Pre-Training", section 3.1.
    """
    ids = keras.Input((None,), dtype="int32", name="ids")
    tied = config.tied_embeddings != "none"
    tokens = embedding(config, vocabulary_size, "target_embedding", tied)
    final_norm = config.norm == "pre"
    x = decode(config, tokens(ids), decoder_mask(ids), final_norm)
    return keras.Model(ids, logits(config, x, tokens), name="language_model")


def embedding(
    config: ModelConfig, size: int, name: str, tied: bool = False
) -> PositionalEmbedding:
    """The embedding of a vocabulary.

    Args:
        config: the model's shape.
        size: tokens of the vocabulary.
        name: of the layer.
        tied: whether its matrix is also the output projection.
    """
    # As an output projection it should start with scores of unit scale; an
    # embedding alone is initialised like the other weights.
    initializer = (
        keras.initializers.RandomNormal(stddev=config.d_model**-0.5)
        if tied
        else "glorot_uniform"
    )
    return PositionalEmbedding(
        size,
        config.d_model,
        max_length=config.max_length,
        dropout=config.dropout,
        positions=config.positions,
        first_position=config.first_position,
        embeddings_initializer=initializer,
        output_bias=tied and config.output_bias,
        mask_zero=False,  # Masks are made once and passed to each layer.
        name=name,
    )


def encode(
    config: ModelConfig, x: Tensor, mask: Tensor, final_norm: bool
) -> Tensor:
    """The encoder's layers on `(B, S, D)`, to `(B, S, D)`.

    Args:
        config: the model's shape.
        x: embedded tokens.
        mask: bool `(B, 1, S)`, see `padding_mask`.
        final_norm: whether a LayerNorm follows.
    """
    for i in range(config.num_encoder_layers):
        layer = EncoderLayer(**_sizes(config), name=f"encoder_layer_{i}")
        x = layer(x, attention_mask=mask)
    return _norm(config, "encoder")(x) if final_norm else x


def decode(
    config: ModelConfig,
    x: Tensor,
    mask: Tensor,
    final_norm: bool,
    encoder_output: Tensor | None = None,
    source_mask: Tensor | None = None,
) -> Tensor:
    """The decoder's layers on `(B, T, D)`, to `(B, T, D)`.

    Args:
        config: the model's shape.
        x: embedded tokens.
        mask: bool `(B, T, T)`, see `decoder_mask`.
        final_norm: whether a LayerNorm follows.
        encoder_output: float `(B, S, D)`; None: there is no source.
        source_mask: bool `(B, 1, S)`, see `padding_mask`.
    """
    source = () if encoder_output is None else (encoder_output,)
    for i in range(config.num_decoder_layers):
        layer = DecoderLayer(
            **_sizes(config),
            cross_attention=bool(source),
            name=f"decoder_layer_{i}",
        )
        x = layer(
            x,
            *source,
            self_attention_mask=mask,
            cross_attention_mask=source_mask,
            use_causal_mask=False,  # `mask` is causal already.
        )
    return _norm(config, "decoder")(x) if final_norm else x


@keras.saving.register_keras_serializable(package="keras_transformer")
class Scores(keras.layers.Layer):
    """Casts logits to float32 for loss and search, whatever the dtype policy.

    This layer also keeps the model's options: `keras.models.clone_model` copies
    layers, but no attributes of a model.

    Args:
        micro_batches, source_start, source_end, alignment_head: see
            `Transformer`.
    """

    def __init__(
        self,
        micro_batches: int = 1,
        source_start: bool = True,
        source_end: bool = True,
        alignment_head: Sequence[int] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**{"dtype": "float32", "name": "scores", **kwargs})
        self.micro_batches = micro_batches
        self.source_start = source_start
        self.source_end = source_end
        self.alignment_head = alignment_head and tuple(alignment_head)
        self.supports_masking = True

    def call(self, logits: Tensor) -> Tensor:
        return logits  # Keras has cast them already.

    def get_config(self) -> dict[str, Any]:
        return {
            **super().get_config(),
            "micro_batches": self.micro_batches,
            "source_start": self.source_start,
            "source_end": self.source_end,
            "alignment_head": self.alignment_head and [*self.alignment_head],
        }


def logits(
    config: ModelConfig,
    x: Tensor,
    target_embedding: PositionalEmbedding,
    **options: Any,
) -> Tensor:
    """Projects the decoder's output `(B, T, D)` to float32 logits `(B, T, V)`.

    Args:
        config: the model's shape.
        x: as `decode` returned it.
        target_embedding: also the output layer if embeddings are tied.
        options: the model's options, see `Scores`.
    """
    if config.tied_embeddings == "none":
        x = Dense(target_embedding.vocabulary_size, name="logits")(x)
    else:
        x = target_embedding(x, reverse=True)
    return Scores(**options)(x)


def copy_to_other_shape(
    source: keras.Model,
    target: keras.Model,
    new_tokens: Mapping[str, Sequence[Sequence[int]]] | None = None,
) -> None:
    """Copies a model's weights into one with other layers or more tokens.

    The layers of a stack are copied from evenly spaced layers of the source,
    first and last included (a single layer: from the first). In a stack that
    grows, a layer is followed by its copies. With pre-norm the copies' output
    projections are zero, so that they leave the residual stream as it is until
    they are trained: a model that only grows computes, at first, what the
    source computes.

    A new token gets the mean of the vectors of the tokens that its text
    consists of, in embeddings and in the output layer. The logits of all other
    tokens stay.

    Args:
        source: built model of `build_transformer`.
        target: another one, which may have other numbers of layers, and new
            tokens after the source's.
        new_tokens: for "source" and "target", the ids of the tokens that each
            new token consists of; without ids it gets the mean of all tokens.

    References: Shleifer and Rush 2020, "Pre-trained Summarization
    Distillation", section 3 (fewer layers); Wu et al. 2024, "LLaMA Pro",
    section 3 (more); Hewitt 2021, "Initializing New Word Embeddings for
    Pretrained Language Models" (tokens).
    """
    values = {weight.path: weight for weight in source.weights}
    depths = {
        stack: (_depth(source, stack), _depth(target, stack))
        for stack in ("encoder", "decoder")
    }
    for weight in target.weights:
        layer, _, name = weight.path.partition("/")
        stack, _, index = layer.rpartition("_layer_")
        if not stack:
            side = "source" if layer == "source_embedding" else "target"
            parts = (new_tokens or {}).get(side, ())
            weight.assign(_with_rows(values[weight.path], weight.shape, parts))
            continue
        origin = _origin(int(index), *depths[stack])
        value = values[f"{stack}_layer_{origin}/{name}"]
        before = _origin(int(index) - 1, *depths[stack])
        copied = index != "0" and origin == before
        copied = copied and target.get_layer(layer).norm == "pre"
        if copied and _OUTPUT_PROJECTION.search(name):
            value = ops.zeros_like(value)
        weight.assign(value)


def _with_rows(weight, shape, parts):
    """Appends means of rows, by `parts`, along the axis that has to grow."""
    if tuple(weight.shape) == tuple(shape):
        return weight
    axis = [*np.not_equal(weight.shape, shape)].index(True)
    rows = np.moveaxis(ops.convert_to_numpy(weight), axis, 0)
    means = [rows[list(ids) or slice(None)].mean(axis=0) for ids in parts]
    return np.moveaxis(np.concatenate([rows, means]), 0, axis)


def _depth(model, stack):
    names = [layer.name for layer in model.layers]
    return sum(name.startswith(f"{stack}_layer_") for name in names)


def _origin(index, source_depth, depth):
    """The index of the source's layer that layer `index` is copied from."""
    if depth == 1:
        return 0
    return round(index * (source_depth - 1) / (depth - 1))


def _norm(config, stack):
    return LayerNormalization(
        epsilon=config.layer_norm_epsilon, name=f"{stack}_norm"
    )


def _sizes(config) -> dict[str, Any]:
    return {
        "d_model": config.d_model,
        "num_heads": config.num_heads,
        "d_ff": config.d_ff,
        "activation": config.activation,
        "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "feedforward_dropout": config.feedforward_dropout,
        "norm": config.norm,
        "layer_norm_epsilon": config.layer_norm_epsilon,
    }
