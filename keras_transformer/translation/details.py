"""Scores, tokens and alignments of translations, as graph functions.

Axes: B sentences, K hypotheses, T output tokens, S source tokens with START
and END, L without, P tokens of a prefix. T, S, L and P are those of the longest
row of a batch, so they vary between batches.
"""

from collections.abc import Callable, Sequence

import tensorflow as tf

from keras_transformer.compat import graph_function
from keras_transformer.constants import NO_SCORE, PAD_ID
from keras_transformer.data.masking import mask_pairs
from keras_transformer.search.loop import SearchResult
from keras_transformer.text.sentences import SentenceSplitter
from keras_transformer.text.tokenizer import Tokenizer, encoded, is_text
from keras_transformer.translation.markup import (
    masking_markup,
    projecting_markup,
)
from keras_transformer.translation.paragraphs import (
    Paragraphs,
    pair_splitter,
    scored_pairs,
)
from keras_transformer.translation.request import (
    Hypothesis,
    ScoredPair,
    Translation,
)
from keras_transformer.translation.translator import (
    Translator,
    at_least_one_position,
    loses_end,
    scores_of,
)

_TEXT = tf.TensorSpec([None], tf.string, name="text")
_PREFIX = tf.TensorSpec([None], tf.string, name="prefix")
_TRANSLATION = tf.TensorSpec([None], tf.string, name="translation")
_BY_TOKEN = {  # of one hypothesis
    "token_log_probabilities": tf.TensorSpec([None, None], tf.float32),
    "alignment": tf.TensorSpec([None, None, None], tf.float32),
}


def details(
    translator: Translator,
    num_hypotheses: int | None = None,
    prefixed: bool = False,
    tokens: bool = False,
    alignment: bool = False,
) -> Callable[..., dict]:
    """The graph function for translations with all their details.

    Args:
        translator: has the search and the model.
        num_hypotheses: K, at most the beam size; None: all.
        prefixed: whether the function takes a second argument: `prefix`
            string `(B,)`, what the translations begin with; "" for nothing.
        tokens: whether to return tokens, too, at the cost of scoring every
            hypothesis once more.
        alignment: whether to return tokens and their alignment; the model
            needs `align`.

    Returns:
        A `tf.function` from `text` string `(B,)` to a dictionary:
        `translations` string `(B, K)`, the best first, no two the same;
        `scores` and
        `log_probabilities` float32 `(B, K)`, 0 for a blank text and
        `NO_SCORE` in unused rows; `lengths` int32 `(B, K)`, tokens, END
        included; `finished` bool `(B, K)`, whether the translation ended
        before its limit; `truncated` bool `(B,)`, whether the text was too
        long for the model, or its best translation reached the limit.

        With `tokens` also: `tokens` string `(B, K, T)`, as in the
        vocabulary, END included, "" after; `token_log_probabilities` float32
        of that shape; `source_tokens` string `(B, S)`, as written in the
        text, " " for a token of white space or of part of a character, and
        "" for START, END and padding; `source_lengths` int32 `(B,)`, source
        tokens, START and END included. With `alignment` also:
        `alignment` float32 `(B, K, T, S)`, the attention weights of each
        token over the source.
    """

    def run(text, prefix=None):
        source = translator.prepare(text)
        texts, result = translator.best(text, source, num_hypotheses, prefix)
        outputs = {
            "translations": texts,
            **_numbers(result),
            "truncated": loses_end(source, result),
        }
        if tokens or alignment:
            surface = translator.surface(text)
            is_hidden = is_text(source.ids) & (surface == "")
            outputs["source_tokens"] = tf.where(is_hidden, " ", surface)
            outputs["source_lengths"] = source.lengths + 2
            outputs |= _by_token(translator, source, result.ids, alignment)
        return outputs

    signature = [_TEXT, _PREFIX] if prefixed else [_TEXT]
    return graph_function(run, signature)


def score_details(translator: Translator) -> Callable[..., dict]:
    """The graph function for the detailed scores of given translations.

    Returns:
        A `tf.function` from `text` and `translation`, string `(B,)`, to a
        dictionary: `log_probability` and `score` float32 `(B,)`; `tokens`
        string `(B, T)`, as in the vocabulary, END included, "" after;
        `token_log_probabilities` float32 `(B, T)`; `lengths` int32 `(B,)`,
        tokens; `truncated` and `translation_truncated` bool `(B,)`, whether
        the text or the translation was too long for the model and was cut.
    """

    def run(text, translation):
        outputs, ids, scores = translator.scored(text, translation)
        return {
            **outputs,
            "tokens": token_strings(translator, ids),
            "token_log_probabilities": scores.token_log_probabilities,
            "lengths": scores.lengths,
        }

    return graph_function(run, [_TEXT, _TRANSLATION])


