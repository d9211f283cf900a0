"""Paragraphs: texts that are translated sentence by sentence, and joined.

A paragraph's score is the mean of its sentences' scores, its k-th translation
is made of their k-th ones, and it is truncated if one of them is.

Axes: B texts, N sentences and blank pieces of all of them, M sentences, K
hypotheses.
"""

import itertools
import re
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from keras_transformer.compat import graph_function
from keras_transformer.config.data import DataConfig
from keras_transformer.constants import NO_SCORE
from keras_transformer.text.sentences import (
    Sentences,
    SentenceSplitter,
    is_blank,
)
from keras_transformer.text.tokenizer import Tokenizer, encoded
from keras_transformer.translation.request import (
    Translation,
    blank_translation,
    joined_translation,
    of_rank,
)
from keras_transformer.translation.stream import translate_lines

_TEXT = tf.TensorSpec([None], tf.string, name="text")
_STRINGS = tf.TensorSpec([None], tf.string)
_ROWS = tf.TensorSpec([None], tf.int64)


def splitter_of(
    data: DataConfig, tokenizer: Tokenizer, max_length: int
) -> SentenceSplitter:
    """The splitter of a model's texts.

    Args:
        data: names the languages.
        tokenizer: of the source, by which the model translates.
        max_length: positions of the model.
    """
    has_prefix = bool(tokenizer.options().get("prefix"))
    tags = [*map(re.escape, tokenizer.tags)]
    if tokenizer.language_codes():
        tags.append(r">>[^<>\s]+<<")

    def count_tokens(texts):
        lengths = tokenizer.tokenize(texts).row_lengths()
        return tf.maximum(lengths - has_prefix, 0)

    return SentenceSplitter(
        data.source_language,
        data.target_language,
        count_tokens,
        # Without START, END, and a tag or a prefix.
        max_length - 2 - (has_prefix or bool(tags)),
        "|".join(tags),
    )


def by_sentence(
    translate: Callable[..., dict],
    splitter: SentenceSplitter | None,
    batch_size: int,
    ranks: int | None = None,
) -> Callable[..., dict]:
    """The graph function of a translator for texts of several sentences.

    Args:
        translate: `Translator.translate`, or `nbest` where `ranks` are given.
        splitter: None: every text is a sentence.
        batch_size: sentences translated together, at most.
        ranks: K of `nbest`.

    Returns:
        A `tf.function` from `text` string `(B,)` to what `translate` gives,
        of texts with the white space, line ends and bullets that they had,
        and `sentences` int32 `(B,)`: how many each has, 0 for a blank text.
    """

    if splitter is None:

        def keep(text):
            sentences = tf.cast(~is_blank(text), tf.int32)
            return {**translate(text), "sentences": sentences}

        return graph_function(keep, [_TEXT])

    def run(text):
        found = splitter.split(text)
        shown = tf.where(~is_blank(found.texts))  # (M, 1)
        sentences = tf.gather_nd(_with_heads(found), shown)
        outputs = _in_batches(translate, sentences, batch_size, ranks)
        # What most requests have: each text is a sentence, and nothing else.
        size = tf.size(text)
        is_alone = (tf.size(shown) == size) & (tf.size(found.texts) == size)
        return tf.cond(
            is_alone & tf.reduce_all(found.gaps == ""),
            lambda: {**outputs, "sentences": tf.ones([size], tf.int32)},
            lambda: _joined_outputs(splitter, found, shown, outputs, ranks),
        )

    return graph_function(run, [_TEXT])


def _joined_outputs(splitter, found, shown, outputs, ranks):
    """Outputs of texts, from those of their sentences.

    Args:
        splitter, ranks: see `by_sentence`.
        found: `Sentences`.
        shown: int64 `(M, 1)`, those of them that were translated.
        outputs: what of.
    """
    rows, size = tf.gather_nd(found.rows, shown), tf.shape(found.heads)[0]
    names = _names(ranks)
    texts, scores = (
        outputs[name] if ranks else outputs[name][:, tf.newaxis]
        for name in names
    )  # (M, K)
    # A sentence has its last hypothesis in place of those that it lacks.
    counts = tf.reduce_sum(tf.cast(scores > NO_SCORE, tf.int32), axis=1)
    places = tf.range(tf.shape(scores)[1])  # (K,)
    kept = tf.maximum(counts[:, tf.newaxis] - 1, 0)
    kept = tf.minimum(places, kept)  # (M, K)
    texts, scores = (
        tf.gather(values, kept, batch_dims=1) for values in (texts, scores)
    )
    nothing = tf.fill([tf.shape(found.texts)[0], tf.shape(texts)[1]], "")
    joined = splitter.join(
        found, tf.tensor_scatter_nd_update(nothing, shown, texts)
    )  # (B, K)
    means = tf.math.unsorted_segment_mean(scores, rows, size)
    most = tf.math.unsorted_segment_max(counts, rows, size)
    is_given = places < tf.maximum(most, 1)[:, tf.newaxis]  # (B, K)
    values = tf.where(is_given, joined, ""), tf.where(is_given, means, NO_SCORE)
    truncated = tf.cast(outputs["truncated"], tf.int32)
    return {
        **{
            name: value if ranks else value[:, 0]
            for name, value in zip(names, values, strict=True)
        },
        "truncated": tf.math.unsorted_segment_max(truncated, rows, size) > 0,
        "sentences": splitter.counts(found),
    }


