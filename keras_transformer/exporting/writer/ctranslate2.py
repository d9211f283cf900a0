"""Export of a run to a folder that CTranslate2 loads.

Needs the extra `[ctranslate2]`. Weights are copied to CTranslate2's
specification of a Transformer. Positions of any kind are stored as the table
that the model adds. Models and searches that CTranslate2 can't express are
refused.

Axes: D model width, V vocabulary, B texts, K hypotheses.
"""

from __future__ import annotations

import collections
import dataclasses
import os
import pathlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from keras_transformer.config import Config
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.constants import END_ID, NO_SCORE, START_ID, UNK_ID
from keras_transformer.errors import InputError
from keras_transformer.exporting.ctranslate2_folder import (
    CTRANSLATE2_DESCRIPTION,
    FORMAT,
    FORMAT_VERSION,
    QUANTIZATIONS,
    REFERENCE,
    require_ctranslate2,
    require_search,
)
from keras_transformer.exporting.registry.version_folders import folder_size
from keras_transformer.exporting.verification.checks import (
    CTRANSLATE2_CHECKS,
    check_in_fresh_process,
    require_passed,
)
from keras_transformer.exporting.writer.keras_file import write_companions
from keras_transformer.exporting.writer.saved_model import (
    ExportReport,
    describe,
    frequent_tokens,
    load_exported,
)
from keras_transformer.exporting.writer.signatures import full_precision
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.search.constraints import (
    NEVER_GENERATED,
    WithoutBanned,
)
from keras_transformer.search.from_config import banned_ids
from keras_transformer.system.checksums import describe_file
from keras_transformer.system.files import check_free, new_folder, write_json
from keras_transformer.training.run import SIDES, Run
from keras_transformer.translation.translator import (
    Translator,
    greedy,
    scores_of,
)

if TYPE_CHECKING:
    import keras
    from ctranslate2.specs import TransformerSpec


_LENGTHS = (1, 2, 3, 4, 6, 8, 10, 12, 15, 20, 25, 30)  # tokens
_ACCEPTED = "Accepted: an export for TensorFlow Serving, without --format"
_ACTIVATIONS = {"relu": "RELU", "gelu": "GELU", "swish": "SWISH"}


def export_ctranslate2(
    run: Run,
    folder: str | os.PathLike,
    *,
    quantization: str,
    weights: str,
    decoding: DecodingConfig | None,
    progress: Callable[[str], None],
) -> ExportReport:
    """Writes, checks and publishes a folder that CTranslate2 loads.

    Args:
        run: a trained run.
        folder: a folder that doesn't exist yet or is empty.
        quantization: a key of `QUANTIZATIONS`.
        weights: "best", "last" or "average".
        decoding: the search; None: the run's own.
        progress: called with a line before each long step.

    Raises:
        InputError: CTranslate2 isn't installed or can't express the model or
            the search, the folder can't be written, the weights are damaged,
            or a check failed.
    """
    started = time.monotonic()
    require_ctranslate2()
    folder = pathlib.Path(folder)
    check_free(folder)
    require_search(decoding or run.config.decoding)
    if run.target_tokenizer.first_id() is not None:
        raise InputError(
            "the model's translations begin with a language code, which the "
            f"export for CTranslate2 doesn't set. {_ACCEPTED}"
        )
    config, model = load_exported(run, weights, decoding)
    progress("translating with the run's own search")
    reference = _reference(run, model, config.decoding, quantization)
    with new_folder(folder) as temporary:
        progress(f"writing {folder}")
        spec = transformer_spec(
            model,
            config,
            run.source_tokenizer.tokens(),
            run.target_tokenizer.tokens(),
        )
        spec.validate()
        spec.optimize(quantization=quantization)
        spec.save(str(temporary))
        files = sorted(temporary.iterdir())
        description = {
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "quantization": quantization,
            "files": [describe_file(path) for path in files],
            **describe(run, config, weights, [model]),
        }
        write_companions(temporary, run)
        write_json(temporary / REFERENCE, reference)
        write_json(temporary / CTRANSLATE2_DESCRIPTION, description)
        progress("checking it in a fresh process")
        checks = check_in_fresh_process(temporary, CTRANSLATE2_CHECKS)
        require_passed(checks)
    return ExportReport(
        path=folder,
        quantization=quantization,
        size=folder_size(folder),
        checks=checks,
        seconds=round(time.monotonic() - started, 1),
    )


