"""Paragraphs: texts that are translated sentence by sentence, and joined.

A paragraph's score is the mean of its sentences' scores, its k-th translation
is joined from their k-th ones, and it is truncated if one of them is. A given
translation is scored by sentence if it has as many sentences as its text, else
as a whole.

Axes: B texts, N sentences and blank pieces of all texts, M sentences, K
hypotheses.
"""

import dataclasses
import re
from collections.abc import Callable, Sequence

import tensorflow as tf

from keras_transformer.compat import graph_function
from keras_transformer.config.data import DataConfig
from keras_transformer.constants import NO_SCORE
from keras_transformer.search.scoring import one_each
from keras_transformer.text.sentences import (
    Sentences,
    SentenceSplitter,
    count_chosen,
    is_blank,
    is_wordless,
)
from keras_transformer.text.tokenizer import Tokenizer, encoded
from keras_transformer.translation.request import (
    ScoredPair,
    Translation,
    blank_pair,
    blank_translation,
    chained,
    joined_translation,
    of_rank,
)
from keras_transformer.translation.stream import one_by_one, stream_lines

_TEXT = tf.TensorSpec([None], tf.string, name="text")
_TRANSLATION = tf.TensorSpec([None], tf.string, name="translation")


def splitter_of(
    data: DataConfig, tokenizer: Tokenizer, max_length: int
) -> SentenceSplitter:
    """The splitter of a model's texts.

    Args:
        data: names the languages.
        tokenizer: the model's source tokenizer.
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
        graph_function(count_tokens, [_TEXT], inline=False),
        # Without START, END, and a tag or a prefix.
        max_length - 2 - (has_prefix or bool(tags)),
        "|".join(tags),
    )


def pair_splitters_of(
    data: DataConfig, source: Tokenizer, target: Tokenizer, max_length: int
) -> tuple[SentenceSplitter, SentenceSplitter]:
    """The splitters of texts and of their translations; see `splitter_of`."""
    swapped = dataclasses.replace(
        data,
        source_language=data.target_language,
        target_language=data.source_language,
    )
    return (
        splitter_of(data, source, max_length),
        splitter_of(swapped, target, max_length),
    )


def by_sentence(
    translate: Callable[..., dict],
    splitter: SentenceSplitter | None,
    batch_size: int,
    ranks: int | None = None,
) -> Callable[..., dict]:
    """The graph function of a translator for texts of several sentences.

    For exports; runs and CTranslate2 split texts in Python, see `Paragraphs`.

    Args:
        translate: `Translator.translate`, or `nbest` if `ranks` is given.
        splitter: splits texts into sentences; None: texts aren't split.
        batch_size: sentences translated together, at most.
        ranks: K of `nbest`.

    Returns:
        A `tf.function` from `text` string `(B,)` to the outputs of
        `translate`, with the white space, line ends and bullets of the texts,
        and `sentences` int32 `(B,)`: how many each text has, 0 if blank.
    """

    if splitter is None:

        def keep(text):
            sentences = tf.cast(~is_blank(text), tf.int32)
            return {**translate(text), "sentences": sentences}

        return graph_function(keep, [_TEXT])

    def run(text):
        size = tf.size(text)
        return tf.cond(
            splitter.are_sentences(text) & (size <= batch_size),
            lambda: {**translate(text), "sentences": tf.ones([size], tf.int32)},
            lambda: split(text),
        )

    def split_and_join(text):
        found = splitter.split(text)
        shown = tf.where(~is_wordless(found.texts))  # (M, 1)
        sentences = tf.gather_nd(_with_heads(found), shown)
        specs = _specs(ranks)
        outputs = _in_batches(translate, [sentences], batch_size, specs)
        return _joined_outputs(splitter, found, shown, outputs, ranks)

    # Not inlined: TensorFlow would otherwise process its dead nodes, a second
    # search, for each text that is one sentence.
    split = graph_function(split_and_join, [_TEXT], inline=False)
    return graph_function(run, [_TEXT])


def _joined_outputs(splitter, found, shown, outputs, ranks):
    """Outputs of texts, from those of their sentences.

    Args:
        splitter, ranks: see `by_sentence`.
        found: `Sentences`.
        shown: int64 `(M, 1)`, indices of the translated ones.
        outputs: of `translate`, for these sentences.
    """
    rows, size = tf.gather_nd(found.rows, shown), tf.shape(found.heads)[0]
    names = _names(ranks)
    texts, scores = (
        outputs[name] if ranks else outputs[name][:, tf.newaxis]
        for name in names
    )  # (M, K)
    # A sentence with fewer hypotheses repeats its last one.
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
    """Output names of texts and scores, for one hypothesis or several."""
    if ranks:
        return "translations", "scores"
    return "translation", "score"


def _with_heads(found: Sentences):
    return tf.strings.join([tf.gather(found.heads, found.rows), found.texts])


def _specs(ranks):
    """Specs of the outputs of `translate`, see `by_sentence`."""
    shape = [None, ranks] if ranks else [None]
    text, score = _names(ranks)
    return {
        text: tf.TensorSpec(shape, tf.string),
        score: tf.TensorSpec(shape, tf.float32),
        "truncated": tf.TensorSpec([None], tf.bool),
    }


def _in_batches(function, columns, batch_size, specs):
    """Calls a function on batches of sentences and joins the outputs.

    Args:
        function: takes one tensor for each column.
        columns: string `(M,)` each.
        batch_size: sentences, at most.
        specs: of the function's outputs, by name.
    """
    nothing = {
        name: tf.zeros([0, *spec.shape[1:]], spec.dtype)
        for name, spec in specs.items()
    }

    def more(begin, _):
        return begin < tf.shape(columns[0])[0]

    def add(begin, done):
        end = begin + batch_size
        outputs = function(*(column[begin:end] for column in columns))
        return end, {
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


def scored_by_sentence(
    score: Callable[..., dict],
    splitters: tuple[SentenceSplitter, SentenceSplitter] | None,
    batch_size: int,
) -> Callable[..., dict]:
    """The graph function that scores given translations of several sentences.

    Args:
        score: `Translator.score`.
        splitters: of texts and translations; None: texts aren't split.
        batch_size: sentences scored together, at most.

    Returns:
        A `tf.function` with the arguments and outputs of `score`.
    """
    if splitters is None:
        return score
    split = pair_splitter(splitters)

    def split_and_add(text, translation):
        *columns, rows = split(text, translation)
        outputs = _in_batches(score, columns, batch_size, _SCORES)
        return added_scores(outputs, rows, tf.size(text))

    apart = graph_function(split_and_add, [_TEXT, _TRANSLATION], inline=False)

    def run(text, translation):
        sides = zip(splitters, (text, translation), strict=True)
        alone = [splitter.are_sentences(side) for splitter, side in sides]
        return tf.cond(
            alone[0] & alone[1] & (tf.size(text) <= batch_size),
            lambda: score(text, translation),
            lambda: apart(text, translation),
        )

    return graph_function(run, [_TEXT, _TRANSLATION])


_SCORES = {
    name: tf.TensorSpec([None], dtype)
    for name, dtype in {
        "log_probability": tf.float32,
        "score": tf.float32,
        "tokens": tf.int32,
        "truncated": tf.bool,
        "translation_truncated": tf.bool,
    }.items()
}


def pair_splitter(
    splitters: tuple[SentenceSplitter, SentenceSplitter],
) -> Callable[..., tuple]:
    """The graph function that splits pairs into pairs of sentences.

    Args:
        splitters: of texts and translations.

    Returns:
        A `tf.function` from `text` and `translation`, string `(B,)`, to the
        texts and translations of M pairs of sentences, string `(M,)`, and the
        index of the pair that each is from, int64 `(M,)`. A pair whose sides
        have different numbers of sentences stays whole.
    """

    def split(text, translation):
        sides = one_each(text, translation)
        found = [
            splitter.split(side)
            for splitter, side in zip(splitters, sides, strict=True)
        ]
        # A sentence of markup alone counts here, as it has a probability.
        shown = [~is_blank(one.texts) for one in found]
        counts, others = map(count_chosen, found, shown)
        several = (counts == others) & (counts > 1)  # (B,)
        whole = tf.where(~several)[:, 0]
        columns, rows = [], whole
        for side, one, chosen in zip(sides, found, shown, strict=True):
            parts = chosen & tf.gather(several, one.rows)  # (N,)
            sentences = tf.boolean_mask(_with_heads(one), parts)
            columns.append(tf.concat([sentences, tf.gather(side, whole)], 0))
            rows = tf.boolean_mask(one.rows, parts)
        return *columns, tf.concat([rows, whole], 0)

    return graph_function(split, [_TEXT, _TRANSLATION])


def added_scores(outputs: dict, rows: tf.Tensor, size: tf.Tensor) -> dict:
    """The scores of texts, from those of their sentences.

    Args:
        outputs: of `Translator.score`, of M pairs.
        rows: int64 `(M,)`, the index of each pair's text.
        size: B.
    """
    mean, total, most = (
        getattr(tf.math, f"unsorted_segment_{name}")
        for name in ("mean", "sum", "max")
    )
    added = {"score": mean(outputs["score"], rows, size)}
    for name in ("log_probability", "tokens"):
        added[name] = total(outputs[name], rows, size)
    for name in ("truncated", "translation_truncated"):
        added[name] = most(tf.cast(outputs[name], tf.int32), rows, size) > 0
    return added


def scored_pairs(
    pairs: Sequence[tuple[str, str]],
    score: Callable[[Sequence[tuple[str, str]]], list[ScoredPair]],
    split: Callable[..., tuple],
    batch_size: int,
) -> list[ScoredPair]:
    """The scores of pairs, sentence by sentence if both sides have as many.

    Args:
        pairs: B texts and their translations.
        score: function from pairs of sentences to their results, with tokens.
        split: result of `pair_splitter`.
        batch_size: sentences scored together, at most.
    """
    *sides, rows = split(*map(encoded, zip(*pairs, strict=True)))
    columns = [[one.decode() for one in side.numpy()] for side in sides]
    results = stream_lines(
        zip(*columns, strict=True),
        one_by_one(score),
        batch_size,
        # A pair may be blank without its markup.
        blank=blank_pair,
    )
    parts: list[list[ScoredPair]] = [[] for _ in pairs]
    for row, result in zip(rows.numpy(), results, strict=True):
        parts[row].append(result)
    return [
        _added(pair, of_pair)
        for pair, of_pair in zip(pairs, parts, strict=True)
    ]


def _added(pair, parts) -> ScoredPair:
    """The result of a pair, from those of its sentences."""
    source, target = pair
    return ScoredPair(
        source,
        target,
        sum(part.log_probability for part in parts),
        sum(part.score for part in parts) / len(parts),
        sum(part.length for part in parts),
        any(part.truncated for part in parts),
        chained([part.tokens for part in parts]),
        chained([part.token_log_probabilities for part in parts]),
    )


class Paragraphs:
    """Translates texts sentence by sentence, in Python.

    For runs and CTranslate2; exports split texts in the graph, `by_sentence`.
    A text's tokens, log-probabilities and source tokens are those of its
    sentences, one after the other; the alignment is with these source tokens.

    Args:
        splitter: see `splitter_of`.
        batch_size: sentences translated together, at most.
    """

    def __init__(self, splitter: SentenceSplitter, batch_size: int) -> None:
        self._splitter, self._batch_size = splitter, batch_size

        def split(text):
            found = splitter.split(text)
            shown = ~is_wordless(found.texts)
            return splitter.joints(found), _with_heads(found), found.rows, shown

        self._split = graph_function(split, [_TEXT])

    def translate(
        self,
        lines: list[str],
        translate: Callable[[list[str]], list[Translation]],
    ) -> list[Translation]:
        """The results of texts.

        Args:
            lines: B texts.
            translate: function from sentences with words to their results.
        """
        texts = encoded(lines)
        # Short requests skip the tracing of `_split`, which takes longer.
        if self._splitter.are_sentences(texts):
            return [
                _together(line, [("", result)])
                for line, result in zip(lines, translate(lines), strict=True)
            ]
        joints, sentences, rows, shown = (
            tensor.numpy() for tensor in self._split(texts)
        )
        texts = [text.decode("utf-8", "replace") for text in sentences[shown]]
        results = stream_lines(texts, one_by_one(translate), self._batch_size)
        parts: list[list] = [[] for _ in lines]
        for joint, row, is_shown in zip(joints, rows, shown, strict=True):
            result = next(results) if is_shown else None
            parts[row].append((joint.decode(), result))
        return [
            _together(line, of_line)
            for line, of_line in zip(lines, parts, strict=True)
        ]


def _together(line, parts):
    """The result of a text of several sentences.

    Args:
        line: the text.
        parts: the text before each sentence, and its result or None.
    """
    results = [result for _, result in parts if result is not None]
    if not results:
        joints = "".join(joint for joint, _ in parts)
        return blank_translation(line, joints if joints.strip() else "")
    ranks = max(len(one.hypotheses) for one in results)
    texts = [
        "".join(
            joint + (of_rank(result, rank).text if result else "")
            for joint, result in parts
        )
        for rank in range(ranks)
    ]
    return joined_translation(line, results, texts)
