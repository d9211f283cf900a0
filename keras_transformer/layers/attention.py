"""Multi-head scaled dot-product attention.

Axes: B batch, T target (queries), S source (keys), N heads, H head width,
D model width.
"""

import keras
from keras import ops

from keras_transformer.layers.dropout import Dropout


@keras.saving.register_keras_serializable(package="keras_transformer")
class MultiHeadAttention(keras.layers.Layer):
    """Attention in several heads, projected in and out.

    `call` is made of two public steps, `project` and `attend`, so that
    projected keys and values can be kept from one call to the next. A query
    whose keys are all masked attends to them evenly: finite, never NaN.

    Args:
        num_heads: int, number of heads.
        d_model: int, width of input and output, divisible by `num_heads`.
        dropout: float, dropped share of the attention weights.
        use_bias: bool, whether the four projections have a bias.
        kernel_initializer: initializer of the four kernels.
        bias_initializer: initializer of the four biases.

    Call arguments:
        query: float `(B, T, D)`.
        value: float `(B, S, D)`.
        key: float `(B, S, D)`; `value` if omitted.
        attention_mask: bool, broadcasts to `(B, T, S)`, True keeps.
        training: bool, whether dropout is applied.

    Returns:
        float `(B, T, D)`.

    Example:
        >>> import numpy as np
        >>> layer = MultiHeadAttention(num_heads=2, d_model=8)
        >>> x = np.ones((1, 3, 8), dtype="float32")
        >>> tuple(layer(x, x).shape)
        (1, 3, 8)

    Reference: Vaswani et al. 2017, section 3.2.
    """

    def __init__(
        self,
        num_heads,
        d_model,
        dropout=0.0,
        use_bias=True,
        kernel_initializer="glorot_uniform",
        bias_initializer="zeros",
        **kwargs,
    ):
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
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self._query = self._projection("query")
        self._key = self._projection("key")
        self._value = self._projection("value")
        self._output = self._projection("output")
        self._dropout = Dropout(
            dropout, dtype=self.dtype_policy, name="attention_dropout"
        )

    def _projection(self, name):
        # Clones: one initializer object would start all four kernels equal.
        return keras.layers.Dense(
            self.d_model,
            use_bias=self.use_bias,
            kernel_initializer=self.kernel_initializer.clone(),
            bias_initializer=self.bias_initializer.clone(),
            dtype=self.dtype_policy,
            name=name,
        )

    def build(self, query_shape, value_shape=None, key_shape=None):
        value_shape = value_shape or query_shape
        self._query.build(query_shape)
        self._key.build(key_shape or value_shape)
        self._value.build(value_shape)
        self._output.build((*query_shape[:-1], self.d_model))

    def call(self, query, value, key=None, attention_mask=None, training=None):
        # Quantised kernels aren't what the product wants.
        plain = self._query.quantization_mode is None
        if query is value and key is None and plain:
            query, keys, values = self._project_together(value)
        else:
            keys, values = self.project(value, key)
            query = self._project_query(query)
        return self._attend(query, keys, values, attention_mask, training)

    def project(self, value, key=None):
        """Projects keys and values and splits them into heads.

        Args:
            value: float `(B, S, D)`.
            key: float `(B, S, D)`; `value` if omitted.

        Returns:
            keys and values, each float `(B, N, S, H)`.
        """
        key = value if key is None else key
        return (
            self._split_heads(self._key(key)),
            self._split_heads(self._value(value)),
        )

    def attend(self, query, keys, values, attention_mask=None, training=None):
        """Attends to keys and values that `project` made.

        Args:
            query: float `(B, T, D)`, not projected.
            keys: float `(B, N, S, H)`.
            values: float `(B, N, S, H)`.
            attention_mask: bool, broadcasts to `(B, T, S)`, True keeps.
            training: bool, whether dropout is applied.

        Returns:
            float `(B, T, D)`.
        """
        query = self._project_query(query)
        return self._attend(query, keys, values, attention_mask, training)

    def attention_weights(self, query, key, attention_mask=None):
        """How much each query attends to each key, without dropout.

        Args:
            query: float `(B, T, D)`, not projected.
            key: float `(B, S, D)`, not projected.
            attention_mask: bool, broadcasts to `(B, T, S)`, True keeps.

        Returns:
            float `(B, N, T, S)`; the last axis sums to 1.

        Reference: Vaswani et al. 2017, equation 1, the softmax.
        """
        query = self._project_query(query)
        keys = self._split_heads(self._key(key))
        return self._weights(query, keys, attention_mask)

    def _project_query(self, query):
        """Queries times `_scale`, `(B, N, T, H)`."""
        # Scaling the query, not the scores, touches T x H numbers instead
        # of T x S and keeps float16 scores small.
        return self._split_heads(self._query(query)) * self._scale

    def _project_together(self, x):
        """Query, keys and values of the same input by one product."""
        # Scaling the query's weights saves a copy of the queries.
        kernels = (
            self._query.kernel * self._scale,
            self._key.kernel,
            self._value.kernel,
        )
        kernel = ops.concatenate(kernels, axis=1)
        x = ops.matmul(x, ops.cast(kernel, self.compute_dtype))
        if self.use_bias:
            biases = (
                self._query.bias * self._scale,
                self._key.bias,
                self._value.bias,
            )
            bias = ops.concatenate(biases, axis=0)
            x = x + ops.cast(bias, self.compute_dtype)
        length = ops.shape(x)[1]
        x = ops.reshape(x, (-1, length, 3, self.num_heads, self.head_dim))
        x = ops.transpose(x, (2, 0, 3, 1, 4))  # (3, B, N, length, H)
        return ops.unstack(x, 3)

    def _attend(self, query, keys, values, attention_mask, training):
        """`attend` for queries that `_project_query` made."""
        weights = self._weights(query, keys, attention_mask)
        context = self._dropout.matmul(weights, values, training=training)
        context = ops.transpose(context, (0, 2, 1, 3))  # of (B, N, T, H)
        length = ops.shape(context)[1]
        context = ops.reshape(context, (-1, length, self.d_model))
        return self._output(context)

    def _weights(self, query, keys, attention_mask):
        """`(B, N, T, S)` of queries from `_project_query` and keys."""
        scores = ops.matmul(query, ops.transpose(keys, (0, 1, 3, 2)))
        return self._masked_softmax(scores, attention_mask)

    def _split_heads(self, x):
        length = ops.shape(x)[1]
        x = ops.reshape(x, (-1, length, self.num_heads, self.head_dim))
        return ops.transpose(x, (0, 2, 1, 3))  # (B, N, length, H)

    def _masked_softmax(self, scores, attention_mask):
        scores = ops.cast(scores, "float32")  # (B, N, T, S)
        if attention_mask is not None:
            # Finite, so that a row without any key stays a number. Added, as
            # that passes gradients on without another look at the mask.
            bias = ops.where(attention_mask, 0.0, -1e9)
            scores = scores + ops.expand_dims(bias, axis=-3)
        return ops.cast(ops.softmax(scores, axis=-1), self.compute_dtype)

    def compute_output_shape(self, query_shape, value_shape=None, **kwargs):
        return (*query_shape[:-1], self.d_model)

    def get_config(self):
        return {
            **super().get_config(),
            "num_heads": self.num_heads,
            "d_model": self.d_model,
            "dropout": self.dropout,
            "use_bias": self.use_bias,
            "kernel_initializer": keras.initializers.serialize(
                self.kernel_initializer
            ),
            "bias_initializer": keras.initializers.serialize(
                self.bias_initializer
            ),
        }
