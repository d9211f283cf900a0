"""The Transformer as a functional Keras model."""

import keras
from keras import layers, ops

from keras_transformer import backend
from keras_transformer.config.model import ModelConfig
from keras_transformer.errors import InputError
from keras_transformer.layers import (
    DecoderLayer,
    EncoderLayer,
    PositionalEmbedding,
    decoder_mask,
    padding_mask,
)
from keras_transformer.layers.dense import Dense
from keras_transformer.layers.layer_normalization import LayerNormalization
from keras_transformer.models.parts import join
from keras_transformer.models.r_drop import symmetric_divergence, twice


@keras.saving.register_keras_serializable(package="keras_transformer")
class Transformer(keras.Model):
    """A functional model that can train on parts of a batch side by side.

    The parts are independent but for the weights, so TensorFlow runs them at
    the same time, each operation in one thread: on a processor that is
    faster than one operation after the other in all threads. Logits and
    gradients are those of the whole batch; only dropout differs.

    With R-Drop, a call in training gives logits `(2B, T, V)`: those of the
    batch, and those of the batch with other dropout. The loss is the mean of
    both plus `r_drop` times the divergence between them; metrics see the
    first. The paper adds both losses up, so its alpha is twice `r_drop`.

    Attributes:
        parts: int, into how many a batch is cut in training.
        r_drop: float, weight of R-Drop's divergence; 0: off.

    Reference: Liang et al. 2021, "R-Drop", equation 4.
    """

    parts = 1
    r_drop = 0.0

    def call(self, inputs, training=None, mask=None, **kwargs):
        if training and self.r_drop:
            inputs = {name: twice(ids) for name, ids in inputs.items()}
        if not training or self.parts == 1:
            return super().call(inputs, training, mask, **kwargs)
        size = ops.shape(inputs["source_ids"])[0]
        ends = [size * i // self.parts for i in range(self.parts + 1)]
        logits = [
            super(Transformer, self).call(
                {name: ids[begin:end] for name, ids in inputs.items()},
                training,
                **kwargs,
            )
            for begin, end in zip(ends[:-1], ends[1:], strict=True)
        ]
        return join(logits)

    def make_train_function(self, force=False):
        if self.train_function is not None and not force:
            return
        super().make_train_function(force)
        fused = backend.fused()
        if fused:
            made = self.train_function
            self.train_function = fused.train_function(self, made)

    def compute_loss(
        self, x=None, y=None, y_pred=None, sample_weight=None, training=True
    ):
        if not training or not self.r_drop:
            return super().compute_loss(x, y, y_pred, sample_weight, training)
        weights = None if sample_weight is None else twice(sample_weight)
        loss = super().compute_loss(x, twice(y), y_pred, weights, training)
        divergence = symmetric_divergence(y, y_pred, sample_weight)
        return loss + self.r_drop * divergence

    def compute_metrics(self, x, y, y_pred, sample_weight=None):
        if self.r_drop:
            y_pred = y_pred[: ops.shape(y)[0]]
        return super().compute_metrics(x, y, y_pred, sample_weight)


def build_transformer(
    config: ModelConfig,
    source_vocabulary_size: int,
    target_vocabulary_size: int,
    final_norm: bool | None = None,
) -> keras.Model:
    """Builds the model that predicts each next target token.

    Layers are named `source_embedding`, `encoder_layer_N`, `encoder_norm`,
    `target_embedding`, `decoder_layer_N`, `decoder_norm`, `logits`
    (`shared_embedding` where all three embeddings are one).

    Args:
        config: the model's shape.
        source_vocabulary_size: int.
        target_vocabulary_size: int, V.
        final_norm: whether each stack ends with a LayerNorm. Default: with
            pre-norm, whose residual stream is otherwise never normalised.

    Returns:
        A `Transformer` from a dict of `source_ids` int32 `(B, S)` and
        `target_ids` int32 `(B, T)`, both padded with 0, to logits float32
        `(B, T, V)`.

    Raises:
        InputError: all three embeddings are to be one, but the
            vocabularies differ in size.

    Reference: Vaswani et al. 2017, figure 1.
    """
    if final_norm is None:
        final_norm = config.norm == "pre"
    source_ids = keras.Input((None,), dtype="int32", name="source_ids")
    target_ids = keras.Input((None,), dtype="int32", name="target_ids")
    source_embedding, target_embedding = _embeddings(
        config, source_vocabulary_size, target_vocabulary_size
    )

    source_mask = padding_mask(source_ids)
    x = source_embedding(source_ids)
    for i in range(config.num_encoder_layers):
        layer = EncoderLayer(**_sizes(config), name=f"encoder_layer_{i}")
        x = layer(x, attention_mask=source_mask)
    encoder_output = _final_norm(config, "encoder")(x) if final_norm else x

    target_mask = decoder_mask(target_ids)
    x = target_embedding(target_ids)
    for i in range(config.num_decoder_layers):
        layer = DecoderLayer(**_sizes(config), name=f"decoder_layer_{i}")
        x = layer(
            x,
            encoder_output,
            self_attention_mask=target_mask,
            cross_attention_mask=source_mask,
        )
    if final_norm:
        x = _final_norm(config, "decoder")(x)

    if config.tied_embeddings == "none":
        x = Dense(target_vocabulary_size, name="logits")(x)
    else:
        x = target_embedding(x, reverse=True)
    # Whatever the policy computes in, loss and search see float32.
    logits = layers.Activation("linear", dtype="float32", name="scores")(x)
    return Transformer(
        {"source_ids": source_ids, "target_ids": target_ids},
        logits,
        name="transformer",
    )


def _sizes(config):
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


def _final_norm(config, stack):
    return LayerNormalization(
        epsilon=config.layer_norm_epsilon, name=f"{stack}_norm"
    )


def _embeddings(config, source_size, target_size):
    def embedding(size, name, tied):
        # A tied matrix is also the output projection, whose scores should
        # start at unit scale; alone it starts like the other weights.
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
            embeddings_initializer=initializer,
            name=name,
        )

    if config.tied_embeddings == "all":
        if source_size != target_size:
            raise InputError(
                "model.tied_embeddings 'all' needs one vocabulary for both "
                "sides (data.shared_vocabulary). Received: "
                f"{source_size} source and {target_size} target tokens"
            )
        shared = embedding(source_size, "shared_embedding", tied=True)
        return shared, shared
    return (
        embedding(source_size, "source_embedding", tied=False),
        embedding(
            target_size,
            "target_embedding",
            tied=config.tied_embeddings == "target",
        ),
    )
