"""Text-to-text translation, in the graph.

Exports contain `translate`, `nbest` and `score`; the commands and `load` use
`details`, whose graph is built from the same steps. For strings, see `load`.

Axes: B sentences, K hypotheses, R = B * K rows, S source tokens, T output
tokens.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import keras
import tensorflow as tf

from keras_transformer.compat import graph_function
from keras_transformer.config.data import DataConfig
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.constants import END_ID, NO_SCORE, PAD_ID
from keras_transformer.errors import InputError
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.search.beam_hypotheses import EMPTY, gather_beams
from keras_transformer.search.from_config import (
    banned_ids,
    search,
    sentence_constraints,
)
from keras_transformer.search.loop import SearchResult
from keras_transformer.search.scoring import (
    LengthPenalty,
    Scores,
    one_each,
    replacements,
    score_translations,
)
from keras_transformer.search.shortlist import (
    Lexicon,
    LexiconTable,
    shortlisted_search,
)
from keras_transformer.search.structure import from_one, renumbered
from keras_transformer.text.sentences import SentenceSplitter
from keras_transformer.text.tokenizer import Tokenizer, frame
from keras_transformer.training.run import Run
from keras_transformer.translation.ensemble import Ensemble
from keras_transformer.translation.paragraphs import (
    pair_splitters_of,
    splitter_of,
)

# Hypotheses kept per sentence to find distinct texts, in beam sizes.
_KEPT = 4

_TEXT = tf.TensorSpec([None], tf.string, name="text")
_TRANSLATION = tf.TensorSpec([None], tf.string, name="translation")


def with_prefix(
    source_tokenizer: Tokenizer, config: DecodingConfig
) -> Tokenizer:
    """The source tokenizer, with `decoding.source_prefix` if that is set.

    Raises:
        InputError: the tokenizer has no such language code.
    """
    if config.source_prefix:
        return source_tokenizer.with_prefix(config.source_prefix)
    return source_tokenizer


class Source(NamedTuple):
    """Tokenized sentences, the input of a search.

    Attributes:
        ids: int32 `(B, S)`, framed by START and END, PAD after.
        lengths: int32 `(B,)`, tokens without START and END.
        truncated: bool `(B,)`, whether the sentence was too long for the
            model and was cut.
        shift: int32 `(B,)`, how much lower the symbols' numbers are than in
            the text; see `from_one`.
    """

    ids: tf.Tensor
    lengths: tf.Tensor
    truncated: tf.Tensor
    shift: tf.Tensor


class Translator(tf.Module):
    """Translates and scores batches of strings in one graph.

    Holds the tokenizers, so that their files are exported with it. The model
    is only in closures, as TensorFlow Serving can't load a module that has a
    Keras model as an attribute; the exporter has to track the variables of
    the traced functions itself.

    Args:
        source_tokenizer: a `Tokenizer`.
        target_tokenizer: a `Tokenizer`.
        model: an `IncrementalTransformer` or an `Ensemble`. It needs `align`
            for `config.replace_unknown`.
        config: the search.
        lexicon: shortlists the tokens that each sentence can use, for a model
            with `partial_output`; None: no shortlist.
        placeholders: regular expressions of marks in addition to those of
            `find_marks`, if the tokenizers have symbols.

    Attributes:
        score_ids: function from ids of sources `(R, S)` and translations
            `(R, T)` to `Scores`.

    Example:
        >>> translator = Translator(
        ...     run.source_tokenizer,
        ...     run.target_tokenizer,
        ...     IncrementalTransformer(run.load_model()),
        ...     run.config.decoding,
        ... )
        >>> translator.translate(tf.constant(["Good morning."]))
    """

    def __init__(
        self,
        source_tokenizer: Tokenizer,
        target_tokenizer: Tokenizer,
        model: IncrementalTransformer | Ensemble,
        config: DecodingConfig,
        lexicon: LexiconTable | None = None,
        placeholders: tuple[str, ...] = (),
        name: str | None = None,
    ) -> None:
        super().__init__(name=name)
        self.source_tokenizer = with_prefix(source_tokenizer, config)
        self.target_tokenizer = target_tokenizer
        self._first_id = target_tokenizer.first_id()
        self._max_length = model.max_length
        self._config = config
        self._banned = banned_ids(config, target_tokenizer)
        self._search = functools.partial(search, model)
        if lexicon is not None:
            # Ensembles have no shortlist, see `step_model`.
            one = cast(IncrementalTransformer, model)
            self._search = functools.partial(shortlisted_search, one, lexicon)
        self.score_ids = functools.partial(score_translations, model)
        # The search can keep symbols only if both vocabularies have them.
        firsts = (
            self.source_tokenizer.first_symbol,
            target_tokenizer.first_symbol,
        )
        self._first_symbols = (None, None) if None in firsts else firsts
        self._placeholders = placeholders

    def __repr__(self) -> str:
        return f"Translator({self.source_tokenizer} to {self.target_tokenizer})"

    @classmethod
    def from_run(
        cls,
        run: Run,
        model: keras.Model,
        decoding: DecodingConfig,
        align: bool = False,
        limits: dict | None = None,
        others: Sequence[keras.Model] = (),
        lexicon: Lexicon | None = None,
        placeholders: tuple[str, ...] = (),
    ) -> Translator:
        """The translator of a run's model.

        Args:
            run: has the tokenizers.
            model: its `keras.Model`, such as `run.load_model()`.
            decoding: the search.
            align: whether alignments are requested;
                `decoding.replace_unknown` implies it.
            limits: see `IncrementalTransformer`.
            others: further models of an `Ensemble` with `model`.
            lexicon: of arrays, for a shortlist with a single model; None: no
                shortlist.
            placeholders: in addition to those of the run's data.
        """
        align = align or decoding.replace_unknown
        models = [model, *others]
        steps = step_model(
            models, decoding.precision, align, limits, lexicon is not None
        )
        target = run.target_tokenizer
        table = LexiconTable.of(lexicon, target, decoding)
        return cls(
            run.source_tokenizer,
            target,
            steps,
            decoding,
            table,
            (*placeholders, *run.config.data.markup_patterns),
        )

    @property
    def placeholders(self) -> tuple[str, ...] | None:
        """Regular expressions for `MaskedLines`; None without symbols."""
        return None if None in self._first_symbols else self._placeholders

    @property
    def batch_size(self) -> int:
        """Sentences translated together."""
        return self._config.batch_size

    def splitter(self, data: DataConfig) -> SentenceSplitter | None:
        """The splitter of source texts; None if texts are kept whole."""
        if self._config.sentences == "keep":
            return None
        return splitter_of(data, self.source_tokenizer, self._max_length)

    def pair_splitters(
        self, data: DataConfig
    ) -> tuple[SentenceSplitter, SentenceSplitter] | None:
        """The splitters of texts and their translations; see `splitter`."""
        if self._config.sentences == "keep":
            return None
        return pair_splitters_of(
            data, self.source_tokenizer, self.target_tokenizer, self._max_length
        )

    @functools.cached_property
    def translate(self) -> Callable[[tf.Tensor], dict]:
        """The graph function for the best translation.

        `text` string `(B,)` -> `{"translation": string (B,), "score":
        float32 (B,), "truncated": bool (B,)}`. The score is the
        log-probability divided by the length penalty, in beam search
        including the repetition penalty; `truncated` is True if the text was
        too long for the model and was cut, or its translation reached its
        limit. A blank text gives "" and 0.
        """
        # Not inlined: texts of one sentence and of several share this graph,
        # which TensorFlow would otherwise optimize twice.
        return graph_function(self._translate, [_TEXT], inline=False)

    @functools.cached_property
    def nbest(self) -> Callable[[tf.Tensor], dict]:
        """The graph function for the best `beam_size` translations.

        No two of them are the same text; see `best`.

        `text` string `(B,)` -> `{"translations": string (B, K), "scores":
        float32 (B, K), "truncated": bool (B,)}`, the best first. Unused rows
        have "" and `NO_SCORE`; a blank text gives "" and 0, then unused rows.
        """
        return graph_function(self._nbest, [_TEXT], inline=False)

    @functools.cached_property
    def score(self) -> Callable[[tf.Tensor, tf.Tensor], dict]:
        """The graph function for the score of a given translation.

        `text` string `(B,)` and `translation` string `(B,)` ->
        `{"log_probability": float32 (B,), "score": float32 (B,), "tokens":
        int32 (B,), "truncated": bool (B,), "translation_truncated": bool
        (B,)}`: the natural logarithm of the probability that the model gives
        to the translation, END included; the same normalised by length as in
        `translate`, without the repetition penalty; the number of tokens; and
        which of the two was cut. Raises an `InvalidArgumentError` if the
        numbers of texts and translations differ, as a single one would
        otherwise be broadcast.
        """
        return graph_function(self._score, [_TEXT, _TRANSLATION], inline=False)

    def prepare(self, text: tf.Tensor) -> Source:
        """Tokenizes texts and cuts them at the model's length.

        Args:
            text: string `(B,)`.
        """
        ids = self.source_tokenizer.tokenize(text)  # (B, ragged)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        most = self._max_length - 2  # without START and END
        framed = frame(ids[:, :most]).to_tensor(PAD_ID)  # (B, S)
        framed, shift = from_one(framed, self._first_symbols[0])
        return Source(
            ids=framed,
            lengths=tf.minimum(lengths, most),
            truncated=lengths > most,
            shift=shift,
        )

    def as_searched(self, source: Source, ids: tf.Tensor) -> tf.Tensor:
        """Translation ids, their symbols numbered as in `source.ids`.

        Args:
            source: result of `prepare`.
            ids: int32 `(B, T)`, with the numbers of the text.
        """
        return renumbered(ids, self._first_symbols[1], -source.shift)

    def as_in_text(self, source: Source, ids: tf.Tensor) -> tf.Tensor:
        """Ids of a search, their symbols numbered as in the text.

        Args:
            source: result of `prepare`.
            ids: int32 `(B, T)` or `(B, K, T)`.
        """
        return renumbered(ids, self._first_symbols[1], source.shift)

    def surface(self, text: tf.Tensor) -> tf.Tensor:
        """The source tokens as they are written in the text.

        Args:
            text: string `(B,)`.

        Returns:
            string `(B, S)`, one for each id of `prepare`; "" for START, END
            and PAD.
        """
        surface = self.source_tokenizer.surface(text)  # (B, ragged)
        surface = surface[:, : self._max_length - 2]
        edge = tf.fill([surface.nrows(), 1], "")
        return tf.concat([edge, surface, edge], axis=1).to_tensor("")

    def texts(
        self,
        text: tf.Tensor,
        source: Source,
        ids: tf.Tensor,
        prefix: tf.Tensor | None = None,
    ) -> tf.Tensor:
        """Detokenizes ids, replacing unknown words if so configured.

        Args:
            text: string `(B,)`, the argument of `prepare`.
            source: result of `prepare`.
            ids: int32 `(B, K, T)`, as in a `SearchResult`.
            prefix: string `(B,)`, the text that the ids begin with, which is
                used as it is written.

        Returns:
            string `(B, K)`.
        """
        shape = tf.shape(ids)
        flat = tf.reshape(
            self.as_in_text(source, ids), [shape[0] * shape[1], shape[2]]
        )  # (R, T)
        instead = None
        if self._config.replace_unknown:
            instead = replacements(
                self.score_ids, source.ids, self.surface(text), ids
            )
        if prefix is not None:
            words = self.target_tokenizer.surface(prefix)  # (B, ragged)
            words = words.to_tensor("", shape=tf.stack([-1, shape[2]]))
            words = tf.repeat(words, shape[1], axis=0)  # (R, T)
            others = "" if instead is None else instead
            instead = tf.where(words == "", others, words)
        texts = self.target_tokenizer.detokenize(flat, instead)
        return tf.reshape(texts, shape[:2])  # (B, K)

    def search(
        self,
        source: Source,
        num_hypotheses: int | None = None,
        prefixes: tf.Tensor | tuple[()] = (),
        kept: int | None = None,
    ) -> SearchResult:
        """Searches from ids to ids.

        Args:
            source: result of `prepare`.
            num_hypotheses: rows to return; None: all.
            prefixes: int32 `(B, P)`, first tokens of the outputs, PAD after.
            kept: rows to return instead of `num_hypotheses`, see
                `beam_search`.
        """
        if self._first_id is not None:
            prefixes = self._with_first(prefixes, tf.shape(source.ids)[0])
        constraints = sentence_constraints(
            source.ids,
            source.lengths,
            self._config,
            self._max_length,
            prefixes,
            self._first_symbols[0],
        )
        return self._search(
            source.ids,
            constraints,
            self._config,
            self._banned,
            num_hypotheses,
            kept,
            self._first_symbols[1],
        )

    def best(
        self,
        text: tf.Tensor,
        source: Source,
        count: int | None = None,
        prefix: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, SearchResult]:
        """The best translations of each sentence, all of different text.

        Args:
            text: string `(B,)`, the argument of `prepare`.
            source: result of `prepare`.
            count: K, at most the beam size, the default.
            prefix: string `(B,)`, what the translations begin with.

        Returns:
            string `(B, K)`, and their `SearchResult`. Unused rows have "",
            length 0 and score minus infinity.
        """
        prefixes: Any = ()
        if prefix is not None:
            prefixes = self.as_searched(
                source, self.target_ids(prefix, end=False)
            )
        kept = None
        if count != 1 and self.target_tokenizer.has_variants:
            # The steps of a whole beam, and further hypotheses that ended.
            kept = _KEPT * self._config.beam_size
        searched = None if kept else count
        result = self.search(source, searched, prefixes, kept)
        texts = self.texts(text, source, result.ids, prefix)  # (B, R)
        if count == 1:
            return texts, result
        return distinct(texts, result, count or self._config.beam_size)

    def _with_first(self, prefixes, batch_size):
        """Prefixes that begin with the target's language code.

        Args:
            prefixes: int32 `(B, P)`, or ().
            batch_size: int32 scalar, B.
        """
        first = tf.fill([batch_size, 1], self._first_id)
        if isinstance(prefixes, tuple):
            return first
        # The tokenizer puts no language code before an empty text.
        rest = tf.where(prefixes[:, :1] == PAD_ID, first, prefixes[:, :1])
        return tf.concat([rest, prefixes[:, 1:]], axis=1)  # (B, P)

    def _translate(self, text):
        # A blank line has limit 0, so no token, "" and score 0.
        source = self.prepare(text)
        texts, result = self.best(text, source, 1)
        return {
            "translation": texts[:, 0],
            "score": scores_of(result)[:, 0],
            "truncated": loses_end(source, result),
        }

    def _nbest(self, text):
        source = self.prepare(text)
        texts, result = self.best(text, source)
        return {
            "translations": texts,
            "scores": scores_of(result),
            "truncated": loses_end(source, result),
        }

    def _score(self, text, translation):
        return self.scored(text, translation)[0]

    def scored(
        self, text: tf.Tensor, translation: tf.Tensor
    ) -> tuple[dict, tf.Tensor, Scores]:
        """The outputs of `score`, the translation's ids and their scores."""
        text, translation = one_each(text, translation)
        source, ids = self.prepare(text), self.target_ids(translation)
        scores = self.score_ids(source.ids, self.as_searched(source, ids))
        # The repetition penalty only applies to a search.
        penalty = LengthPenalty(
            self._config.length_normalization, self._config.length_penalty
        )
        whole = self.target_tokenizer.tokenize(translation).row_lengths()
        outputs = {
            "log_probability": scores.log_probabilities,
            "score": scores.log_probabilities / penalty.of(scores.lengths),
            "tokens": scores.lengths,
            "truncated": source.truncated,
            "translation_truncated": whole > self._max_length - 1,
        }
        return outputs, ids, scores

    def target_ids(self, translation: tf.Tensor, end: bool = True) -> tf.Tensor:
        """A given translation as ids, int32 `(B, T)`, PAD after.

        Cut at the model's length.

        Args:
            translation: string `(B,)`.
            end: whether to append END; not for a prefix.
        """
        ids = self.target_tokenizer.tokenize(translation)
        ids = ids[:, : self._max_length - 1]
        if end:
            ends = tf.fill([ids.nrows(), 1], END_ID)
            ids = tf.concat([ids, ends], axis=1)
        return at_least_one_position(ids.to_tensor(PAD_ID))


