"""The model one token at a time, with caches, for searches.

Axes: B batch, S source, K beams, N heads, L steps, H head width, D model
width, V vocabulary.
"""

from typing import Any, NamedTuple

import keras
from keras import ops

from keras_transformer.layers import padding_mask


class Cache(NamedTuple):
    """What a search carries from step to step.

    `beams` holds one past per beam: every tensor is `(B, K, ...)`, and a
    search that picks other beams gathers all of them alike. `source` holds
    what all beams of a sentence share: every tensor is `(B, ...)` and stays
    as it is.
    """

    beams: Any
    source: Any


class IncrementalTransformer:
    """Steps through a model that `build_transformer` made, sharing its layers.

    Not a `keras.Layer` and not a `tf.Module`: it owns no weights, and
    an export that holds it tracks none of the model's.

    Args:
        model: the functional model.
    """

    def __init__(self, model: keras.Model):
        names = {layer.name: layer for layer in model.layers}
        shared = names.get("shared_embedding")
        self._source_embedding = names.get("source_embedding", shared)
        self._target_embedding = names.get("target_embedding", shared)
        self._encoder_layers = _numbered(names, "encoder_layer_")
        self._decoder_layers = _numbered(names, "decoder_layer_")
        self._encoder_norm = names.get("encoder_norm")
        self._decoder_norm = names.get("decoder_norm")
        self._logits = names.get("logits")
        self.vocabulary_size = model.output_shape[-1]
        self.max_length = self._target_embedding.max_length

    def encode(self, source_ids):
        """The encoder's output.

        Args:
            source_ids: int32 `(B, S)`, padded with 0.

        Returns:
            float `(B, S, D)`.
        """
        source_mask = padding_mask(source_ids)
        x = self._source_embedding(source_ids, training=False)
        for layer in self._encoder_layers:
            x = layer(x, attention_mask=source_mask, training=False)
        if self._encoder_norm is not None:
            x = self._encoder_norm(x)
        return x

    def start(self, source_ids, beam_size, max_steps) -> Cache:
        """Encodes the sources and makes room for `max_steps` steps.

        Args:
            source_ids: int32 `(B, S)`, padded with 0.
            beam_size: int, K.
            max_steps: int or int scalar tensor, L.

        Returns:
            the `Cache` before the first step.
        """
        encoder_output = self.encode(source_ids)
        batch_size = ops.shape(source_ids)[0]
        return Cache(
            beams=[
                layer.empty_cache(batch_size, beam_size, max_steps)
                for layer in self._decoder_layers
            ],
            source={
                "mask": padding_mask(source_ids),
                "layers": [
                    layer.project_source(encoder_output)
                    for layer in self._decoder_layers
                ],
            },
        )

    def step(self, ids, cache: Cache, index):
        """Scores every continuation by one token.

        Args:
            ids: int32 `(B, K)`, the tokens at position `index`.
            cache: what `start` or the step before returned.
            index: int32 scalar, 0 for the start token.

        Returns:
            logits float32 `(B, K, V)` of the token at `index + 1`, and the
            cache for the next step.
        """
        x = self._target_embedding(ids, position=index, training=False)
        beams = []
        for layer, past, source in zip(
            self._decoder_layers,
            cache.beams,
            cache.source["layers"],
            strict=True,
        ):
            x, past = layer.step(x, past, source, cache.source["mask"], index)
            beams.append(past)
        if self._decoder_norm is not None:
            x = self._decoder_norm(x)
        if self._logits is not None:
            logits = self._logits(x)
        else:
            logits = self._target_embedding(x, reverse=True)
        return ops.cast(logits, "float32"), cache._replace(beams=beams)


def _numbered(names, prefix):
    """Layers `prefix0`, `prefix1`, ... in order."""
    count = sum(name.startswith(prefix) for name in names)
    return [names[f"{prefix}{i}"] for i in range(count)]
