"""Incremental Transformer: runs a model one token at a time, for searches.

Axes: Y layers, B sentences, S source, K beams, R = B * K rows, N heads, H head
width, D = N * H model width, T steps of a cache's capacity, V vocabulary.
"""

from typing import Any, NamedTuple, cast

import keras
import tensorflow as tf

from keras_transformer.constants import END_ID, PAD_ID, START_ID
from keras_transformer.errors import InputError
from keras_transformer.inference import cache as caches
from keras_transformer.inference.cache import Cache, CacheWriter, unmask_step
from keras_transformer.inference.cached_attention import (
    JoinedHeadAttention,
    SplitHeadAttention,
    additive_causal_mask,
    shape_of,
    source_mask,
)
from keras_transformer.inference.quantization import (
    QuantizedProjection,
    quantize,
    quantized_dense,
    require_int8,
)
from keras_transformer.inference.sublayers import Sublayers
from keras_transformer.inference.weight_fusion import (
    Embedding,
    Projection,
    as_variables,
    assign,
    read_parameters,
)
from keras_transformer.system.machine import multiplies_bfloat16


class Step(NamedTuple):
    """The model's output for one position.

    Attributes:
        logits: float32 `(B, K, V)`, of the next token.
        cache: for the next step; in an ensemble, the caches of its models.
    """

    logits: tf.Tensor
    cache: Any


