"""Data for plots of one sentence: its attention and its beam tree.

`attention_maps` and `beam_tree` draw them.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.blank import is_blank
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.constants import PAD_ID, START_ID
from keras_transformer.errors import InputError, shown
from keras_transformer.models.attention_weights import attention_weights
from keras_transformer.search.from_config import banned_ids
from keras_transformer.search.trace import BeamTree, trace_beam
from keras_transformer.symbols import NUMBERS
from keras_transformer.translation.markup import MaskedLines
from keras_transformer.translation.translator import Translator, step_model

if TYPE_CHECKING:
    import keras

    from keras_transformer.training.run import Run


class SentenceAttention(NamedTuple):
    """Attention of a sentence and its translation.

    Attributes:
        source_tokens: S str, with START and END.
        input_tokens: T str, as the decoder reads them, START first.
        output_tokens: T str, as it writes them, END last.
        encoder: float array `(L, N, S, S)`.
        decoder: float array `(L, N, T, T)`.
        cross: float array `(L, N, T, S)`.
    """

    source_tokens: list[str]
    input_tokens: list[str]
    output_tokens: list[str]
    encoder: np.ndarray
    decoder: np.ndarray
    cross: np.ndarray


def sentence_attention(
    run: Run,
    model: keras.Model,
    text: str,
    translation: str | None = None,
    decoding: DecodingConfig | None = None,
) -> SentenceAttention:
    """Translates a sentence; returns the attention over the translation.

    Args:
        run: the `Run`, for tokenizers and search.
        model: its `keras.Model`.
        text: the sentence.
        translation: to use instead of the model's own.
        decoding: the search; None: the run's.

    Raises:
        InputError: the sentence is blank or invisible, is nothing but markup,
            or has more marks than symbols have numbers.
    """
    decoding = _eager(decoding or run.config.decoding)
    translator = Translator.from_run(run, model, decoding)
    if translation is None:
        source = translator.prepare(tf.constant([_masked(text, translator)]))
        ids = translator.search(source, num_hypotheses=1).ids[0, 0].numpy()
    else:
        text, translation = _masked((text, translation), translator)
        source = translator.prepare(tf.constant([text]))
        ids = translator.target_ids(tf.constant([translation]))[0].numpy()
    # A translation that reached its limit has no END, and gets none here.
    ids = ids[ids != PAD_ID]
    inputs = np.array([START_ID, *ids[:-1]], np.int32)
    weights = attention_weights(model, source.ids, inputs[np.newaxis])
    source_names = run.source_tokenizer.tokens()
    target_names = run.target_tokenizer.tokens()
    return SentenceAttention(
        [source_names[i] for i in source.ids[0].numpy()],
        [target_names[i] for i in inputs],
        [target_names[i] for i in ids],
        *(part[:, 0] for part in weights),
    )


def sentence_beam_tree(
    run: Run,
    model: keras.Model,
    text: str,
    decoding: DecodingConfig | None = None,
) -> BeamTree:
    """The tree of the search for a sentence's translation.

    Args:
        run: the `Run`, for tokenizers and search.
        model: its `keras.Model`.
        text: the sentence.
        decoding: the search; None: the run's.

    Raises:
        InputError: the sentence is blank or invisible, is nothing but markup,
            or has more marks than symbols have numbers; or the search samples.
    """
    decoding = _eager(decoding or run.config.decoding)
    steps = step_model([model], decoding.precision)
    source_side, target_side = run.source_tokenizer, run.target_tokenizer
    translator = Translator(
        source_side,
        target_side,
        steps,
        decoding,
        placeholders=run.config.data.markup_patterns,
    )
    source = translator.prepare(tf.constant([_masked(text, translator)]))
    return trace_beam(
        steps,
        source.ids,
        target_side.tokens(),
        decoding,
        banned_ids(decoding, target_side),
        target_side.first_id(),
        (source_side.first_symbol, target_side.first_symbol),
    )


def _eager(decoding):
    """The search for eager execution, which has no int8."""
    if decoding.precision == "int8":
        return dataclasses.replace(decoding, precision="float32")
    return decoding


def _masked(line, translator):
    """A text, or one and its translation, with symbols if the model has any."""
    text = line if isinstance(line, str) else line[0]
    if is_blank(text):
        raise InputError(
            "the text is blank, or has no character that is seen. Received: "
            f"{text[:20]!a}. Accepted: a sentence"
        )
    if translator.placeholders is None:
        return line
    parts = MaskedLines([line], translator.placeholders).parts
    if len(parts) != 1:
        raise InputError(
            "the text is nothing but markup, or has more marks than "
            f"{NUMBERS}. Received: {shown(text)}. Accepted: a sentence"
        )
    return parts[0]