def tokenize(tokenizer: Tokenizer) -> Callable[..., dict]:
    """The graph function for the ids of source texts.

    Returns:
        A `tf.function` from `text` string `(B,)` to `{"ids": int32 (B, L),
        "length": int32 (B,)}`: texts without START and END, PAD after, and
        their numbers of ids. Texts aren't cut at the model's length.
    """

    def run(text):
        ids = tokenizer.tokenize(text)
        return {
            "ids": ids.to_tensor(PAD_ID),
            "length": tf.cast(ids.row_lengths(), tf.int32),
        }

    return graph_function(run, [_TEXT])


def align(translator: Translator) -> Callable[..., dict]:
    """The graph function for the alignment of the best translation.

    Args:
        translator: one whose model has `align`.

    Returns:
        A `tf.function` from `text` string `(B,)` to a dictionary:
        `source_tokens` string `(B, S)`, as written in the text, "" for
        START, END and padding; `target_tokens` string `(B, T)`, as in the
        vocabulary, END included, "" after; `alignment` float32 `(B, T, S)`,
        the attention weights of each target token over the source, which sum
        to 1 for a token and are 0 for padding; `truncated` bool `(B,)`, see
        `details`. A blank text has no target token.
    """

    def run(text):
        source = translator.prepare(text)
        result = translator.search(source, num_hypotheses=1)
        # The search may return more positions than it needed.
        longest = tf.maximum(tf.reduce_max(result.lengths), 1)
        ids = at_least_one_position(result.ids[:, 0, :longest])  # (B, T)
        weights = translator.score_ids(source.ids, ids).attention
        is_token = (ids != PAD_ID)[:, :, tf.newaxis]
        return {
            "source_tokens": translator.surface(text),
            "target_tokens": token_strings(
                translator, translator.as_in_text(source, ids)
            ),
            "alignment": tf.where(is_token, weights, 0.0),
            "truncated": loses_end(source, result),
        }

    return graph_function(run, [_TEXT])


def _numbers(result: SearchResult):
    nothing = result.lengths == 0
    values = tf.maximum(result.log_probabilities, NO_SCORE)
    scores = scores_of(result)
    return {
        "scores": scores,
        # A row without tokens is of a blank text, 0, or unused, `NO_SCORE`.
        "log_probabilities": tf.where(nothing, scores, values),
        "lengths": result.lengths,
        # The empty translation of a blank text is complete.
        "finished": result.finished | (nothing & (scores == 0.0)),
    }


def _by_token(translator, source, ids, alignment):
    """Tokens, log-probabilities and, if requested, the alignment.

    Args:
        translator: see `details`.
        source: result of `Translator.prepare`.
        ids: int32 `(B, K, T)`.
        alignment: see `details`.
    """
    ids = at_least_one_position(ids)

    def score(ids):
        scores = translator.score_ids(source.ids, ids)
        outputs = {"token_log_probabilities": scores.token_log_probabilities}
        if alignment:
            outputs["alignment"] = scores.attention
        return outputs

    names = [*_BY_TOKEN] if alignment else ["token_log_probabilities"]
    outputs = tf.map_fn(
        score,
        tf.transpose(ids, [1, 0, 2]),  # (K, B, T)
        # The logits of all hypotheses at once could fill the memory.
        parallel_iterations=1,
        fn_output_signature={name: _BY_TOKEN[name] for name in names},
    )
    outputs = {
        # (K, B, ...) to (B, K, ...)
        name: tf.transpose(value, [1, 0, *range(2, value.shape.rank)])
        for name, value in outputs.items()
    }
    tokens = token_strings(translator, translator.as_in_text(source, ids))
    return {"tokens": tokens, **outputs}


def token_strings(translator: Translator, ids: tf.Tensor) -> tf.Tensor:
    """The target tokens of ids of any shape, "" for PAD."""
    tokens = translator.target_tokenizer.tokens()
    return tf.gather(tf.constant(["", *tokens[1:]]), ids)


