"""The Transformer one token at a time, for searches.

Axes: B batch, S source, K beams, R = B * K rows, N heads, H head width, D
model width, T steps that a cache has room for, V vocabulary.
"""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from keras_transformer.inference import cache as caches
from keras_transformer.inference.attention import (
    ByHeads,
    ByRows,
    causal_mask,
    sizes,
    source_mask,
)
from keras_transformer.inference.cache import Cache, Slots, show_own
from keras_transformer.inference.sublayers import Sublayers
from keras_transformer.inference.weight_fusion import read_parameters
from keras_transformer.inference.weights import (
    Parameters,
    as_variables,
    assign,
)


class Step(NamedTuple):
    """What the model says of one position.

    Attributes:
        logits: float32 `(B, K, V)`, of the next token.
        attention: float32 `(B, K, S)`, shares of the source that sum to 1;
            None unless asked for.
        cache: for the next step.
    """

    logits: Any
    attention: Any
    cache: Any


class IncrementalTransformer(Sublayers):
    """A trained model as the functions that a search calls.

    Not a `tf.Module`: it holds its weights as variables of its own, folded
    (see `parameters`), and an export tracks those that its graphs read.

    Args:
        model: `keras.Model` that `build_transformer` made.
        dtype: of the matrix products with weights. What is between them, and
            the logits, are float32. bfloat16 halves the weights' memory, and
            is about twice as fast on processors that multiply it; on others
            it is no faster, and TensorFlow cuts each product off after 8
            binary digits instead of rounding it: twice the error.
        compiled: whether the functions are for XLA, which has an operation
            of its own for writing to a cache.
        align: whether `step` returns attention to the source: the mean over
            the heads of the last layer but one, whose weights come nearest
            to word alignments (Garg et al. 2019, section 4.1).

    Attributes:
        max_length: positions of the target that the model has.
        vocabulary_size: V.
    """

    def __init__(
        self,
        model: keras.Model,
        dtype: str = "float32",
        compiled: bool = False,
        align: bool = False,
    ):
        layers = {layer.name: layer for layer in model.layers}
        super().__init__(layers["decoder_layer_0"])
        self._compiled = compiled
        self._parameters = as_variables(read_parameters(model), dtype)
        decoder_layers = len(self._parameters.decoder)
        self._aligned = max(decoder_layers - 2, 0) if align else None
        self.max_length = self._parameters.target.positions.shape[0]
        self.vocabulary_size = model.output_shape[-1]

    @property
    def parameters(self) -> Parameters:
        """The weights, each a `tf.Variable`."""
        return self._parameters

    def refresh(self, model: keras.Model):
        """Takes over the weights of a model that was trained further."""
        assign(self._parameters, read_parameters(model))

    def encode(self, source_ids):
        """The encoder's output; where norms are folded, without their scale.

        Args:
            source_ids: int32 `(B, S)`, padded with 0.

        Returns:
            float32 `(B * S, D)`.
        """
        _, length = sizes(source_ids)
        embedding = self._parameters.source
        x = tf.gather(embedding.tokens, source_ids)
        x = tf.reshape(
            x + embedding.positions[:length], [-1, embedding.tokens.shape[1]]
        )
        mask = source_mask(source_ids)
        for layer in self._parameters.encoder:
            x = self._attend_to_itself(x, layer.self_attention, mask, length)
            x = self._feedforward(x, layer.feedforward)
        return self._normalise(x, self._parameters.encoder_norm)

    def start(self, source_ids, beam_size: int, max_steps) -> Cache:
        """Encodes the sources and makes room for `max_steps` steps.

        Args:
            source_ids: int32 `(B, S)`, padded with 0.
            beam_size: int, K.
            max_steps: int or int scalar tensor, T.

        Returns:
            the `Cache` before the first step.
        """
        return self._attention(beam_size).start(
            self._memory(source_ids), source_ids, max_steps, self._compiled
        )

    def step(self, ids, cache: Cache, index) -> Step:
        """Scores every continuation by one token.

        Args:
            ids: int32 `(B, K)`, the tokens at position `index`.
            cache: what `start` or the step before returned.
            index: int32 scalar, 0 for the start token.
        """
        beam_size = ids.shape[1]
        attention = self._attention(beam_size)
        embedding = self._parameters.target
        x = tf.gather(embedding.tokens, tf.reshape(ids, [-1]))
        x += tf.gather(embedding.positions, index)  # (R, D)
        mask = show_own(cache.mask, index)
        past, aligned = cache.past, None
        # No copies: the parts of a first axis share its memory.
        layers = len(self._parameters.decoder)
        source_keys = tf.unstack(cache.source_keys, layers)
        source_values = tf.unstack(cache.source_values, layers)
        slots = Slots(past, index, attention.groups, self._compiled)
        for number, layer in enumerate(self._parameters.decoder):
            projected = self._project(x, layer.self_attention)
            query, new = attention.split(projected)
            past = slots.write(past, number, new)
            parts = tf.unstack(past, 2 * layers)
            keys, values = parts[2 * number : 2 * number + 2]
            context = attention.past(query, keys, values, mask)
            x = self._output(x, context, layer.self_attention)
            query = self._project(x, layer.cross_attention)
            context, weights = attention.source(
                query,
                source_keys[number],
                source_values[number],
                cache.source_mask,
            )
            x = self._output(x, context, layer.cross_attention)
            if number == self._aligned:
                aligned = tf.reduce_mean(weights, axis=1)
            x = self._feedforward(x, layer.feedforward)
        x = self._normalise(x, self._parameters.decoder_norm)
        logits = self._dense(x, self._parameters.logits)
        return Step(
            tf.reshape(logits, [-1, beam_size, self.vocabulary_size]),
            aligned,
            cache._replace(past=past, mask=mask),
        )

    def predict(self, source_ids, target_ids):
        """Scores every token of given translations, all at once.

        Args:
            source_ids: int32 `(B, S)`, padded with 0.
            target_ids: int32 `(B, T)`, with START, padded with 0.

        Returns:
            logits float32 `(B, T, V)` of the token after each, and attention
            float32 `(B, T, S)`, None unless asked for.
        """
        _, length = sizes(target_ids)
        attention = ByHeads(length, self._num_heads, self._head_width)
        keys, values = attention.split_memory(self._memory(source_ids))
        embedding = self._parameters.target
        x = tf.gather(embedding.tokens, target_ids)
        x = tf.reshape(x + embedding.positions[:length], [-1, self._width])
        mask = causal_mask(length)
        aligned = None
        for number, layer in enumerate(self._parameters.decoder):
            x = self._attend_to_itself(x, layer.self_attention, mask, length)
            context, weights = attention.source(
                self._project(x, layer.cross_attention),
                keys[number],
                values[number],
                source_mask(source_ids),
            )
            x = self._output(x, context, layer.cross_attention)
            if number == self._aligned:
                aligned = tf.reduce_mean(weights, axis=1)
            x = self._feedforward(x, layer.feedforward)
        x = self._normalise(x, self._parameters.decoder_norm)
        logits = self._dense(x, self._parameters.logits)
        shape = [-1, length, self.vocabulary_size]
        return tf.reshape(logits, shape), aligned

    def reorder(self, cache: Cache, parents) -> Cache:
        """See `cache.reorder`."""
        return caches.reorder(cache, parents)

    def take(self, cache: Cache, sentences) -> Cache:
        """See `cache.take`."""
        one_beam = cache.mask.shape.rank == 3
        groups = 1 if one_beam else self._num_heads
        return caches.take(cache, sentences, groups)

    def grow(self, cache: Cache, steps) -> Cache:
        """See `cache.grow`."""
        return caches.grow(cache, steps)

    def _memory(self, source_ids):
        """Keys and values of the source, `(B, S, 2, Y, D)`."""
        _, length = sizes(source_ids)
        memory = self._dense(self.encode(source_ids), self._parameters.memory)
        layers = len(self._parameters.decoder)
        return tf.reshape(memory, [-1, length, 2, layers, self._width])

    def _attention(self, beam_size):
        if beam_size == 1:
            return ByRows(self._num_heads, self._head_width)
        return ByHeads(beam_size, self._num_heads, self._head_width)
