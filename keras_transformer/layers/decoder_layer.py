"""One layer of the decoder, whole sequences or one step at a time.

Axes: B batch, T target, S source, K beams, N heads, H head width, D model
width, L steps that a cache holds.
"""

import keras
from keras import ops

from keras_transformer.layers.attention import MultiHeadAttention
from keras_transformer.layers.transformer_layer import TransformerLayer


@keras.saving.register_keras_serializable(package="keras_transformer")
class DecoderLayer(TransformerLayer):
    """Self-attention, cross-attention, feed-forward, with residuals.

    Takes the arguments of `TransformerLayer`: `d_model`, `num_heads`,
    `d_ff`, `activation`, `dropout`, `attention_dropout`,
    `feedforward_dropout`, `norm` ("pre" or "post"), `layer_norm_epsilon`.

    Call arguments:
        x: float `(B, T, D)`.
        encoder_output: float `(B, S, D)`.
        self_attention_mask: bool, broadcasts to `(B, T, T)`, True keeps;
            causal and padding (see `layers.masks.decoder_mask`).
        cross_attention_mask: bool, broadcasts to `(B, T, S)`, True keeps.
        training: bool, whether dropout is applied.

    Returns:
        float `(B, T, D)`.

    Example:
        >>> import numpy as np
        >>> layer = DecoderLayer(d_model=8, num_heads=2, d_ff=16)
        >>> x = np.ones((1, 3, 8), dtype="float32")
        >>> tuple(layer(x, np.ones((1, 5, 8), dtype="float32")).shape)
        (1, 3, 8)

    Reference: Vaswani et al. 2017, section 3.1.
    """

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._self_attention = self._attention("self_attention")
        self._self_attention_layer_norm = self._layer_norm("self_attention")
        self._cross_attention = self._attention("cross_attention")
        self._cross_attention_layer_norm = self._layer_norm("cross_attention")

    def _attention(self, name):
        return MultiHeadAttention(
            self.num_heads,
            self.d_model,
            dropout=self.attention_dropout,
            dtype=self.dtype_policy,
            name=name,
        )

    def build(self, x_shape, encoder_output_shape):
        self._self_attention.build(x_shape, x_shape)
        self._self_attention_layer_norm.build(x_shape)
        self._cross_attention.build(x_shape, encoder_output_shape)
        self._cross_attention_layer_norm.build(x_shape)
        self._build_feedforward(x_shape)

    def call(
        self,
        x,
        encoder_output,
        self_attention_mask=None,
        cross_attention_mask=None,
        training=None,
    ):
        x = self._residual(
            x,
            lambda y: self._self_attention(
                y, y, attention_mask=self_attention_mask, training=training
            ),
            self._self_attention_layer_norm,
            training,
        )
        x = self._residual(
            x,
            lambda y: self._cross_attention(
                y,
                encoder_output,
                attention_mask=cross_attention_mask,
                training=training,
            ),
            self._cross_attention_layer_norm,
            training,
        )
        return self._feedforward_residual(x, training)

    def project_source(self, encoder_output):
        """Keys and values of the source, computed once for all steps.

        Args:
            encoder_output: float `(B, S, D)`.

        Returns:
            keys and values, each float `(B, N, S, H)`.
        """
        return self._cross_attention.project(encoder_output)

    def empty_cache(self, batch_size, beam_size, max_steps):
        """Room for the keys and values of steps to come, zero.

        Returns:
            keys and values, each float `(B, K, N, L, H)`.
        """
        shape = (
            batch_size,
            beam_size,
            self.num_heads,
            max_steps,
            self.d_model // self.num_heads,
        )
        zeros = ops.zeros(shape, dtype=self.compute_dtype)
        return zeros, zeros

    def step(self, x, cache, source, source_mask, index):
        """The layer at one position, earlier positions being in the cache.

        Args:
            x: float `(B, K, D)`, one position of each beam.
            cache: keys and values, each `(B, K, N, L, H)`.
            source: keys and values that `project_source` made, shared by
                the beams of a sentence.
            source_mask: bool `(B, 1, S)`, True keeps.
            index: int scalar, the position, 0 first.

        Returns:
            float `(B, K, D)`, and the cache with this position written.
        """

        def self_attention(y):
            nonlocal cache
            output, cache = self._attend_to_cache(y, cache, index)
            return output

        x = self._residual(x, self_attention, self._self_attention_layer_norm)
        # The beams of a sentence are K queries to one source, so its keys
        # and values are never repeated.
        x = self._residual(
            x,
            lambda y: self._cross_attention.attend(y, *source, source_mask),
            self._cross_attention_layer_norm,
        )
        return self._feedforward_residual(x), cache

    def _attend_to_cache(self, x, cache, index):
        _, beam_size, num_heads, max_steps, head_dim = ops.shape(cache[0])
        # Each beam has a past of its own: beams become rows of the batch.
        rows = ops.reshape(x, (-1, 1, self.d_model))
        new = self._self_attention.project(rows)  # (B * K, N, 1, H)
        row_shape = (-1, num_heads, max_steps, head_dim)
        steps = ops.arange(max_steps)
        here = ops.reshape(ops.equal(steps, index), (1, 1, max_steps, 1))
        keys, values = (
            ops.where(here, added, ops.reshape(past, row_shape))
            for past, added in zip(cache, new, strict=True)
        )
        past_mask = ops.reshape(ops.less_equal(steps, index), (1, 1, max_steps))
        output = self._self_attention.attend(rows, keys, values, past_mask)
        cache_shape = (-1, beam_size, num_heads, max_steps, head_dim)
        cache = tuple(ops.reshape(past, cache_shape) for past in (keys, values))
        return ops.reshape(output, ops.shape(x)), cache

    def compute_output_shape(
        self, x_shape, encoder_output_shape=None, **kwargs
    ):
        return x_shape
