"""Description of another program's model, and conversion of its weights.

Axes: D model width, V vocabulary.
"""

import dataclasses
import functools
import pathlib
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from keras_transformer.config.model import ModelConfig
from keras_transformer.constants import PAD_ID, START_ID
from keras_transformer.errors import InputError, shown

# How far the bias of a token that is never predicted is below the lowest. Much
# more would spoil label smoothing, which sums over all tokens.
_NEVER = 100.0
_PROJECTIONS = {"query": "q", "key": "k", "value": "v"}


@dataclasses.dataclass(frozen=True)
class ForeignModel:
    """A model read from a folder of any supported program.

    Attributes:
        folder: the model's folder.
        kind: name of the program, for messages.
        tensors: arrays by transformers' names.
        sizes: `{"d_model": ..., "num_heads": ..., "d_ff": ...,
            "num_encoder_layers": ..., "num_decoder_layers": ...}`.
        activation: as `model.activation`, or "silu", another name of swish.
        tied_embeddings: as `model.tied_embeddings`.
        vocabularies: ids by token, of source and target.
        paddings: id of `<pad>` on each side; None: there is none.
        starts: id of the token to use as START on each side; None: its
            embedding is zero. The target's is the decoder's first input.
        sentencepiece: file of the SentencePiece model of each side.
        max_length: number of positions.
        decoding: values of the section `decoding`.
        languages: tags of source and target; "" if the folder doesn't have
            them.
        punctuation: "moses" if the training text was normalised by Moses'
            script, else "none".
        files: the files that the run is made from.
        section: values of the section `model` that differ from Marian's.
        padding_is_predicted: bool, whether `<pad>` has a probability; None:
            only with sinusoidal positions, as in transformers.
        accepted_positions: supported kinds of positions, the default first.
        language_tokens: the language tokens that texts begin with: "none",
            "both" (each text has that of its language) or "target" (the
            source has that of the target's language).
        added_tokens: tokens beyond the pieces of the SentencePiece models,
            which are matched verbatim in texts.
        unread: keys of the configuration that its program never reads.
        left_out: settings of the program's search without a counterpart.
    """

    folder: pathlib.Path
    kind: str
    tensors: dict[str, np.ndarray]
    sizes: dict[str, int]
    activation: str
    tied_embeddings: str
    vocabularies: tuple[dict, dict]
    paddings: tuple[int | None, int | None]
    starts: tuple[int | None, int | None]
    sentencepiece: tuple[pathlib.Path, pathlib.Path]
    max_length: int
    decoding: dict[str, Any]
    files: tuple[pathlib.Path, ...]
    languages: tuple[str, str] = ("", "")
    punctuation: Literal["none", "moses"] = "none"
    section: dict[str, Any] = dataclasses.field(default_factory=dict)
    padding_is_predicted: bool | None = None
    accepted_positions: tuple[str, ...] = ("tensor2tensor", "sinusoidal")
    language_tokens: Literal["none", "both", "target"] = "none"
    added_tokens: frozenset[str] = frozenset()
    unread: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

    def config(self, positions: str) -> dict:
        """Returns the section `model` of the run's configuration.

        Args:
            positions: "tensor2tensor", as in Marian, or "sinusoidal", as in
                transformers.
        """
        as_marian = positions == "tensor2tensor"
        is_silu = self.activation == "silu"
        return {
            **self.sizes,
            "activation": "swish" if is_silu else self.activation,
            "norm": "post",
            "layer_norm_epsilon": 1e-6 if as_marian else 1e-5,
            "tied_embeddings": self.tied_embeddings,
            "output_bias": self.tied_embeddings != "none",
            "positions": positions,
            "source_start": False,
            "max_length": self.max_length,
            "attention_dropout": 0.0,
            "feedforward_dropout": 0.0,
            **self.section,
        }


def refused(
    path: pathlib.Path, key: str, value: object, accepted: object
) -> InputError:
    """Creates the error of a setting with an unsupported value.

    Args:
        path: file of the settings.
        key: key of the value.
        value: the value.
        accepted: the supported value or values.
    """
    return InputError(
        f"{path}: {key} is {shown(value, 60)}, which isn't understood. "
        f"Accepted: {accepted}"
    )