def step_model(
    models: Sequence[keras.Model],
    precision: str,
    align: bool = False,
    limits: dict | None = None,
    partial_output: bool = False,
) -> IncrementalTransformer | Ensemble:
    """The `StepModel` of one trained model or of an ensemble.

    Args:
        models: one or more, with the same source and target tokens.
        precision: `dtype` of `IncrementalTransformer`, as the following.
        align: whether predictions come with attention to the source.
        limits: for int8, of a single model.
        partial_output: whether a shortlist is used, with a single model.

    Raises:
        InputError: a shortlist with several models.
    """
    if partial_output and len(models) > 1:
        raise InputError(
            "a shortlist is for one run. Received: an ensemble of "
            f"{len(models)}"
        )
    members = [
        IncrementalTransformer(
            model,
            precision,
            align=align,
            limits=limits,
            partial_output=partial_output,
        )
        for model in models
    ]
    return members[0] if len(members) == 1 else Ensemble(members)


def at_least_one_position(ids: tf.Tensor) -> tf.Tensor:
    """Ids `(..., T)`, or one PAD if T is 0: a model needs a position."""
    missing = tf.maximum(1 - tf.shape(ids)[-1], 0)
    padding = [[0, 0]] * (ids.shape.rank - 1) + [[0, missing]]
    return tf.pad(ids, padding, constant_values=PAD_ID)


