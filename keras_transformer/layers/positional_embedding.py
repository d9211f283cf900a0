"""Token embedding and positions, and the embedding used backwards.

Axes: B batch, T positions, D model width, V vocabulary.
"""

import keras
import numpy as np
from keras import ops

from keras_transformer.compat import embeddings_variable
from keras_transformer.layers.dropout import Dropout
from keras_transformer.ops import dense


def sinusoids(length, d_model):
    """The paper's position encoding, sine and cosine interleaved.

    Args:
        length: int, number of positions.
        d_model: int, even width.

    Returns:
        float32 array `(length, d_model)`; column 2i is
        `sin(position / 10000^(2i / d_model))`, column 2i + 1 its cosine.

    Reference: Vaswani et al. 2017, section 3.5.
    """
    # float64 until the end: large positions lose digits in float32.
    rates = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
    angles = np.arange(length)[:, None] * rates[None, :]
    table = np.empty((length, d_model))
    table[:, 0::2] = np.sin(angles)
    table[:, 1::2] = np.cos(angles)
    return table.astype("float32")


@keras.saving.register_keras_serializable(package="keras_transformer")
class PositionalEmbedding(keras.layers.Layer):
    """Token embeddings times sqrt(D), plus positions, then dropout.

    Padding is embedded like any token; masks are made from the ids by
    `keras_transformer.layers.masks`. With `reverse=True` the embedding
    matrix projects features to scores over the vocabulary instead ("tied"
    input and output embeddings).

    Args:
        vocabulary_size: int, V.
        d_model: int, even, D.
        max_length: int, number of positions.
        dropout: float, dropped fraction of the sum.
        positions: "sinusoidal" or "learned".
        embeddings_initializer: initializer of the embedding matrix.

    Call arguments:
        inputs: int ids `(B, T)`, T at most `max_length`; with `reverse`,
            float features `(..., D)`.
        position: int scalar; if given, every id stands at that position,
            else at 0, 1, ... T - 1.
        reverse: bool, whether to project backwards.
        training: bool, whether dropout is applied.

    Returns:
        float `(B, T, D)`; with `reverse`, `(..., V)`.

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
        vocabulary_size,
        d_model,
        max_length=256,
        dropout=0.0,
        positions="sinusoidal",
        embeddings_initializer="glorot_uniform",
        **kwargs,
    ):
        super().__init__(**kwargs)
        if positions not in ("sinusoidal", "learned"):
            raise ValueError(
                "positions must be 'sinusoidal' or 'learned'. "
                f"Received: {positions!r}"
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
        self._tokens = keras.layers.ReversibleEmbedding(
            vocabulary_size,
            d_model,
            embeddings_initializer=self.embeddings_initializer.clone(),
            dtype=self.dtype_policy,
            name="tokens",
        )
        self._dropout = Dropout(
            dropout, dtype=self.dtype_policy, name="embedding_dropout"
        )

    def build(self, inputs_shape=None):
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
            self._position_table = sinusoids(self.max_length, self.d_model)

    def call(self, inputs, position=None, reverse=False, training=None):
        if reverse:
            return self._project(inputs, training)
        x = self._tokens(inputs) * self.d_model**0.5
        x = x + self._encoding(ops.shape(inputs)[1], position)
        return self._dropout(x, training=training)

    def _project(self, x, training):
        """By the transposed matrix; by a kernel of its own in training."""
        tokens = self._tokens
        not_quantized = tokens.quantization_mode is None
        trained = not_quantized and embeddings_variable(tokens).trainable
        if not (training and trained):
            return tokens(x, reverse=True)
        matrix = ops.cast(tokens.embeddings, self.compute_dtype)
        return dense(x, matrix, transposed=True, kernel_gradient=True)

    def _encoding(self, length, position):
        """`(T, D)`, or `(D,)` of the one position."""
        table = ops.cast(
            ops.convert_to_tensor(self._position_table), self.compute_dtype
        )
        if position is not None:
            return ops.take(table, position, axis=0)
        if isinstance(length, int) and length > self.max_length:
            raise ValueError(
                f"At most max_length={self.max_length} positions can be "
                f"embedded. Received: a sequence of {length}"
            )
        return table[:length]

    def position_table(self):
        """The encodings that `call` adds, float array `(max_length, D)`."""
        return keras.ops.convert_to_numpy(self._position_table)

    def set_vectors(self, vectors):
        """Starts rows of the embedding matrix from pre-trained vectors.

        Args:
            vectors: float array `(V, D)`; a row of NaN leaves that token's
                initial values. Rows are divided by sqrt(D), which `call`
                multiplies back, so the model sees the vectors as given.
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

    def compute_output_shape(self, inputs_shape, reverse=False, **kwargs):
        if reverse:
            return (*inputs_shape[:-1], self.vocabulary_size)
        return (*inputs_shape, self.d_model)

    def compute_output_spec(self, inputs, reverse=False, **kwargs):
        shape = self.compute_output_shape(inputs.shape, reverse=reverse)
        return keras.KerasTensor(shape, dtype=self.compute_dtype)

    def get_config(self):
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
        }