def detailed_translator(
    translator: Translator,
    num_hypotheses: int = 1,
    prefixed: bool = False,
    tokens: bool = False,
    alignment: bool = False,
    splitter: SentenceSplitter | None = None,
    masks: bool = True,
) -> Callable[[list], list[Translation]]:
    """A function from texts to their translations, by the graph of `details`.

    Args:
        translator, num_hypotheses, tokens, alignment: see `details`.
        prefixed: whether the function takes pairs of a text and a prefix;
            these texts aren't split.
        splitter: splits texts into sentences, see `Translator.splitter`;
            None: texts aren't split.
        masks: whether to replace markup by symbols, if the translator has
            any.
    """
    graph = details(translator, num_hypotheses, prefixed, tokens, alignment)

    def translate(lines):
        columns = list(zip(*lines, strict=True)) if prefixed else [lines]
        outputs = graph(*map(encoded, columns))
        outputs = {name: tensor.numpy() for name, tensor in outputs.items()}
        return [
            _translation(line, {name: v[i] for name, v in outputs.items()})
            for i, line in enumerate(columns[0])
        ]

    function = translate
    if splitter is not None and not prefixed:
        paragraphs = Paragraphs(splitter, translator.batch_size)

        def function(lines):
            return paragraphs.translate(lines, translate)

    placeholders = translator.placeholders
    if placeholders is None or not masks:
        return function
    return masking_markup(function, placeholders)


def markup_translator(
    translator: Translator,
    splitter: SentenceSplitter | None,
    num_hypotheses: int = 1,
    placeholders: tuple[str, ...] = (),
) -> Callable[[list[str]], list[Translation]]:
    """A function from texts to translations with their markup projected.

    Args:
        translator: one whose model has `align`.
        splitter: splits texts into sentences; None: texts aren't split.
        num_hypotheses: of each text.
        placeholders: regular expressions of further marks.
    """
    translate, align = (
        detailed_translator(
            translator,
            num_hypotheses,
            alignment=aligns,
            splitter=splitter,
            masks=False,
        )
        for aligns in (False, True)
    )
    return projecting_markup(translate, align, placeholders)


def _translation(source, outputs):
    """The result of one line, from its rows of the outputs of `details`."""
    length = int(outputs.get("source_lengths", 0))
    source_tokens = None
    if length:
        source_tokens = _decoded(outputs["source_tokens"][:length])
    return Translation(
        source,
        [
            _hypothesis(outputs, index, length)
            for index, score in enumerate(outputs["scores"])
            if score > NO_SCORE or index == 0
        ],
        bool(outputs["truncated"]),
        source_tokens,
    )


def _hypothesis(outputs, index, source_length):
    def rows(name):
        """Values of the tokens; None if they weren't requested."""
        if name in outputs:
            return outputs[name][index, : outputs["lengths"][index]]
        return None

    tokens, values = rows("tokens"), rows("token_log_probabilities")
    alignment = rows("alignment")
    return Hypothesis(
        outputs["translations"][index].decode("utf-8", "replace"),
        float(outputs["scores"][index]),
        float(outputs["log_probabilities"][index]),
        bool(outputs["finished"][index]),
        None if tokens is None else _decoded(tokens),
        None if values is None else values.tolist(),
        None if alignment is None else alignment[:, :source_length].tolist(),
    )


def _decoded(strings):
    return [string.decode() for string in strings]


def pair_scorer(
    translator: Translator,
    splitters: tuple[SentenceSplitter, SentenceSplitter] | None = None,
) -> Callable[[Sequence[tuple[str, str]]], list[ScoredPair]]:
    """A function from pairs of a text and a translation to their scores.

    If the translator has symbols, they replace the markup that both texts
    have; see `mask_pairs`.

    Args:
        translator: has the model.
        splitters: of texts and translations, see `Translator.pair_splitters`;
            None: texts aren't split.
    """
    function = score_details(translator)
    split = pair_splitter(splitters) if splitters else None
    placeholders = translator.placeholders

    def score_sentences(pairs):
        outputs = function(*map(encoded, zip(*pairs, strict=True)))
        outputs = {name: tensor.numpy() for name, tensor in outputs.items()}
        return [
            _scored(pair, {name: v[i] for name, v in outputs.items()})
            for i, pair in enumerate(pairs)
        ]

    def score(pairs):
        if not pairs:
            return []
        masked = pairs
        if placeholders is not None:
            masked = mask_pairs(pairs, placeholders)
        if split is None:
            results = score_sentences(masked)
        else:
            results = scored_pairs(
                masked, score_sentences, split, translator.batch_size
            )
        return [
            result._replace(source=source, target=target)
            for result, (source, target) in zip(results, pairs, strict=True)
        ]

    return score


def _scored(pair, outputs):
    length = int(outputs["lengths"])
    source, target = pair
    return ScoredPair(
        source,
        target,
        float(outputs["log_probability"]),
        float(outputs["score"]),
        length,
        bool(outputs["truncated"] | outputs["translation_truncated"]),
        _decoded(outputs["tokens"][:length]),
        outputs["token_log_probabilities"][:length].tolist(),
    )