def transformer_spec(
    model: keras.Model,
    config: Config,
    source_tokens: list[str],
    target_tokens: list[str],
) -> TransformerSpec:
    """Builds CTranslate2's specification of a model, with its weights.

    Args:
        model: a `keras.Model` from `build_transformer`.
        config: its section `model` describes the architecture.
        source_tokens: the source vocabulary, in the order of ids.
        target_tokens: the target vocabulary, in the order of ids.

    Returns:
        `ctranslate2.specs.TransformerSpec`.

    Raises:
        InputError: CTranslate2 can't express the model; the message says why.
    """
    from ctranslate2.specs import TransformerSpec, common_spec

    shape = config.model
    for side, tokens in zip(SIDES, (source_tokens, target_tokens), strict=True):
        _require_distinct(side, tokens)
    spec = TransformerSpec.from_config(
        (shape.num_encoder_layers, shape.num_decoder_layers),
        shape.num_heads,
        pre_norm=shape.norm == "pre",
        activation=getattr(
            common_spec.Activation, _ACTIVATIONS[shape.activation]
        ),
        # Alignments are the mean over the heads of the last layer but one.
        alignment_layer=max(shape.num_decoder_layers - 2, 0),
        alignment_heads=shape.num_heads,
    )
    _Weights(model).assign_to(spec, shape)
    spec.register_source_vocabulary(source_tokens)
    spec.register_target_vocabulary(target_tokens)
    spec.config.unk_token = target_tokens[UNK_ID]
    spec.config.bos_token = target_tokens[START_ID]
    spec.config.eos_token = target_tokens[END_ID]
    spec.config.decoder_start_token = target_tokens[START_ID]
    spec.config.add_source_bos = shape.source_start
    spec.config.add_source_eos = shape.source_end
    spec.config.layer_norm_epsilon = shape.layer_norm_epsilon
    return spec


def _require_distinct(side, tokens):
    """Refuses a vocabulary that has a token more than once."""
    ((token, count),) = collections.Counter(tokens).most_common(1)
    if count > 1:
        raise InputError(
            f"CTranslate2 knows tokens by their text, and {token!r} is in the "
            f"{side}'s vocabulary more than once. {_ACCEPTED}"
        )


class _Weights:
    """Copies a model's weights to a specification.

    Args:
        model: a `keras.Model` from `build_transformer`.
    """

    def __init__(self, model):
        self._layers = {layer.name: layer for layer in model.layers}
        self._values = {weight.path: weight for weight in model.weights}
        self._left = {w.path for w in model.weights if w.trainable}

    def assign_to(self, spec, shape):
        """Fills a specification.

        Raises:
            InputError: the specification lacks one of the model's weights, or
                the model one of the specification's.
        """
        self._embedding(spec.encoder, spec.encoder.embeddings[0], "source")
        target = self._embedding(
            spec.decoder, spec.decoder.embeddings, "target"
        )
        for i, layer in enumerate(spec.encoder.layer):
            name = f"encoder_layer_{i}"
            self._attention(layer.self_attention, f"{name}/self_attention")
            self._feedforward(layer.ffn, f"{name}/feedforward")
        for i, layer in enumerate(spec.decoder.layer):
            name = f"decoder_layer_{i}"
            self._attention(layer.self_attention, f"{name}/self_attention")
            self._attention(layer.attention, f"{name}/cross_attention")
            self._feedforward(layer.ffn, f"{name}/feedforward")
        if shape.norm == "pre":
            self._norm(spec.encoder.layer_norm, "encoder_norm")
            self._norm(spec.decoder.layer_norm, "decoder_norm")
        self._output(spec.decoder.projection, shape, target)
        if self._left:
            raise InputError(
                "CTranslate2's Transformer has no place for "
                f"{sorted(self._left)[0]}. {_ACCEPTED}"
            )

    def _embedding(self, stack, part, side):
        """Copies token and position embeddings; returns the layer's name."""
        name = f"{side}_embedding"
        name = name if name in self._layers else "shared_embedding"
        part.weight = self._take(f"{name}/tokens/embeddings")
        stack.scale_embeddings = True  # times sqrt(D)
        table = self._layers[name].position_table()
        stack.position_encodings.encodings = _float32(table)
        self._left.discard(f"{name}/positions")
        return name

    def _attention(self, part, path):
        """Copies an attention layer, its projections concatenated.

        Self-attention has one product for query, key and value;
        cross-attention has one for the query and one for key and value.
        """
        inputs = [
            self._linear(f"{path}/{name}") for name in ("query", "key", "value")
        ]
        joined = [inputs] if len(part.linear) == 2 else [inputs[:1], inputs[1:]]
        for linear, parts in zip(part.linear, joined, strict=False):
            weights, biases = zip(*parts, strict=True)
            linear.weight = np.concatenate(weights)
            linear.bias = np.concatenate(biases)
        output = part.linear[-1]
        output.weight, output.bias = self._linear(f"{path}/output")
        self._norm(part.layer_norm, f"{path}_layer_norm")

    def _feedforward(self, part, path):
        inner, outer = part.linear_0, part.linear_1
        inner.weight, inner.bias = self._linear(f"{path}/inner")
        outer.weight, outer.bias = self._linear(f"{path}/outer")
        self._norm(part.layer_norm, f"{path}_layer_norm")

    def _output(self, part, shape, target):
        """Copies the output layer and bans ids that are never generated."""
        if shape.tied_embeddings == "none":
            part.weight, bias = self._linear("logits")
        else:
            part.weight = self._take(f"{target}/tokens/embeddings")
            bias = np.zeros(part.weight.shape[0], np.float32)
            if shape.output_bias:
                bias = self._take(f"{target}/output_bias")
        part.bias = bias.copy()
        part.bias[list(NEVER_GENERATED)] += WithoutBanned.NEVER

    def _linear(self, path):
        """Returns a weight `(outputs, inputs)` and a bias `(outputs,)`."""
        weight = self._take(f"{path}/kernel").T
        return np.ascontiguousarray(weight), self._take(f"{path}/bias")

    def _norm(self, part, path):
        part.gamma = self._take(f"{path}/gamma")
        part.beta = self._take(f"{path}/beta")

    def _take(self, path):
        if path not in self._values:
            raise InputError(
                f"CTranslate2's Transformer needs {path}, which this model "
                f"doesn't have. {_ACCEPTED}"
            )
        self._left.discard(path)
        return _float32(self._values[path].numpy())