class IncrementalTransformer(Sublayers):
    """A trained model as the functions that a search calls.

    Not a `tf.Module`: it has its own variables, with fused weights (see
    `parameters`), and an export tracks those that its graphs read.

    A language model has no source: only the number of rows of source ids
    matters.

    Args:
        model: `keras.Model` from `build_transformer` or
            `build_language_model`.
        dtype: of the weights, the matrix products and the cache. Softmax,
            norms, the residual stream and the logits are float32. bfloat16
            halves the weights' memory, and is about twice as fast on
            processors that multiply it; on others it is no faster, and each
            product is truncated to 8 binary digits, not rounded: twice the
            error. int8: products with weights are of 8-bit integers, which
            only works in graphs; the rest is in the one of the two other types
            that is faster on the processor.
        align: whether `predict` returns attention to the source: that of the
            model's `alignment_head`, else the mean over the heads of the last
            layer but one, whose weights are closest to word alignments (Garg
            et al. 2019, section 4.1).
        limits: with int8, the largest input of each product, from
            `exporting.writer.precision`; None: computed for each row.
        partial_output: with int8, whether `output` may be called, which takes
            the memory of another output layer in float32.

    Raises:
        InputError: int8 on a machine without it, or `align` without a source.

    Attributes:
        parameters: `Parameters`, kernels as `tf.Variable`.
        max_length: number of the target's positions.
        vocabulary_size: V.
    """

    def __init__(
        self,
        model: keras.Model,
        dtype: str = "float32",
        align: bool = False,
        limits: dict | None = None,
        partial_output: bool = False,
    ) -> None:
        layers = {layer.name: layer for layer in model.layers}
        super().__init__(layers["decoder_layer_0"])
        self._source_start = getattr(model, "source_start", True)
        self._source_end = getattr(model, "source_end", True)
        parameters = read_parameters(model)
        output = parameters.logits
        self._cache_dtype = dtype
        if dtype == "int8":
            require_int8()
            self._cache_dtype = (
                "bfloat16" if multiplies_bfloat16() else "float32"
            )
            parameters = quantize(parameters, limits, self._rectifies)
        self.parameters = as_variables(parameters, self._cache_dtype)
        self._float_output = self.parameters.logits
        if dtype == "int8" and partial_output:
            self._float_output = Projection(
                *(tf.Variable(tf.cast(x, tf.float32), False) for x in output)
            )
        self._has_source = self.parameters.source is not None
        if align and not self._has_source:
            raise InputError(
                "a language model attends to no source. Accepted: a search "
                "without replace_unknown"
            )
        decoder_layers = len(self.parameters.decoder)
        self._alignment_layer = max(decoder_layers - 2, 0) if align else None
        self._alignment_head = None
        guided = getattr(model, "alignment_head", None)
        if align and guided is not None:
            self._alignment_layer, self._alignment_head = guided
        self.max_length = self.parameters.target.positions.shape[0]
        self.vocabulary_size = model.output_shape[-1]

    def __repr__(self) -> str:
        vocabulary = f"{self.vocabulary_size:,} tokens"
        return f"IncrementalTransformer({vocabulary}, width {self._width})"

    def refresh(self, model: keras.Model) -> None:
        """Assigns the weights of a model that was trained further.

        Not with int8, whose kernels are packed only once.
        """
        assign(self.parameters, read_parameters(model))

    def encode(self, source_ids: tf.Tensor) -> tf.Tensor:
        """The encoder's output, without scale and shift of a fused final norm.

        Args:
            source_ids: int32 `(B, S)`, padded with 0.

        Returns:
            float32 `(B * S, D)`.
        """
        source_ids = self._seen_source(source_ids)
        _, length = shape_of(source_ids)
        embedding = cast(Embedding, self.parameters.source)
        x = tf.gather(embedding.tokens, source_ids)  # (B, S, D)
        x += embedding.positions[:length]
        x = tf.reshape(x, [-1, self._width])  # (B * S, D)
        mask = source_mask(source_ids)
        for layer in self.parameters.encoder:
            x = self._self_attention(x, layer.self_attention, mask, length)
            x = self._feedforward(x, layer.feedforward)
        return self._layer_norm(x, self.parameters.encoder_norm)

    def start(
        self, source_ids: tf.Tensor, beam_size: int, max_steps: int | tf.Tensor
    ) -> Cache:
        """Encodes the sources; the cache has capacity for `max_steps` steps.

        Args:
            source_ids: int32 `(B, S)`, padded with 0.
            beam_size: int, K.
            max_steps: int or int scalar tensor, T.

        Returns:
            the `Cache` before the first step.
        """
        source_ids = self._seen_source(source_ids)
        return self._attention(beam_size).start(
            self._source_kv(source_ids), source_ids, max_steps
        )

    def output(self, ids: tf.Tensor) -> Projection:
        """The output layer for some tokens, to pass to `step`.

        Args:
            ids: int32 `(U,)`.
        """
        kernel, bias = self._float_output
        # (D, U) and (U,)
        return Projection(tf.gather(kernel, ids, axis=1), tf.gather(bias, ids))

    def step(
        self,
        ids: tf.Tensor,
        cache: Cache,
        position: tf.Tensor,
        output: Projection | None = None,
    ) -> Step:
        """Scores every continuation by one token.

        Args:
            ids: int32 `(B, K)`, the tokens at that position.
            cache: from `start` or the previous step. It is written to in place:
                to continue from it twice, copy its tensors first.
            position: int32 scalar, 0 for the start token.
            output: the output layer of the tokens to score; None: all tokens.
        """
        beam_size = ids.shape[1]
        attention = self._attention(beam_size)
        embedding = self.parameters.target
        x = tf.gather(embedding.tokens, tf.reshape(ids, [-1]))  # (R, D)
        x += tf.gather(embedding.positions, position)  # (R, D)
        mask = unmask_step(cache.mask, position)
        # For each layer (B, S, D), or (B, N, H, S) and (B, N, S, H). No copies:
        # parts along the first axis share its storage.
        layers = len(self.parameters.decoder)
        source_keys = tf.unstack(cache.source_keys, layers)
        source_values = tf.unstack(cache.source_values, layers)
        writer = CacheWriter(cache.past, position, attention.group_size, layers)
        for i, layer in enumerate(self.parameters.decoder):
            projected = self._project(x, layer.self_attention)  # (R, 3 D)
            query, new = attention.split(projected)
            # (B, T, D) or (B * N, T, K * H)
            keys, values = writer.write(i, new)
            # (R, D)
            context = attention.attend_to_past(query, keys, values, mask)
            x = self._output(x, context, layer.self_attention)
            source = source_keys[i], source_values[i], cache.source_mask
            x, _ = self._attend_to_source(x, layer, attention, source)  # (R, D)
            x = self._feedforward(x, layer.feedforward)
        logits = self._logits(x, output)  # (R, V)
        size = self.vocabulary_size if output is None else tf.size(output.bias)
        shape = [-1, beam_size, size]
        return Step(
            tf.reshape(logits, shape),  # (B, K, V)
            cache._replace(past=writer.past, mask=mask),
        )

    def predict(
        self, source_ids: tf.Tensor, target_ids: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor | None]:
        """Scores every token of given translations, all at once.

        Args:
            source_ids: int32 `(B, S)`, padded with 0.
            target_ids: int32 `(B, T)`, with START, padded with 0.

        Returns:
            logits float32 `(B, T, V)` of the token after each, and the
            attention of that token, float32 `(B, T, S)`, or None without
            `align`. With an `alignment_head` it is the attention of the
            position that reads the token; END, which isn't read, has that of
            the token before.
        """
        source_ids = self._seen_source(source_ids)
        _, length = shape_of(target_ids)
        # T positions are treated as T beams.
        attention = SplitHeadAttention(
            length, self._num_heads, self._head_width
        )
        keys, values = attention.split_kv(self._source_kv(source_ids))
        embedding = self.parameters.target
        x = tf.gather(embedding.tokens, target_ids)  # (B, T, D)
        x += embedding.positions[:length]
        x = tf.reshape(x, [-1, self._width])  # (B * T, D)
        mask = additive_causal_mask(length)
        source_attention = None
        for i, layer in enumerate(self.parameters.decoder):
            x = self._self_attention(x, layer.self_attention, mask, length)
            source = keys[i], values[i], source_mask(source_ids)
            # (B * T, D) and (B, N, T, S)
            x, weights = self._attend_to_source(x, layer, attention, source)
            if i == self._alignment_layer:
                source_attention = self._alignment(weights)  # (B, T, S)
            x = self._feedforward(x, layer.feedforward)
        logits = self._logits(x)  # (B * T, V)
        shape = [-1, length, self.vocabulary_size]
        logits = tf.reshape(logits, shape)  # (B, T, V)
        if self._alignment_head is not None:
            source_attention = _of_next(source_attention, target_ids)
        return logits, source_attention

    reorder = staticmethod(caches.reorder)
    grow = staticmethod(caches.grow)

    def take(self, cache: Cache, indices: tf.Tensor) -> Cache:
        """See `cache.take`."""
        return caches.take(cache, indices, self._num_heads)

    def _seen_source(self, source_ids):
        """Replaces START and END by PAD if the model doesn't attend to them.

        Does the same as `layers.seen_source`, in TensorFlow on every backend.
        """
        seen = source_ids
        if not self._source_end:
            is_end = source_ids == END_ID
            is_text = (source_ids != START_ID) & (source_ids != PAD_ID)
            has_text = tf.reduce_any(is_text & ~is_end, axis=1, keepdims=True)
            seen = tf.where(is_end & has_text, PAD_ID, seen)
        if not self._source_start:
            seen = tf.where(source_ids == START_ID, PAD_ID, seen)
        return seen

    def _attend_to_source(self, x, layer, attention, source):
        """Adds a layer's cross-attention, if any; also returns its weights."""
        sublayer = layer.cross_attention
        if sublayer is None:
            return x, None
        query = self._project(x, sublayer)  # (R, D)
        context, weights = attention.attend_to_source(query, *source)
        return self._output(x, context, sublayer), weights

    def _alignment(self, weights):
        """The part of a layer's attention that aligns.

        From `(B, N, T, S)` to `(B, T, S)`.
        """
        if self._alignment_head is None:
            return tf.reduce_mean(weights, axis=1)
        return weights[:, self._alignment_head]

    def _logits(self, x, output=None):
        """Normalises the decoder's output and projects it to float32 logits."""
        x, logits, scaled = self._normalized_by(
            x, self.parameters.decoder_norm, output or self.parameters.logits
        )
        if isinstance(logits, QuantizedProjection):
            return quantized_dense(x, logits, scaled=scaled)
        return self._dense(x, logits)

    def _source_kv(self, source_ids):
        """Keys and values of the source, `(B, S, 2, Y, D)`."""
        rows, length = shape_of(source_ids)
        layers = len(self.parameters.decoder)
        if not self._has_source:
            # One position, which isn't read.
            shape = [rows, 1, 2, layers, self._width]
            return tf.zeros(shape, self._cache_dtype)
        # (B * S, 2 * Y * D)
        kv = self._dense(self.encode(source_ids), self.parameters.source_kv)
        shape = [-1, length, 2, layers, self._width]
        return tf.reshape(kv, shape)  # (B, S, 2, Y, D)

    def _attention(self, beam_size):
        if beam_size == 1:
            return JoinedHeadAttention(self._num_heads, self._head_width)
        return SplitHeadAttention(beam_size, self._num_heads, self._head_width)


def _of_next(attention, ids):
    """The attention of the token after each; the last token keeps its own.

    Args:
        attention: float32 `(B, T, S)`.
        ids: int32 `(B, T)`, padded with 0.
    """
    lengths = tf.math.count_nonzero(ids, axis=1, keepdims=True, dtype=tf.int32)
    following = tf.range(1, tf.shape(ids)[1] + 1)  # (T,)
    index = tf.minimum(following, lengths - 1)  # (B, T)
    return tf.gather(attention, index, batch_dims=1)
