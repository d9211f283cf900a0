"""Multi-head scaled dot-product attention.

Axes: B batch, T target (queries), S source (keys), N heads, H head width,
D model width.
"""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import Any

import keras
from keras import ops

from keras_transformer.compat import implicit_mask
from keras_transformer.layers.composite import (
    CompositeLayer,
    check_width,
    initializers_config,
    own_initializer,
    refuse_symbolic,
)
from keras_transformer.layers.dense import Dense, NormalizedDense
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.layer_normalization import LayerNormalization
from keras_transformer.ops import (
    attention,
    attention_weights,
    masked_scores,
    refuse_float_mask,
)
from keras_transformer.tensors import Initializer, Shape, Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class MultiHeadAttention(CompositeLayer):
    """Attention in several heads, projected in and out.

    Like `keras.layers.MultiHeadAttention` with a `key_dim` of
    `d_model // num_heads`; its `return_attention_scores` is the method
    `attention_weights` here.

    `project` and `attend` split `call` in two, so that projected keys and
    values can be cached between calls. A query whose keys are all masked gets
    some mean of the values: finite, never NaN.

    Args:
        num_heads: int, number of heads.
        d_model: int, width of input and output, divisible by `num_heads`.
        dropout: float, fraction of the attention weights to drop.
        use_bias: bool, whether the four projections have a bias.
        kernel_initializer: initializer of the four kernels.
        bias_initializer: initializer of the four biases.

    Call arguments:
        query: float `(B, T, D)`.
        value: float `(B, S, D)`.
        key: float `(B, S, D)`; `value` if omitted.
        attention_mask: bool `(B, T, S)`, each axis full or 1, True keeps.
            Floats are refused.
        training: bool, whether dropout is applied.
        value_mask: bool `(B, S)`, False hides a key; by default the implicit
            mask of `value`, such as `PositionalEmbedding` sets.
        key_mask: the same for `key`.
        use_causal_mask: bool, whether the key at s is hidden from the query
            at t < s.

    Returns:
        float `(B, T, D)`.

    Attributes:
        guided_head: int, the head whose attention is kept in `log_weights` by
            calls in training; None: no head.
        log_weights: float32 `(B, T, S)`, logarithms of that head's weights in
            the last call in training, without dropout.

    Raises:
        ValueError: `num_heads` doesn't divide `d_model`; or, when called, an
            input of another width, or a mask of floats or without three axes;
            or `project`, `attend` or `attention_weights` got a symbolic
            tensor.

    Example:
        >>> import numpy as np
        >>> layer = MultiHeadAttention(num_heads=2, d_model=8)
        >>> x = np.ones((1, 3, 8), dtype="float32")
        >>> tuple(layer(x, x).shape)
        (1, 3, 8)

    Reference: Vaswani et al. 2017, section 3.2.
    """

    guided_head: int | None = None
    log_weights: Tensor | None = None

    def __init__(
        self,
        num_heads: int,
        d_model: int,
        dropout: float = 0.0,
        use_bias: bool = True,
        kernel_initializer: Initializer = "glorot_uniform",
        bias_initializer: Initializer = "zeros",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if num_heads < 1 or d_model % num_heads:
            raise ValueError(
                "d_model must be divisible by num_heads. "
                f"Received: d_model={d_model}, num_heads={num_heads}"
            )
        self.num_heads = num_heads
        self.d_model = d_model
        self.head_dim = d_model // num_heads
        self._scale = self.head_dim**-0.5
        self.dropout = dropout
        self.use_bias = use_bias
        self.supports_masking = True
        # Defaults, until `build` sets them.
        self._value_width: int | None = d_model
        self._key_width: int | None = d_model
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self._query = self._projection("query")
        self._key = self._projection("key")
        self._value = self._projection("value")
        self._output = self._projection("output")
        self._dropout = Dropout(
            dropout, dtype=self.dtype_policy, name="attention_dropout"
        )

    def _projection(self, name, make=Dense):
        # Clones: one initializer object would make all four kernels equal.
        return make(
            self.d_model,
            use_bias=self.use_bias,
            kernel_initializer=own_initializer(self.kernel_initializer),
            bias_initializer=own_initializer(self.bias_initializer),
            dtype=self.dtype_policy,
            name=name,
        )

    def build(
        self,
        query_shape: Shape,
        value_shape: Shape | None = None,
        key_shape: Shape | None = None,
    ) -> None:
        value_shape = value_shape or query_shape
        check_width(self, "query", query_shape, self.d_model)
        self._value_width = value_shape[-1]
        self._key_width = (key_shape or value_shape)[-1]
        self._query.build(query_shape)
        self._key.build(key_shape or value_shape)
        self._value.build(value_shape)
        self._output.build((*query_shape[:-1], self.d_model))

    def call(
        self,
        query: Tensor,
        value: Tensor,
        key: Tensor | None = None,
        attention_mask: Tensor | None = None,
        training: bool | None = None,
        value_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        use_causal_mask: bool = False,
    ) -> Tensor:
        _check_mask(attention_mask)
        for mask in (value_mask, key_mask):
            refuse_float_mask(mask)
            attention_mask = _hide_keys(attention_mask, mask)
        if use_causal_mask:
            attention_mask = _hide_future(attention_mask, query, value)
        if query is value and key is None and self._can_fuse_qkv():
            queries, keys, values = self._fused_qkv(query, training)
        else:
            queries = self._project_query(query, training)
            keys, values = self._project(value, key)
        if training and self.guided_head is not None:
            head = slice(self.guided_head, self.guided_head + 1)
            scores = masked_scores(
                queries[:, head], keys[:, head], attention_mask, gradient=True
            )  # (B, 1, T, S)
            self.log_weights = ops.log_softmax(scores[:, 0])
        return self._attend(queries, keys, values, attention_mask, training)

    def project(
        self, value: Tensor, key: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Projects keys and values and splits them into heads.

        Args:
            value: float `(B, S, D)`.
            key: float `(B, S, D)`; `value` if omitted.

        Returns:
            keys and values, each float `(B, N, S, H)`.
        """
        refuse_symbolic(self, "project", value, key)
        if not self.built:
            query_shape = (None, None, self.d_model)
            key_shape = None if key is None else key.shape
            self.build(query_shape, value.shape, key_shape)
        return self._project(value, key)

    def _project(self, value, key):
        key = value if key is None else key
        check_width(self, "value", value.shape, self._value_width)
        check_width(self, "key", key.shape, self._key_width)
        return (
            self._split_heads(key, self._key),
            self._split_heads(value, self._value),
        )

    def attend(
        self,
        query: Tensor,
        keys: Tensor,
        values: Tensor,
        attention_mask: Tensor | None = None,
        training: bool | None = None,
    ) -> Tensor:
        """Attends to keys and values that `project` returned.

        Args:
            query: float `(B, T, D)`, not projected.
            keys: float `(B, N, S, H)`.
            values: float `(B, N, S, H)`.
            attention_mask: bool, broadcasts to `(B, T, S)`, True keeps.
            training: bool, whether dropout is applied.

        Returns:
            float `(B, T, D)`.
        """
        tensors = query, keys, values, attention_mask
        refuse_symbolic(self, "attend", *tensors)
        _check_mask(attention_mask)
        if not self.built:
            self.build(query.shape)
        query = self._project_query(query)
        return self._attend(query, keys, values, attention_mask, training)

    def attention_weights(
        self,
        query: Tensor,
        key: Tensor,
        attention_mask: Tensor | None = None,
        use_causal_mask: bool = False,
    ) -> Tensor:
        """Attention weights of each query over the keys, without dropout.

        Args:
            query: float `(B, T, D)`, not projected.
            key: float `(B, S, D)`, not projected. Its implicit mask, such as
                `PositionalEmbedding` sets, hides keys as in `call`.
            attention_mask: bool, broadcasts to `(B, T, S)`, True keeps.
            use_causal_mask: as in `call`.

        Returns:
            float `(B, N, T, S)`; the last axis sums to 1.

        Reference: Vaswani et al. 2017, equation 1, the softmax.
        """
        refuse_symbolic(self, "attention_weights", query, key, attention_mask)
        _check_mask(attention_mask)
        if not self.built:
            self.build(query.shape, key.shape)
        check_width(self, "key", key.shape, self._key_width)
        attention_mask = _hide_keys(attention_mask, implicit_mask(key))
        if use_causal_mask:
            attention_mask = _hide_future(attention_mask, query, key)
        query = self._project_query(query)
        keys = self._split_heads(key, self._key)
        return attention_weights(query, keys, attention_mask)

    def _can_fuse_qkv(self):
        """True if one product can project an input to all three."""
        # A quantised kernel can't be concatenated with the others.
        not_quantized = all(
            dense.quantization_mode is None
            for dense in (self._query, self._key, self._value)
        )
        same_norm = self._query.input_norm() is self._value.input_norm()
        same_width = self._key_width == self._value_width == self.d_model
        return not_quantized and same_norm and same_width

    def _project_query(self, query, training=None):
        """Projected queries times `_scale`, `(B, N, T, H)`."""
        # Scaling the query, not the scores, touches T x H numbers instead
        # of T x S and keeps float16 scores small.
        dense = self._query
        check_width(self, "query", query.shape, self.d_model)
        not_quantized = dense.quantization_mode is None
        if not (training and not_quantized and dense.input_norm()):
            return self._split_heads(query, dense) * self._scale
        gradient = dense.needs_kernel_gradient(training)
        weights = *self._scaled_query(), training, gradient
        return self._split_heads(query, lambda x: dense.product(x, *weights))

    def _fused_qkv(self, x, training=None):
        """Query, keys and values of the same input by one product."""
        check_width(self, "query", x.shape, self.d_model)
        scaled, others = self._scaled_query(), (self._key, self._value)
        kernels = [scaled[0], *(dense.kernel for dense in others)]
        kernel, bias = ops.concatenate(kernels, axis=1), None
        if self.use_bias:
            biases = [scaled[1], *(dense.bias for dense in others)]
            bias = ops.concatenate(biases, axis=0)
        gradient = any(
            d.needs_kernel_gradient(training) for d in (self._query, *others)
        )
        batch, length, _ = ops.shape(x)
        # (B * length, 3D)
        x = self._query.product(_rows(x), kernel, bias, training, gradient)
        # (B, length, 3, N, H)
        x = ops.reshape(x, (batch, length, 3, self.num_heads, self.head_dim))
        x = ops.transpose(x, (2, 0, 3, 1, 4))  # (3, B, N, length, H)
        return ops.unstack(x, 3)

    def _scaled_query(self):
        """The query's kernel and bias times `_scale`.

        Scaling them saves a scaled copy of the queries.
        """
        bias = self._query.bias
        scaled_bias = None if bias is None else bias * self._scale
        return self._query.kernel * self._scale, scaled_bias

    def _attend(self, query, keys, values, attention_mask, training):
        """Implements `attend`, for queries from `_project_query`."""
        # (B, N, T, H)
        context = attention(
            query,
            keys,
            values,
            attention_mask,
            *self._dropout.rate_and_seed(training),
            gradient=bool(training),
        )
        context = ops.transpose(context, (0, 2, 1, 3))  # (B, T, N, H)
        # Not -1, which can't be inferred if an axis is empty.
        batch, length, _, _ = ops.shape(context)
        # (B * T, D)
        context = self._output(ops.reshape(context, (-1, self.d_model)))
        return ops.reshape(context, (batch, length, self.d_model))  # (B, T, D)

    def _split_heads(self, x, projection):
        """Projects x `(B, length, D)` and splits it into heads."""
        (batch, length, _), x = ops.shape(x), projection(_rows(x))
        x = ops.reshape(x, (batch, length, self.num_heads, self.head_dim))
        return ops.transpose(x, (0, 2, 1, 3))  # (B, N, length, H)

    def compute_output_shape(
        self,
        query_shape: Shape,
        value_shape: Shape | None = None,
        **kwargs: Any,
    ) -> Shape:
        return (*query_shape[:-1], self.d_model)

    def get_config(self) -> dict:
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "d_model": self.d_model,
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            **initializers_config(self),
        }


class PreNormAttention(MultiHeadAttention):
    """Attention that normalises its inputs itself.

    Args:
        norm: `LayerNormalization`, see `NormalizedDense`.
        inputs: names of the inputs to normalise: "query", "key", "value".
    """

    def __init__(
        self,
        *args: Any,
        norm: LayerNormalization,
        inputs: Collection[str],
        **kwargs: Any,
    ) -> None:
        self._normalized_inputs = inputs
        self._dense = functools.partial(NormalizedDense, norm=norm)
        super().__init__(*args, **kwargs)

    def _projection(self, name, make=Dense):
        normalized = name in self._normalized_inputs
        return super()._projection(name, self._dense if normalized else make)


def _check_mask(mask):
    """Refuses masks that would be misread: of floats, or not of three axes."""
    refuse_float_mask(mask)
    if mask is not None and len(mask.shape) != 3:
        raise ValueError(
            "attention_mask must have the axes (batch, queries, keys), each of "
            f"full size or 1. Received: {tuple(mask.shape)}. Reshape a padding "
            "mask (batch, keys) by mask[:, None, :], and a mask (queries, "
            "keys) for all sentences by mask[None]; see "
            "keras_transformer.padding_mask"
        )


def _rows(x):
    """`(B * T, D)`: 2-D, as a 3-D product adds dozens of graph nodes."""
    return ops.reshape(x, (-1, x.shape[-1]))


def _hide_keys(attention_mask, key_mask):
    """Combines an attention mask with a mask of keys `(B, S)`."""
    if key_mask is None:
        return attention_mask
    key_mask = ops.expand_dims(key_mask, axis=1)  # (B, 1, S)
    if attention_mask is None:
        return key_mask
    return ops.logical_and(attention_mask, key_mask)


def _hide_future(attention_mask, query, value):
    """Combines an attention mask with a causal mask."""
    positions = [
        ops.arange(ops.shape(x)[1], dtype="int32") for x in (query, value)
    ]
    # (1, T, S)
    causal = ops.greater_equal(positions[0][None, :, None], positions[1])
    if attention_mask is None:
        return causal
    return ops.logical_and(attention_mask, causal)