def _float32(array):
    return np.ascontiguousarray(array, np.float32)


def _reference(run, model, decoding, quantization) -> dict:
    """Returns hypotheses of the run's own search, for the checks."""
    most = run.config.model.max_length - 2
    lengths = sorted({min(length, most) for length in _LENGTHS})
    texts = frequent_tokens(run.source_tokenizer, lengths)
    # min_length and no_repeat_ngram_size aren't compared: both searches choose
    # the same tokens, but with different probabilities.
    decoding = dataclasses.replace(
        decoding,
        beam_size=max(decoding.beam_size, 2),
        min_length=0,
        no_repeat_ngram_size=0,
    )
    steps: Any = IncrementalTransformer(model, "float32", align=False)
    # Translations to be scored may contain tokens that the search bans.
    free = dataclasses.replace(decoding, banned_tokens=())
    scored = _searched(run, WithoutBanned(steps, NEVER_GENERATED), free, texts)
    banned = banned_ids(decoding, run.target_tokenizer)
    rest = WithoutBanned(steps, {*NEVER_GENERATED, *banned})
    beam = _searched(run, rest, decoding, texts) if banned else scored
    return {
        "texts": texts,
        "decoding": dataclasses.asdict(decoding),
        "tolerance": QUANTIZATIONS[quantization],
        "exact": quantization == "float32",
        "scored": scored,
        "greedy": _searched(run, rest, greedy(decoding), texts),
        "beam": beam,
    }


def _searched(run, model, decoding, texts):
    """Searches translations of texts; returns JSON-serializable lists."""
    translator = Translator(
        run.source_tokenizer, run.target_tokenizer, model, decoding
    )

    @tf.function(autograph=False)
    def search(text):
        source = translator.prepare(text)
        result = translator.search(source)
        return {
            "texts": translator.texts(text, source, result.ids)[:, 0],
            "ids": result.ids,
            "lengths": result.lengths,
            "finished": result.finished,
            "scores": scores_of(result),
            # Unused beam rows have -inf, which JSON can't represent.
            "log_probabilities": tf.maximum(result.log_probabilities, NO_SCORE),
        }

    with full_precision():
        outputs = search(tf.constant(texts))
    values = {name: tensor.numpy().tolist() for name, tensor in outputs.items()}
    values["texts"] = [text.decode() for text in values["texts"]]
    return values