def scores_of(result: SearchResult) -> tf.Tensor:
    """The scores of a result as returned to callers, float32 `(B, K)`.

    0 for a blank text, `NO_SCORE` in unused rows.
    """
    indices = tf.range(tf.shape(result.lengths)[1])
    blank = (result.lengths == 0) & (indices == 0)
    return tf.where(blank, 0.0, tf.maximum(result.scores, NO_SCORE))


def loses_end(source: Source, result: SearchResult) -> tf.Tensor:
    """True where a text or its best translation was cut, bool `(B,)`.

    Unfinished hypotheses come last, so if the best one reached its limit, none
    ended.
    """
    reached_limit = ~result.finished[:, 0] & (result.lengths[:, 0] > 0)  # (B,)
    return source.truncated | reached_limit


def distinct(
    texts: tf.Tensor, result: SearchResult, count: int
) -> tuple[tf.Tensor, SearchResult]:
    """The first `count` rows of different texts, then unused rows.

    Args:
        texts: string `(B, R)`, the texts of the rows of `result`.
        result: R rows a sentence, the best first.
        count: K, the rows to return, or R if that is fewer.
    """
    rows = tf.shape(texts)[1]
    same = texts[:, :, tf.newaxis] == texts[:, tf.newaxis]  # (B, R, R)
    earlier = tf.range(rows) < tf.range(rows)[:, tf.newaxis]  # (R, R)
    repeats = tf.reduce_any(same & earlier, axis=2)  # (B, R)
    is_kept = (result.scores > EMPTY) & ~repeats  # (B, R)
    # `top_k` keeps the order of equal values.
    _, order = tf.math.top_k(
        tf.cast(is_kept, tf.int32), tf.minimum(count, rows)
    )  # (B, K)
    texts, is_kept, result = gather_beams((texts, is_kept, result), order)
    return tf.where(is_kept, texts, ""), SearchResult(
        ids=tf.where(is_kept[..., tf.newaxis], result.ids, PAD_ID),
        lengths=tf.where(is_kept, result.lengths, 0),
        scores=tf.where(is_kept, result.scores, EMPTY),
        log_probabilities=tf.where(is_kept, result.log_probabilities, EMPTY),
        finished=result.finished & is_kept,
    )


def greedy(config: DecodingConfig) -> DecodingConfig:
    """The same search with a beam of 1 and without sampling."""
    return dataclasses.replace(
        config, beam_size=1, temperature=0.0, top_k=0, top_p=1.0
    )
