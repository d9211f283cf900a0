"""The Transformer as a functional Keras model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import keras
from keras import ops

from keras_transformer.compat import compiled_metrics, scaled_for_replicas
from keras_transformer.config.model import ModelConfig
from keras_transformer.constants import LINKS
from keras_transformer.errors import InputError
from keras_transformer.layers import decoder_mask, padding_mask, seen_source
from keras_transformer.models import stacks
from keras_transformer.models.micro_batches import (
    MicroBatches,
    each_micro_batch,
    split_batch,
)
from keras_transformer.ops import train_function
from keras_transformer.tensors import Tensor


@keras.saving.register_keras_serializable(package="keras_transformer")
class Transformer(keras.Model):
    """A functional model that can train on micro-batches in parallel.

    The micro-batches of a batch share nothing but the weights, so TensorFlow
    runs them at the same time, each operation in one thread: on a processor
    that is faster than one operation after the other in all threads. Logits
    and gradients are those of the whole batch; only dropout differs.

    Args:
        inputs, outputs, name: as in a functional `keras.Model`; outputs are
            those of `stacks.Scores`.

    Attributes:
        micro_batches: int, the number of parts of a batch in training.
        source_start: bool, whether layers attend to the source's START.
        source_end: bool, whether layers attend to its END.
        alignment_head: indices of a decoder layer and of a head of its
            cross-attention, which is or will be trained on links, and aligns
            each token that the decoder reads. None: no head.
        guided_alignment: float, weight of the loss of that head, in training
            on batches with links; see `alignment_loss`.

    A model quantised by Keras' `quantize` can be called and saved, but not
    loaded again, like models with Keras' own attention: save it first, and
    quantise it after loading. Searches have their own int8 weights, see
    `decoding.precision`.
    """

    # Logits of the last call in training, until its metrics are computed.
    _micro_batch_logits: MicroBatches | None = None
    # Log weights of `alignment_head` in the last call in training.
    _log_alignment: MicroBatches | None = None
    guided_alignment = 0.0
    # Keras' attribute, set by `make_train_function`.
    train_function: Any

    def __init__(
        self,
        inputs: Mapping[str, keras.KerasTensor],
        outputs: keras.KerasTensor,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(inputs, outputs, name=name, **kwargs)
        scores = self.get_layer("scores")
        self.micro_batches: int = scores.micro_batches
        self.source_start: bool = scores.source_start
        self.source_end: bool = scores.source_end
        self.alignment_head: Sequence[int] | None = scores.alignment_head
        if self.alignment_head is not None:
            layer, head = self.alignment_head
            self.get_layer(f"decoder_layer_{layer}").guide(head)

    def call(
        self,
        inputs: Mapping[str, Tensor],
        training: bool | None = None,
        mask: Any = None,
        **kwargs: Any,
    ) -> Tensor:
        if isinstance(inputs, Mapping):
            inputs = {k: v for k, v in inputs.items() if k != LINKS}
        if not training:
            return super().call(inputs, training, mask, **kwargs)
        parts: Iterable = [inputs]
        if self.micro_batches > 1:
            mask, parts = None, split_batch(inputs, self.micro_batches)
        logits, aligned = [], []
        for part in parts:
            logits.append(super().call(part, training, mask, **kwargs))
            if self.alignment_head is not None:
                layer = self.get_layer(
                    f"decoder_layer_{self.alignment_head[0]}"
                )
                aligned.append(layer.take_alignment())
        self._log_alignment = MicroBatches(aligned) if aligned else None
        if self.micro_batches == 1:
            return logits[0]
        self._micro_batch_logits = MicroBatches(logits)
        return self._micro_batch_logits.joined

    def make_train_function(self, force: bool = False) -> None:
        if self.train_function is not None and not force:
            return
        super().make_train_function(force)
        self.train_function = train_function(self, self.train_function)

    def compute_loss(
        self,
        x: Mapping[str, Tensor] | None = None,
        y: Tensor | None = None,
        y_pred: Tensor | None = None,
        sample_weight: Tensor | None = None,
        training: bool = True,
    ) -> Tensor:
        apart = self._apart(y_pred, [getattr(self, "loss", None)])
        loss = super().compute_loss(x, y, apart, sample_weight, training)
        aligned = self._log_alignment
        links = x.get(LINKS) if isinstance(x, Mapping) else None
        if training and self.guided_alignment and aligned and links is not None:
            alignment = scaled_for_replicas(alignment_loss(links, aligned))
            loss += self.guided_alignment * alignment
        return loss

    def compute_metrics(
        self,
        x: Mapping[str, Tensor],
        y: Tensor,
        y_pred: Tensor,
        sample_weight: Tensor | None = None,
    ) -> dict:
        y_pred = self._apart(y_pred, compiled_metrics(self))
        self._micro_batch_logits = self._log_alignment = None
        return super().compute_metrics(x, y, y_pred, sample_weight)

    def _apart(self, y_pred, consumers):
        """The micro-batches of joined logits, if all consumers take them."""
        apart = self._micro_batch_logits
        if apart is None or apart.joined is not y_pred:
            return y_pred
        take = (getattr(c, "takes_micro_batches", False) for c in consumers)
        return apart if all(take) else y_pred


def alignment_loss(links: Tensor, log_weights: MicroBatches) -> Tensor:
    """Cross-entropy of attention against links, a mean over linked tokens.

    The links of a token have equal shares of its probability. Tokens without
    links, such as padding, don't count.

    Args:
        links: bool `(B, T, S)`.
        log_weights: logarithms of attention weights, float32 `(B, T, S)` when
            joined.

    Returns:
        float32 scalar, in nats per token; 0 without links.

    Reference: Garg et al. 2019, "Jointly Learning to Align and Translate with
    Transformer Models", section 4.2, equation 2.
    """
    links = ops.cast(links, "float32")
    counts = ops.sum(links, axis=2)  # (B, T)
    sums = each_micro_batch(
        lambda part, weights: ops.sum(part * weights, axis=2),
        links,
        log_weights,
    )  # (B, T)
    losses = -sums / ops.maximum(counts, 1.0)
    linked = ops.sum(ops.cast(counts > 0, "float32"))
    return ops.sum(losses) / ops.maximum(linked, 1.0)


def build_transformer(
    config: ModelConfig,
    source_vocabulary_size: int,
    target_vocabulary_size: int,
    final_norm: bool | None = None,
    micro_batches: int = 1,
    alignment_head: Sequence[int] | None = None,
) -> keras.Model:
    """Builds the model that predicts each next target token.

    Layers are named `source_embedding`, `encoder_layer_N`, `encoder_norm`,
    `target_embedding`, `decoder_layer_N`, `decoder_norm`, `logits`
    (`shared_embedding` if all three embeddings are tied).

    Args:
        config: the model's shape.
        source_vocabulary_size: int.
        target_vocabulary_size: int, V.
        final_norm: whether each stack ends with a LayerNorm. Default: with
            pre-norm, whose residual stream is otherwise never normalised.
        micro_batches, alignment_head: see `Transformer`.

    Returns:
        A `Transformer` from a dict of `source_ids` int32 `(B, S)` and
        `target_ids` int32 `(B, T)`, both padded with 0, to logits float32
        `(B, T, V)`.

    Raises:
        InputError: all three embeddings are tied, but the vocabularies differ
            in size.

    Reference: Vaswani et al. 2017, figure 1.
    """
    if final_norm is None:
        final_norm = config.norm == "pre"
    source_ids = keras.Input((None,), dtype="int32", name="source_ids")
    target_ids = keras.Input((None,), dtype="int32", name="target_ids")
    source_embedding, target_embedding = _embeddings(
        config, source_vocabulary_size, target_vocabulary_size
    )

    seen = seen_source(source_ids, config.source_start, config.source_end)
    source_mask = padding_mask(seen)
    if config.source_start:
        x = source_embedding(source_ids)
    else:
        x = source_embedding(source_ids, skip=1)
    encoder_output = stacks.encode(config, x, source_mask, final_norm)

    x = stacks.decode(
        config,
        target_embedding(target_ids),
        decoder_mask(target_ids),
        final_norm,
        encoder_output,
        source_mask,
    )
    logits = stacks.logits(
        config,
        x,
        target_embedding,
        micro_batches=micro_batches,
        source_start=config.source_start,
        source_end=config.source_end,
        alignment_head=alignment_head,
    )
    return Transformer(
        {"source_ids": source_ids, "target_ids": target_ids},
        logits,
        name="transformer",
    )


def _embeddings(config, source_size, target_size):
    if config.tied_embeddings == "all":
        if source_size != target_size:
            raise InputError(
                "model.tied_embeddings 'all' needs one vocabulary for both "
                "sides (data.shared_vocabulary). Received: "
                f"{source_size} source and {target_size} target tokens"
            )
        shared = stacks.embedding(
            config, source_size, "shared_embedding", tied=True
        )
        return shared, shared
    return (
        stacks.embedding(config, source_size, "source_embedding"),
        stacks.embedding(
            config,
            target_size,
            "target_embedding",
            tied=config.tied_embeddings == "target",
        ),
    )
