"""Embedding of tokens and positions, also as a tied output projection.

Axes: B batch, T positions, D model width, V vocabulary.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from keras_transformer.compat import embeddings_variable, set_implicit_mask
from keras_transformer.constants import PAD_ID
from keras_transformer.layers.composite import (
    CompositeLayer,
    check_width,
    own_initializer,
)
from keras_transformer.layers.dropout import Dropout
from keras_transformer.layers.masks import require_ids
from keras_transformer.ops import dense
from keras_transformer.tensors import Initializer, Shape, Tensor


def sinusoids(
    length: int, d_model: int, kind: str = "sinusoidal"
) -> np.ndarray:
    """The paper's position encoding, sine and cosine interleaved.

    Args:
        length: int, number of positions.
        d_model: int, even width.
        kind: "sinusoidal", the paper's, or "tensor2tensor", whose slowest
            wave is exactly 10000 times as long as its fastest.

    Returns:
        float32 array `(length, d_model)`; column 2i is
        `sin(position / 10000^(2i / d_model))`, column 2i + 1 the cosine. With
        "tensor2tensor" the exponent is `i / (d_model / 2 - 1)`.

    References: Vaswani et al. 2017, section 3.5; by the same authors,
    tensor2tensor's `get_timing_signal_1d`.
    """
    # float64 until the end: large positions lose digits in float32.
    if kind == "tensor2tensor":
        exponents = np.linspace(0.0, 1.0, d_model // 2)
    else:
        exponents = np.arange(0, d_model, 2) / d_model
    rates = 10000.0**-exponents
    angles = np.arange(length)[:, None] * rates[None, :]
    table = np.empty((length, d_model))
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)
    return table.astype("float32")


_HALF = ("bfloat16", "float16")


@keras.saving.register_keras_serializable(package="keras_transformer")
class PositionalEmbedding(CompositeLayer):
    """Token embeddings times sqrt(D), plus positions, then dropout.

    Padding is embedded like any token, and hidden from later layers by an
    implicit mask. With `reverse=True` the embedding matrix instead projects
    features to scores over the vocabulary ("tied" input and output
    embeddings).

    KerasHub's `TokenAndPositionEmbedding` calls `d_model` `embedding_dim` and
    `max_length` `sequence_length`; it learns positions, has no sqrt(D), and
    has `mask_zero=False` by default.

    Args:
        vocabulary_size: int, V.
        d_model: int, even, D.
        max_length: int, number of positions.
        dropout: float, fraction of the sum to drop.
        positions: "sinusoidal", "tensor2tensor" (see `sinusoids`) or
            "learned".
        embeddings_initializer: initializer of the embedding matrix.
        output_bias: bool, whether a bias is added with `reverse`.
        first_position: int, the position of the first token, from which the
            others are counted. Ignored if positions are learned.
        mask_zero: bool, whether id 0 is padding: the output then has an
            implicit mask that hides it in layers that take one, also Keras'.

    Call arguments:
        inputs: int ids `(B, T)`, T at most `max_length`; with `reverse`,
            float features `(..., D)`.
        skip: int, number of leading ids, such as START, that share position 0
            with the first id after them.
        reverse: bool, whether to project features to scores.
        training: bool, whether dropout is applied.

    Returns:
        float `(B, T, D)`; with `reverse`, `(..., V)`.

    Raises:
        ValueError: unknown `positions` or an odd `d_model`; or, when called,
            ids that half precision has rounded, features of another width
            with `reverse`, or more than `max_length` ids in a row. A graph
            traced for any length can't check the length: there the sum fails
            with TensorFlow's `Incompatible shapes`. Cut rows first:
            `ids[:, :max_length]`.

    Example:
        >>> import numpy as np
        >>> layer = PositionalEmbedding(vocabulary_size=10, d_model=8)
        >>> tuple(layer(np.array([[2, 5, 3]])).shape)
        (1, 3, 8)

    References: Vaswani et al. 2017, sections 3.4 and 3.5; Press and Wolf
    2017 for tied embeddings.
    """

    def __init__(
        self,
        vocabulary_size: int,
        d_model: int,
        max_length: int = 256,
        dropout: float = 0.0,
        positions: str = "sinusoidal",
        embeddings_initializer: Initializer = "glorot_uniform",
        output_bias: bool = False,
        first_position: int = 0,
        mask_zero: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if positions not in ("sinusoidal", "tensor2tensor", "learned"):
            raise ValueError(
                "positions must be 'sinusoidal', 'tensor2tensor' or "
                f"'learned'. Received: {positions!r}"
            )
        if d_model % 2:
            raise ValueError(f"d_model must be even. Received: {d_model}")
        self.vocabulary_size = vocabulary_size
        self.d_model = d_model
        self.max_length = max_length
        self.dropout = dropout
        self.positions = positions
        self.embeddings_initializer = keras.initializers.get(
            embeddings_initializer
        )
        self.output_bias = output_bias
        self.first_position = first_position
        self.mask_zero = mask_zero
        self.supports_masking = True
        self._tokens = keras.layers.ReversibleEmbedding(
            vocabulary_size,
            d_model,
            embeddings_initializer=own_initializer(self.embeddings_initializer),
            dtype=self.dtype_policy,
            name="tokens",
        )
        # Else Keras warns that it drops the mask, which `compute_mask` keeps.
        self._tokens.supports_masking = True
        self._dropout = Dropout(
            dropout, dtype=self.dtype_policy, name="embedding_dropout"
        )

    def build(self, inputs_shape: Shape | None = None) -> None:
        self._tokens.build(inputs_shape)
        if self.positions == "learned":
            self._position_table = self.add_weight(
                shape=(self.max_length, self.d_model),
                initializer=keras.initializers.RandomNormal(
                    stddev=self.d_model**-0.5
                ),
                name="positions",
            )
        else:
            first = self.first_position
            table = sinusoids(
                first + self.max_length, self.d_model, self.positions
            )
            self._position_table = table[first:]
        if self.output_bias:
            self._output_bias = self.add_weight(
                shape=(self.vocabulary_size,),
                initializer="zeros",
                name="output_bias",
            )

    def call(
        self,
        inputs: Tensor,
        reverse: bool = False,
        training: bool | None = None,
        skip: int = 0,
    ) -> Tensor:
        if reverse:
            return self._project(inputs, training)
        if keras.backend.standardize_dtype(inputs.dtype) in _HALF:
            # Keras has cast float ids to the compute dtype before this call.
            raise ValueError(
                "ids can't be floats of half precision, which rounds them. "
                "Accepted: integers, as of keras.Input(..., dtype='int32'). "
                f"Received: {inputs.dtype}, of dtype policy "
                f"{self.dtype_policy.name}"
            )
        require_ids(inputs)
        x = self._tokens(inputs) * self.d_model**0.5
        x = x + self._encoding(ops.shape(inputs)[1], skip)
        x = self._dropout(x, training=training)
        # Set here: `compute_mask` can't tell float ids from features.
        set_implicit_mask(x, self._padding(inputs))
        return x

    def compute_mask(
        self, inputs: Tensor, previous_mask: Tensor | None = None
    ) -> Tensor | None:
        """The padding mask of ids, bool `(B, T)`; for features, the given one.

        Float inputs count as features.
        """
        if "int" in keras.backend.standardize_dtype(inputs.dtype):
            return self._padding(inputs)
        return previous_mask

    def _padding(self, ids):
        return ops.not_equal(ids, PAD_ID) if self.mask_zero else None

    def _project(self, x, training):
        """Projects by the transposed matrix, in training by `ops.dense`."""
        check_width(self, "inputs", x.shape, self.d_model, any_axes=True)
        tokens = self._tokens
        not_quantized = tokens.quantization_mode is None
        trained = not_quantized and embeddings_variable(tokens).trainable
        bias = None
        if self.output_bias:
            bias = ops.cast(self._output_bias, self.compute_dtype)
        if not (training and trained):
            x = tokens(x, reverse=True)
            return x if bias is None else x + bias
        matrix = ops.cast(tokens.embeddings, self.compute_dtype)
        return dense(x, matrix, bias, transposed=True, kernel_gradient=True)

    def _encoding(self, length, skip):
        """Encodings of the first positions, `(T, D)`."""
        table = ops.cast(
            ops.convert_to_tensor(self._position_table), self.compute_dtype
        )
        if isinstance(length, int) and length > self.max_length:
            raise ValueError(
                f"At most max_length={self.max_length} positions can be "
                f"embedded. Received: a sequence of {length}"
            )
        if skip:
            first = ops.repeat(table[:1], skip, axis=0)  # (skip, D)
            table = ops.concatenate([first, table], axis=0)
        if not isinstance(length, int) and keras.backend.backend() == "jax":
            # A slice of a symbolic length has another shape in `jax.export`.
            return ops.take(table, ops.arange(length), axis=0)
        return table[:length]

    def position_table(self) -> np.ndarray:
        """The encodings that `call` adds, float array `(max_length, D)`."""
        if not self.built:
            self.build()
        return keras.ops.convert_to_numpy(self._position_table)

    def set_vectors(self, vectors: np.ndarray) -> None:
        """Initialises rows of the embedding matrix with pre-trained vectors.

        Args:
            vectors: float array `(V, D)`; a row of NaN leaves that token's
                initial values. Rows are divided by sqrt(D), by which `call`
                multiplies them again: the model gets the vectors as given.
        """
        current = self._tokens.embeddings.numpy()
        if vectors.shape != current.shape:
            raise ValueError(
                f"vectors must have shape {current.shape}. "
                f"Received: {vectors.shape}"
            )
        scaled = vectors / self.d_model**0.5
        self._tokens.embeddings.assign(
            np.where(np.isnan(scaled), current, scaled)
        )

    def compute_output_shape(
        self, inputs_shape: Shape, reverse: bool = False, **kwargs: Any
    ) -> Shape:
        if reverse:
            return (*inputs_shape[:-1], self.vocabulary_size)
        return (*inputs_shape, self.d_model)

    def compute_output_spec(
        self, inputs: Tensor, reverse: bool = False, **kwargs: Any
    ) -> keras.KerasTensor:
        if not reverse:
            require_ids(inputs)
        shape = self.compute_output_shape(inputs.shape, reverse=reverse)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def get_config(self) -> dict:
        return {
            **super().get_config(),
            "vocabulary_size": self.vocabulary_size,
            "d_model": self.d_model,
            "max_length": self.max_length,
            "dropout": self.dropout,
            "positions": self.positions,
            "embeddings_initializer": keras.initializers.serialize(
                self.embeddings_initializer
            ),
            "output_bias": self.output_bias,
            "first_position": self.first_position,
            "mask_zero": self.mask_zero,
        }
