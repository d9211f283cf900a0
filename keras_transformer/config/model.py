"""Section `model`: the shape of the Transformer."""

import dataclasses
from typing import Annotated, Literal

from keras_transformer.config.validation import (
    Fraction,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
    Rule,
    Section,
    at_most,
)

_Layers = Annotated[PositiveInt, at_most(1000)]
_WIDEST = 1 << 16
_AT_LEAST_4 = Rule("4 or more", lambda value: value >= 4)


@dataclasses.dataclass(frozen=True)
class ModelConfig(Section):
    """The shape of the Transformer; vocabulary sizes come from the data."""

    num_encoder_layers: _Layers = 6  # layers of the encoder
    num_decoder_layers: _Layers = 6  # layers of the decoder
    # width of every token's vector
    d_model: Annotated[PositiveInt, at_most(_WIDEST)] = 512
    num_heads: PositiveInt = 8  # attention heads; d_model is divided among them
    # width inside the feed-forward sublayer
    d_ff: Annotated[PositiveInt, at_most(4 * _WIDEST)] = 2048
    activation: Literal["relu", "gelu", "swish"] = "relu"  # relu, gelu or swish
    dropout: Fraction = 0.1  # on embeddings and on each sublayer's output
    attention_dropout: Fraction = 0.1  # on attention weights
    feedforward_dropout: Fraction = 0.1  # inside the feed-forward sublayer
    # pre: the notebooks' model; post: the paper's
    norm: Literal["pre", "post"] = "pre"
    layer_norm_epsilon: PositiveFloat = 1e-6  # added to the variance
    # none; target: the target embedding and the output layer share weights;
    # all: the source embedding does, too
    tied_embeddings: Literal["none", "target", "all"] = "none"
    output_bias: bool = False  # whether a tied output layer has a bias
    # sinusoidal: the paper's; tensor2tensor: sinusoidal with the timescales of
    # its code, as in Marian and OpenNMT; learned
    positions: Literal["sinusoidal", "tensor2tensor", "learned"] = "sinusoidal"
    # position of the first token, unless positions are learned
    first_position: Annotated[NonNegativeInt, at_most(1 << 20)] = 0
    source_start: bool = True  # whether the encoder reads the start token
    source_end: bool = True  # whether the encoder reads the end token
    # positions, including start and end tokens
    max_length: Annotated[int, _AT_LEAST_4, at_most(1 << 20)] = 256

    @property
    def depths(self) -> tuple[int, int]:
        """Number of layers of the encoder and of the decoder."""
        return self.num_encoder_layers, self.num_decoder_layers

    def least_parameters(self, source_size: int, target_size: int) -> int:
        """Counts the weights in kernels and embeddings, a lower bound.

        Biases, norms and other weights are left out.

        Args:
            source_size: tokens of the source vocabulary.
            target_size: tokens of the target vocabulary.
        """
        shared = self.tied_embeddings == "all"
        rows = target_size + (0 if shared else source_size)
        if self.positions == "learned":
            rows += self.max_length * (1 if shared else 2)
        attention = 4 * self.d_model**2
        feedforward = 2 * self.d_model * self.d_ff
        encoder, decoder = self.depths
        return (
            rows * self.d_model
            + encoder * (attention + feedforward)
            + decoder * (2 * attention + feedforward)
        )

    @property
    def computed_numbers(self) -> int:
        """Numbers in a computed table of positions, which no file stores."""
        return (self.first_position + self.max_length) * self.d_model

    def __post_init__(self) -> None:
        super().__post_init__()
        heads = f"divisible by model.num_heads ({self.num_heads})"
        self.require("d_model", heads, self.d_model % self.num_heads == 0)
        self.require("d_model", "even", self.d_model % 2 == 0)
        self.require(
            "output_bias",
            "false without tied_embeddings, whose output layer has one",
            not self.output_bias or self.tied_embeddings != "none",
        )
