"""Text in, text out: the graphs that `translate` and the export share."""

import dataclasses
from typing import NamedTuple

import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.constants import END_ID, PAD_ID
from keras_transformer.decoding.hypotheses import (
    Normalization,
    SearchResult,
    score,
)
from keras_transformer.decoding.scoring import score_translations
from keras_transformer.decoding.search import banned_ids, demands, search
from keras_transformer.text.framing import frame

# The score of a row that holds no hypothesis: JSON has no infinity.
NO_SCORE = -1e9

_TEXT = tf.TensorSpec([None], tf.string, name="text")
_TRANSLATION = tf.TensorSpec([None], tf.string, name="translation")


class Source(NamedTuple):
    """Sentences as a search takes them.

    Attributes:
        ids: int32 `(B, S)`, framed by START and END, PAD after.
        lengths: int32 `(B,)`, tokens without START and END.
        truncated: bool `(B,)`, whether the sentence was longer than the
            model and lost its end.
    """

    ids: tf.Tensor
    lengths: tf.Tensor
    truncated: tf.Tensor


class Translator(tf.Module):
    """Translates and scores batches of strings in one graph.

    Holds the tokenizers, so that their files are exported with it; the model
    lives in closures. TensorFlow Serving can't load a module that has a Keras
    model as an attribute. Whoever exports the module tracks the variables of
    the traced functions.

    Args:
        source_tokenizer: `tokenize(strings (B,)) -> ragged int32 ids`.
        target_tokenizer: `tokenize`, `detokenize(ids (B, T)) -> strings
            (B,)` and `tokens()`.
        model: an `IncrementalTransformer`, or another `StepModel` with its
            `max_length` and, for `score`, `predict`.
        config: the search.

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
        source_tokenizer,
        target_tokenizer,
        model,
        config: DecodingConfig,
        name: str | None = None,
    ):
        super().__init__(name=name)
        self.source_tokenizer = source_tokenizer
        self.target_tokenizer = target_tokenizer
        self._max_length = model.max_length
        self._config = config
        self._banned = banned_ids(config, target_tokenizer)
        self._search = self._searcher(model)
        self._score = self._scorer(model)

    @property
    def translate(self):
        """The graph function for the best translation.

        `text` string `(B,)` -> `{"translation": string (B,), "score":
        float32 (B,)}`. The score is the log-probability divided by the
        length penalty. A blank text gives "" and 0.
        """
        return tf.function(self._translate, input_signature=[_TEXT])

    @property
    def nbest(self):
        """The graph function for the best `beam_size` translations.

        `text` string `(B,)` -> `{"translations": string (B, K), "scores":
        float32 (B, K)}`, the best first. A row that is left over has "" and
        `NO_SCORE`; a blank text gives "" and 0, then such rows.
        """
        return tf.function(self._nbest, input_signature=[_TEXT])

    @property
    def score(self):
        """The graph function for the score of a given translation.

        `text` string `(B,)` and `translation` string `(B,)` ->
        `{"log_probability": float32 (B,), "score": float32 (B,), "tokens":
        int32 (B,)}`: the natural logarithm of the probability that the model
        gives to the translation, END included; the same as `translate`
        scores it; and the number of tokens.
        """
        return tf.function(self._score, input_signature=[_TEXT, _TRANSLATION])

    def prepare(self, text) -> Source:
        """Tokenizes; what exceeds the model's length is cut off."""
        ids = self.source_tokenizer.tokenize(text)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        most = self._max_length - 2
        return Source(
            ids=frame(ids[:, :most]).to_tensor(PAD_ID),
            lengths=tf.minimum(lengths, most),
            truncated=lengths > most,
        )

    def search(
        self, source: Source, num_hypotheses=None, prefixes=(), steps=None
    ) -> SearchResult:
        """Searches from ids to ids.

        Args:
            source: what `prepare` made.
            num_hypotheses: rows to return; None: all.
            prefixes: int32 `(B, P)`, what the outputs begin with, PAD after.
            steps: for XLA, the steps to make room for; else None.
        """
        return self._search(source, num_hypotheses, prefixes, steps)

    def _searcher(self, model):
        def run(source, num_hypotheses, prefixes, steps):
            sentences = demands(
                source.ids,
                source.lengths,
                self._config,
                self._max_length,
                prefixes,
            )
            return search(
                model,
                source.ids,
                sentences,
                self._config,
                self._banned,
                num_hypotheses,
                steps,
            )

        return run

    def _translate(self, text):
        # A blank line has limit 0: no token, hence "" and score 0.
        result = self.search(self.prepare(text), num_hypotheses=1)
        return {
            "translation": self.target_tokenizer.detokenize(result.ids[:, 0]),
            "score": tf.where(
                result.lengths[:, 0] > 0, result.scores[:, 0], 0.0
            ),
        }

    def _nbest(self, text):
        result = self.search(self.prepare(text))
        shape = tf.shape(result.scores)
        flat = tf.reshape(result.ids, [shape[0] * shape[1], -1])
        texts = self.target_tokenizer.detokenize(flat)
        scores = tf.maximum(result.scores, NO_SCORE)
        blank = (result.lengths == 0) & (tf.range(shape[1]) == 0)
        return {
            "translations": tf.reshape(texts, shape),
            "scores": tf.where(blank, 0.0, scores),
        }

    def _scorer(self, model):
        normalization = Normalization(
            self._config.length_normalization, self._config.length_penalty
        )

        def run(text, translation):
            source = self.prepare(text)
            scores = score_translations(
                model, source.ids, self.target_ids(translation)
            )
            return {
                "log_probability": scores.log_probabilities,
                "score": score(
                    scores.log_probabilities, scores.lengths, normalization
                ),
                "tokens": scores.lengths,
            }

        return run

    def target_ids(self, translation):
        """A given translation as ids with END, int32 `(B, T)`, PAD after.

        What exceeds the model's length is cut off.
        """
        ids = self.target_tokenizer.tokenize(translation)
        ids = ids[:, : self._max_length - 1]
        end = tf.fill([ids.nrows(), 1], END_ID)
        ids = tf.concat([ids, end], axis=1).to_tensor(PAD_ID)
        # No translation at all still has one position.
        missing = tf.maximum(1 - tf.shape(ids)[1], 0)
        return tf.pad(ids, [[0, 0], [0, missing]], constant_values=PAD_ID)


def greedy(config: DecodingConfig) -> DecodingConfig:
    """The same search with a beam of 1."""
    return dataclasses.replace(config, beam_size=1)