def _names(ranks):
    """Names of texts and scores, of one hypothesis or of several."""
    if ranks:
        return "translations", "scores"
    return "translation", "score"


def _with_heads(found: Sentences):
    return tf.strings.join([tf.gather(found.heads, found.rows), found.texts])


def _in_batches(translate, texts, batch_size, ranks):
    """What `translate` gives, so many sentences at a time."""
    shape = [None, ranks] if ranks else [None]
    text, score = _names(ranks)
    specs = {
        text: tf.TensorSpec(shape, tf.string),
        score: tf.TensorSpec(shape, tf.float32),
        "truncated": tf.TensorSpec([None], tf.bool),
    }
    nothing = {
        name: tf.zeros([0, *spec.shape[1:]], spec.dtype)
        for name, spec in specs.items()
    }

    def more(begin, _):
        return begin < tf.shape(texts)[0]

    def add(begin, done):
        outputs = translate(text=texts[begin : begin + batch_size])
        return begin + batch_size, {
            name: tf.ensure_shape(
                tf.concat([done[name], outputs[name]], axis=0), spec.shape
            )
            for name, spec in specs.items()
        }

    return tf.while_loop(
        more,
        add,
        (tf.constant(0), nothing),
        shape_invariants=(tf.TensorShape([]), specs),
        parallel_iterations=1,
    )[1]


class Paragraphs:
    """Translates texts by what translates sentences, in Python.

    Tokens and log-probabilities of a text are those of its sentences, one
    after the other, as are its source's tokens, to which the alignment goes.

    Args:
        splitter: see `splitter_of`.
        batch_size: sentences translated together, at most.
    """

    def __init__(self, splitter: SentenceSplitter, batch_size: int) -> None:
        self._batch_size = batch_size

        def split(text):
            found = splitter.split(text)
            sentences, shown = _with_heads(found), ~is_blank(found.texts)
            return found._asdict(), sentences, shown

        def join(heads, gaps, texts, rows, translations):
            return splitter.join(
                Sentences(heads, gaps, texts, rows), translations
            )

        self._split = graph_function(split, [_TEXT])
        self._join = graph_function(
            join,
            [*[_STRINGS] * 3, _ROWS, tf.TensorSpec([None, None], tf.string)],
        )

    def translate(
        self,
        lines: list[str],
        translate: Callable[[list[str]], list[Translation]],
    ) -> list[Translation]:
        """The results of texts.

        Args:
            lines: B texts.
            translate: from sentences, none blank, to as many results.
        """
        found, sentences, shown = self._split(encoded(lines))
        shown = shown.numpy()
        results = list(
            translate_lines(
                [
                    text.decode("utf-8", "replace")
                    for text in sentences.numpy()[shown]
                ],
                translate,
                self._batch_size,
            )
        )
        ranks = max((len(one.hypotheses) for one in results), default=1)
        translations = np.full((len(shown), ranks), b"", object)
        for row, one in zip(np.flatnonzero(shown), results, strict=True):
            translations[row] = [
                of_rank(one, k).text.encode() for k in range(ranks)
            ]
        parts = [found[name] for name in Sentences._fields]
        joined = self._join(*parts, tf.constant(translations, tf.string))
        rows = found["rows"].numpy()[shown]
        numbers = np.bincount(rows, minlength=len(lines))
        rest = iter(results)
        return [
            _together(line, [*itertools.islice(rest, number)], texts)
            for line, number, texts in zip(
                lines, numbers, joined.numpy(), strict=True
            )
        ]


def _together(line, results, texts):
    """The result of a text of several sentences.

    Args:
        line: the text.
        results: of its sentences.
        texts: bytes, what each rank of them is joined to.
    """
    if not results:
        return blank_translation(line)
    return joined_translation(line, results, [text.decode() for text in texts])
