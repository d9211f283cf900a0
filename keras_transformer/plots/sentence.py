"""Sentence data: one sentence's attention and beam tree, for plots to draw.

`attention_maps` and `beam_tree` draw them; nothing here draws.
"""

from __future__ import annotations

import dataclasses
import unicodedata
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import tensorflow as tf

from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.constants import PAD_ID, START_ID
from keras_transformer.errors import InputError
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.models.attention_weights import attention_weights
from keras_transformer.search.from_config import banned_ids
from keras_transformer.search.trace import BeamTree, trace_beam
from keras_transformer.translation.translator import Translator

if TYPE_CHECKING:
    import keras

    from keras_transformer.training.run import Run


# Kinds of characters: control and format, separators.
_INVISIBLE = "CZ"


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
    """Translates a sentence, and looks at one pass over the translation.

    Args:
        run: the `Run`, for tokenizers and search.
        model: its `keras.Model`.
        text: the sentence.
        translation: what to look at instead of the model's own.
        decoding: the search; None: the run's.

    Raises:
        InputError: the sentence is blank or invisible.
    """
    decoding = _eager(decoding or run.config.decoding)
    translator = Translator.from_run(run, model, decoding)
    source = translator.prepare(tf.constant([_checked(text)]))
    if translation is None:
        ids = translator.search(source, num_hypotheses=1).ids[0, 0].numpy()
    else:
        ids = translator.target_ids(tf.constant([translation]))[0].numpy()
    # A translation that reached its limit has no END; it is shown as it is.
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
        InputError: the sentence is blank or invisible, or the search
            samples.
    """
    decoding = _eager(decoding or run.config.decoding)
    translator = Translator.from_run(run, model, decoding)
    source = translator.prepare(tf.constant([_checked(text)]))
    return trace_beam(
        IncrementalTransformer(model, decoding.precision),
        source.ids,
        run.target_tokenizer.tokens(),
        decoding,
        banned_ids(decoding, run.target_tokenizer),
        run.target_tokenizer.first_id(),
    )


def _eager(decoding):
    """The search as it can be run outside of a graph, where no int8 is."""
    if decoding.precision == "int8":
        return dataclasses.replace(decoding, precision="float32")
    return decoding


def _checked(text):
    if not text.strip():
        raise InputError("the text is blank. Accepted: a sentence")
    if all(unicodedata.category(c)[0] in _INVISIBLE for c in text):
        raise InputError(
            "the text has no character that is seen. Received: "
            f"{text[:20]!a}. Accepted: a sentence"
        )
    return text