def without_counterpart(
    settings: dict[str, Any], neutral: dict[str, Any]
) -> tuple[str, ...]:
    """Returns settings without a counterpart as `NAME=VALUE`.

    Args:
        settings: settings of the program's search.
        neutral: settings without a counterpart, with the values that don't
            change translations; None doesn't either.
    """
    return tuple(
        f"{key}={shown(settings[key], 60)}"
        for key, value in sorted(neutral.items())
        if settings.get(key, value) not in (None, value)
    )


def require_understood(
    path: pathlib.Path, settings: dict[str, Any], understood: dict[str, Any]
) -> None:
    """Refuses settings whose value isn't the supported one.

    A missing key counts as supported, and so does any empty value if the
    supported value is empty.

    Raises:
        InputError: names the first unsupported setting.
    """
    for key, accepted in understood.items():
        value = settings.get(key, accepted)
        if value != accepted and (value or accepted):
            raise refused(path, key, value, repr(accepted))


def weights_of(
    model: ForeignModel,
    config: ModelConfig,
    orders: Sequence[Sequence[int]],
) -> dict[str, np.ndarray]:
    """Converts a model's tensors to weights of this package, by Keras path.

    Positional encodings here have each sine beside its cosine, whereas Marian
    has all sines before all cosines. So the features of the residual stream
    are permuted, in all weights that read or write it.

    Args:
        model: the model to convert.
        config: configuration of the new model.
        orders: `new_order` of each side.

    Raises:
        InputError: a tensor is missing or unexpected, has another shape, or
            isn't finite.
    """
    reader = _Reader(model, config)
    reader.embeddings(orders)  # First, as this verifies d_model.
    for side, count in (
        ("encoder", config.num_encoder_layers),
        ("decoder", config.num_decoder_layers),
    ):
        for i in range(count):
            reader.layer(side, i)
        if config.norm == "pre":
            reader.final_norm(side)
    reader.check_all_read()
    return reader.weights


