"""Section `model`: the shape of the Transformer."""

import dataclasses

from keras_transformer.validation import fraction, one_of, positive, require


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """The shape of the Transformer; vocabulary sizes come from the data."""

    num_encoder_layers: int = 6  # layers of the encoder
    num_decoder_layers: int = 6  # layers of the decoder
    d_model: int = 512  # width of every token's vector
    num_heads: int = 8  # attention heads; d_model is divided among them
    d_ff: int = 2048  # width inside the feed-forward sublayer
    activation: str = "relu"  # relu, gelu or swish
    dropout: float = 0.1  # on embeddings and on each sublayer's output
    attention_dropout: float = 0.1  # on attention weights
    feedforward_dropout: float = 0.1  # inside the feed-forward sublayer
    norm: str = "pre"  # pre: the notebooks' model; post: the paper's
    layer_norm_epsilon: float = 1e-6  # added to the variance
    tied_embeddings: str = "none"  # none, target (with output) or all
    positions: str = "sinusoidal"  # sinusoidal or learned
    max_length: int = 256  # positions, start and end tokens included

    def __post_init__(self):
        positive(
            "model",
            self,
            "num_encoder_layers",
            "num_decoder_layers",
            "d_model",
            "num_heads",
            "d_ff",
            "layer_norm_epsilon",
        )
        fraction(
            "model", self, "dropout", "attention_dropout", "feedforward_dropout"
        )
        require(
            self.d_model % self.num_heads == 0,
            "model.d_model",
            f"divisible by model.num_heads ({self.num_heads})",
            self.d_model,
        )
        require(self.d_model % 2 == 0, "model.d_model", "even", self.d_model)
        require(
            self.max_length >= 4,
            "model.max_length",
            "4 or more",
            self.max_length,
        )
        one_of("model.activation", self.activation, ("relu", "gelu", "swish"))
        one_of("model.norm", self.norm, ("pre", "post"))
        one_of(
            "model.tied_embeddings",
            self.tied_embeddings,
            ("none", "target", "all"),
        )
        one_of("model.positions", self.positions, ("sinusoidal", "learned"))