class _Reader:
    """Checks and converts tensors by transformers' names."""

    def __init__(self, model, config):
        self._model = model
        self._left = dict(model.tensors)
        self._width = config.d_model
        self._inner = config.d_ff
        self._tied = config.tied_embeddings
        as_marian = config.positions == "tensor2tensor"
        # Marian has no <pad>; in transformers it has a probability.
        predicted = model.padding_is_predicted
        self._no_padding = as_marian if predicted is None else not predicted
        self.weights = {}

    @functools.cached_property
    def _order(self):
        """Marian's features in our order: 2i is its i, 2i + 1 its D/2 + i."""
        return np.arange(self._width).reshape(2, -1).T.ravel()

    def layer(self, side, number):
        """Converts a layer of the encoder or decoder."""
        ours = f"{side}_layer_{number}"
        theirs = f"model.{side}.layers.{number}"
        self._attention(f"{ours}/self_attention", f"{theirs}.self_attn")
        if side == "decoder":
            self._attention(f"{ours}/cross_attention", f"{theirs}.encoder_attn")
        self._dense(f"{ours}/feedforward/inner", f"{theirs}.fc1", reads=True)
        self._dense(f"{ours}/feedforward/outer", f"{theirs}.fc2", writes=True)
        self._norm(
            f"{ours}/feedforward_layer_norm", f"{theirs}.final_layer_norm"
        )

    def final_norm(self, side):
        """Converts the normalisation after the last layer."""
        self._norm(f"{side}_norm", f"model.{side}.layer_norm")

    def embeddings(self, orders):
        """Converts the embeddings and the output layer."""
        sizes = [len(vocabulary) for vocabulary in self._model.vocabularies]
        shared = "model.shared.weight"
        names = ["model.encoder.embed_tokens.weight"]
        names += ["model.decoder.embed_tokens.weight", "lm_head.weight"]
        tables: list = []
        for name, size in zip(names, (*sizes, sizes[1]), strict=True):
            if name not in self._left and name == names[2]:
                tables.append(tables[1])
                continue
            own = name if name in self._left else shared
            tables.append(self._take(own, size, self._width, keep=True))
        for name in (*names, shared):
            self._left.pop(name, None)
        source, target, output = tables
        if self._tied != "none" and not _equal(target, output):
            raise self._error("lm_head.weight isn't the target's embedding")
        if self._tied == "all" and not _equal(source, target):
            raise self._error(
                "the embeddings are declared as shared, but differ"
            )
        bias = self._bias(sizes[1], orders[1])
        if self._tied == "all":
            self._table("shared_embedding", source, orders[0])
            self.weights["shared_embedding/output_bias"] = bias
            return
        self._table("source_embedding", source, orders[0])
        self._table("target_embedding", target, orders[1])
        if self._tied == "target":
            self.weights["target_embedding/output_bias"] = bias
        else:
            kernel = _rows(output, orders[1])[:, self._order].T  # (D, V)
            self.weights["logits/kernel"] = kernel
            self.weights["logits/bias"] = bias

    def check_all_read(self):
        """Refuses tensors that the model doesn't have."""
        positions = ("embed_positions.weight", "embed_positions.weights")
        left = [n for n in self._left if not n.endswith(positions)]
        if left:
            raise self._error(
                f"{len(left)} tensors that the model shouldn't have, "
                f"such as {left[0]}"
            )

    def _attention(self, ours, theirs):
        for name, letter in _PROJECTIONS.items():
            self._dense(f"{ours}/{name}", f"{theirs}.{letter}_proj", reads=True)
        self._dense(f"{ours}/output", f"{theirs}.out_proj", writes=True)
        self._norm(f"{ours}_layer_norm", f"{theirs}_layer_norm")

    def _dense(self, ours, theirs, reads=False, writes=False):
        """Converts a dense layer; it reads or writes the residual stream."""
        inner = self._inner if ".fc" in theirs else self._width
        inputs, outputs = (
            (self._width, inner) if reads else (inner, self._width)
        )
        kernel = self._take(f"{theirs}.weight", outputs, inputs).T
        bias = self._take(f"{theirs}.bias", outputs)
        if reads:
            kernel = kernel[self._order]
        if writes:
            kernel, bias = kernel[:, self._order], bias[self._order]
        self.weights[f"{ours}/kernel"] = kernel
        self.weights[f"{ours}/bias"] = bias

    def _norm(self, ours, theirs):
        for name, key in (("gamma", "weight"), ("beta", "bias")):
            values = self._take(f"{theirs}.{key}", self._width)
            self.weights[f"{ours}/{name}"] = values[self._order]

    def _table(self, name, rows, order):
        path = f"{name}/tokens/embeddings"
        self.weights[path] = _rows(rows, order)[:, self._order]  # (V, D)

    def _bias(self, size, order):
        """Returns the output layer's bias, `(V,)`."""
        bias = np.zeros((1, size), np.float32)
        if "final_logits_bias" in self._left:
            bias = self._take("final_logits_bias", 1, size)
        bias = _rows(bias[0], order)
        never = bias.min() - _NEVER
        if order[START_ID] is None or order.count(order[START_ID]) > 1:
            bias[START_ID] = never
        if self._no_padding or order[PAD_ID] is None:
            bias[PAD_ID] = never
        return bias

    def _take(self, name, *shape, keep=False):
        if name not in self._left:
            raise self._error(f"no tensor {name}")
        tensor = self._left[name] if keep else self._left.pop(name)
        if tensor.shape != shape:
            raise self._error(
                f"{name} is {_shape(tensor.shape)}, where config and "
                f"vocabulary say {_shape(shape)}"
            )
        values = np.asarray(tensor, np.float32)
        if not np.isfinite(values).all():
            raise self._error(
                f"{name} has numbers that are infinite or none (NaN). "
                "Accepted: the weights of a training that went well"
            )
        return values

    def _error(self, message):
        return InputError(f"{self._model.folder}: {message}")


def _rows(table, order):
    """Returns rows in their new order; zeros where the order has None."""
    taken = table[[number or 0 for number in order]]
    taken[[number is None for number in order]] = 0.0
    return taken


def _equal(one, other):
    return one is other or np.array_equal(one, other)


def _shape(shape):
    return " x ".join(map(str, shape)) or "a number"
