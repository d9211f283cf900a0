"""Translation with a CTranslate2 export in Python, with the run's tokenizers.

Needs the extra `[ctranslate2]`. CTranslate2 runs the search, from tokens to
tokens. The run's tokenizers, of any kind, convert between text and tokens;
they need TensorFlow and TF Text, which are imported when the first model is
loaded.
"""

from __future__ import annotations

import copy
import dataclasses
import os
import pathlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from keras_transformer.compat import graph_function
from keras_transformer.config.data import DataConfig
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.constants import NO_SCORE, PAD_ID, SIDES, UNK_ID
from keras_transformer.errors import InputError
from keras_transformer.exporting.ctranslate2_folder import (
    ACCEPTED,
    EXPORT_AGAIN,
    read_config,
    read_description,
    require_ctranslate2,
    require_search,
)
from keras_transformer.system.checksums import check_file, files_fingerprint
from keras_transformer.translation.request import (
    KEEP,
    Translation,
    TranslationRequest,
    translations_of,
)
from keras_transformer.translation.texts import TextTranslator, check_n_best

_SCORED_TOKENS = 2048  # source tokens in a batch, padding included


class Hypotheses(NamedTuple):
    """Hypotheses of each of B texts, the best first.

    Attributes:
        ids: B lists of lists of target ids, without START and END.
        scores: B lists of floats, one for each hypothesis: log-probabilities
            divided by the length penalty. The probability of banned tokens is
            distributed among the others, as CTranslate2 masks the logits
            before its softmax.
        truncated: B booleans: True if the text was too long for the model, or
            its best translation reached the length limit.
        shifts: B integers, see `structure.from_one`.
    """

    ids: list[list[list[int]]]
    scores: list[list[float]]
    truncated: list[bool]
    shifts: list[int]


class CTranslate2Translator(TextTranslator):
    """Translates with a CTranslate2 export on the CPU.

    Args:
        folder: the folder that `export --format ctranslate2` wrote.
        decoding: the search; None: the exported one.
        threads: number of threads for one batch.
        workers: batches translated in parallel when several threads call;
            further calls wait.
        placeholders: regular expressions of markup, in addition to those of
            the data that the model was trained on.

    Attributes:
        description: the export's description, a dict.
        config: the run's `Config`.
        decoding: the search.
        source_tokenizer: a `Tokenizer` that adds the search's prefix.
        target_tokenizer: a `Tokenizer`.
        split_pairs: see `paragraphs.pair_splitter`; None: nothing is split.

    Raises:
        InputError: CTranslate2 isn't installed or doesn't support the search,
            or the folder isn't a CTranslate2 export or is damaged.

    Example:
        >>> translator = CTranslate2Translator("ctranslate2_models/en-zh")
        >>> translator.translate(["Good morning."])
        ['早上好。']
    """

    def __init__(
        self,
        folder: str | os.PathLike,
        decoding: DecodingConfig | None = None,
        threads: int = 1,
        workers: int = 1,
        placeholders: tuple[str, ...] = (),
    ) -> None:
        self._folder = folder = pathlib.Path(folder)
        self.description = read_description(folder)
        require_ctranslate2()
        for file in self.description["files"]:
            check_file(folder / file["name"], file, EXPORT_AGAIN, content=True)
        self.config = read_config(folder)
        data = self.config.data
        if data.symbols:
            self.placeholders = (*placeholders, *data.markup_patterns)
        self._max_length = self.config.model.max_length
        self._load_tokenizers(folder)
        self._set_search(decoding or self.config.decoding)
        import ctranslate2

        try:
            self._model = ctranslate2.Translator(
                str(folder),
                device="cpu",
                inter_threads=workers,
                intra_threads=threads,
            )
        # CTranslate2 raises a different error for each kind of damage.
        except Exception as error:
            reason = (str(error).strip() or type(error).__name__).splitlines()
            raise InputError(
                f"{folder}: CTranslate2 can't load it ({reason[0]}). {ACCEPTED}"
            ) from error

    def __repr__(self) -> str:
        return f"CTranslate2Translator({str(self._folder)!r})"

    def with_search(self, decoding: DecodingConfig) -> CTranslate2Translator:
        """Returns a translator with another search that shares the model.

        Raises:
            InputError: CTranslate2 doesn't support the search.
        """
        other = copy.copy(self)
        other._set_search(decoding)
        return other

    @property
    def batch_size(self) -> int:
        """Texts translated together."""
        return self.decoding.batch_size

    def data(self) -> DataConfig:
        """See `TextTranslator.data`."""
        return self.config.data

    def close(self) -> None:
        """Frees the weights, also for all translators that share them."""
        self._model.unload_model()

    def answer(
        self, texts: Sequence[str], count: int = 1
    ) -> tuple[list[list[str]], list[list[float]], list[bool]]:
        """Returns the best translations of each text, without splitting it.

        Args:
            texts: B sentences.
            count: K, at most the beam size.

        Returns:
            B lists of K translations, the best first; their scores; and for
            each text whether it was truncated. Where there are fewer than K
            translations, as of a text without tokens, lists are padded with
            "" and `NO_SCORE`.
        """
        # The whole beam, as several hypotheses may detokenize to one text.
        searched = 1 if count == 1 else self.decoding.beam_size
        ids, scores, truncated, shifts = self.search(texts, searched)
        spelt = iter(self._spell(ids, shifts))
        translations = []
        for row in scores:
            best: dict = {}  # scores by text
            for score in row:
                best.setdefault(next(spelt), score)
            left = [("", NO_SCORE)] * count
            translations.append([*best.items(), *left][:count])
        return (
            [[text for text, _ in row] for row in translations],
            [[score for _, score in row] for row in translations],
            truncated,
        )

    def plain_results(
        self, texts: Sequence[str], n_best: int | None = None
    ) -> list[Translation]:
        """See `TextTranslator.plain_results`."""
        check_n_best(n_best, self.decoding)
        count = n_best or 1

        def translate(sentences):
            found = self.answer(sentences, count)
            return translations_of(sentences, *found, count)

        if self._paragraphs is None:
            return translate(texts)
        return self._paragraphs.translate(list(texts), translate)

    def search(self, texts: Sequence[str], count: int = 1) -> Hypotheses:
        """As `answer`, but returns ids; [] for a text without tokens."""
        sources, limits, truncated, shifts = self._sources(texts)
        results: dict = {i: [([], 0.0)] for i in range(len(texts))}
        rows = [i for i, source in enumerate(sources) if source]
        results |= self._search(rows, sources, max(limits, default=0), count)
        # A CTranslate2 call has one length limit for all sentences, so those
        # that exceeded their own limit are searched again.
        beyond: dict = {}
        for i in rows:
            longest = max(len(ids) for ids, _ in results[i])
            if longest >= limits[i] < max(limits):
                beyond.setdefault(limits[i], []).append(i)
        for limit, again in beyond.items():
            results |= self._search(again, sources, limit, count)
        found = [results[i] for i in range(len(texts))]
        # END counts towards the limit, so `limit` other tokens leave no room
        # for it.
        reached = [
            len(row[0][0]) >= limit > 0
            for row, limit in zip(found, limits, strict=True)
        ]
        return Hypotheses(
            [[ids for ids, _ in row] for row in found],
            [[score for _, score in row] for row in found],
            [a or b for a, b in zip(truncated, reached, strict=True)],
            shifts,
        )

    def token_log_probabilities(
        self, texts: Sequence[str], targets: Sequence[Sequence[int]]
    ) -> list[list[float]]:
        """Log-probabilities of the tokens of given translations.

        Args:
            texts: B sentences.
            targets: B lists of ids, without START and END.

        Returns:
            B lists of natural logarithms, one for each id and one for END.
        """
        sources, _, _, shifts = self._sources(texts)
        targets = self._renumbered(targets, [-shift for shift in shifts])
        tokens = [[self._target_tokens[i] for i in ids] for ids in targets]
        # The logits of 64 paragraphs take gigabytes.
        results = self._model.score_batch(
            sources,
            tokens,
            max_batch_size=_SCORED_TOKENS,
            batch_type="tokens",
            max_input_length=0,
        )
        return [list(result.log_probs) for result in results]

    def target_ids(self, translations: Sequence[str]) -> list[list[int]]:
        """Returns ids of translations, truncated to the model's length."""
        ids = self.target_tokenizer.tokenize(
            _strings(translations)
        )  # (B, ragged)
        return ids[:, : self._max_length - 1].to_list()

    def _load_tokenizers(self, folder):
        from keras_transformer.text.tokenizer import load_tokenizer

        described: Any = self.description.get("tokenizers")
        tokenizers = []
        for side in SIDES:
            path = folder / f"{side}_tokenizer"
            tokenizers.append(load_tokenizer(path))
            try:
                fingerprint = described[side]["fingerprint"]
            except (TypeError, KeyError):
                raise InputError(
                    f"{folder}: damaged, no fingerprint of {path.name}"
                ) from None
            # Another model's tokenizer would give the ids other meanings.
            if tokenizers[-1].fingerprint() != fingerprint:
                raise InputError(f"{path}: not the tokenizer of this model")
        self._source, self.target_tokenizer = tokenizers
        self._source_tokens = self._source.tokens()
        self._target_tokens = self.target_tokenizer.tokens()
        self._target_ids = {t: i for i, t in enumerate(self._target_tokens)}

    def _set_search(self, decoding):
        import tensorflow as tf

        from keras_transformer.search.constraints import max_output_lengths
        from keras_transformer.search.from_config import banned_ids
        from keras_transformer.search.structure import from_one
        from keras_transformer.translation.paragraphs import (
            Paragraphs,
            pair_splitter,
            pair_splitters_of,
        )
        from keras_transformer.translation.translator import with_prefix

        require_search(decoding)
        self.decoding = decoding
        banned = banned_ids(decoding, self.target_tokenizer)
        others = [[self._target_tokens[i]] for i in banned if i != UNK_ID]
        self._options = {
            "beam_size": decoding.beam_size,
            # The search stops after this number of finished hypotheses, as a
            # multiple of the beam size. Ours continues until no hypothesis can
            # win, for which 2 is nearly always enough.
            "patience": 1 if decoding.early_stopping else 2,
            "length_penalty": decoding.length_penalty,
            "no_repeat_ngram_size": decoding.no_repeat_ngram_size,
            "disable_unk": UNK_ID in banned,
            "suppress_sequences": others or None,
        }
        source = with_prefix(self._source, decoding)
        self.source_tokenizer = source
        most = self._max_length - 2  # without START and END
        # Either both vocabularies have symbols or neither has.
        first = source.first_symbol

        def prepare(text):
            ids = source.tokenize(text)  # (B, ragged)
            lengths = tf.cast(ids.row_lengths(), tf.int32)
            kept = tf.minimum(lengths, most)
            limits = max_output_lengths(kept, decoding, most + 2)
            seen, shift = from_one(ids[:, :most].to_tensor(PAD_ID), first)
            # (B, S), (B,), (B,), (B,), (B,)
            return seen, kept, limits, lengths > most, shift

        text = tf.TensorSpec([None], tf.string)
        self._prepare = graph_function(prepare, [text])
        self._paragraphs = self.split_pairs = None
        if decoding.sentences == "split":
            splitters = pair_splitters_of(
                self.config.data,
                source,
                self.target_tokenizer,
                self._max_length,
            )
            self._paragraphs = Paragraphs(splitters[0], decoding.batch_size)
            self.split_pairs = pair_splitter(splitters)

    def _sources(self, texts):
        """Returns tokens, output limits, truncated flags and symbol shifts."""
        ids, lengths, limits, truncated, shifts = (
            tensor.numpy() for tensor in self._prepare(_strings(texts))
        )
        sources = [
            [self._source_tokens[i] for i in row[:length]]
            for row, length in zip(ids, lengths, strict=True)
        ]
        return sources, limits.tolist(), truncated.tolist(), shifts.tolist()

    def _search(self, rows, sources, limit, count):
        """`{row: [(ids, score), ...]}`, the best first."""
        if not rows:
            return {}
        results = self._model.translate_batch(
            [sources[row] for row in rows],
            max_decoding_length=limit,
            # CTranslate2 refuses a minimum above the maximum.
            min_decoding_length=min(self.decoding.min_length, limit),
            max_input_length=0,
            num_hypotheses=min(count, self.decoding.beam_size),
            return_scores=True,
            **self._options,
        )
        return {
            row: [
                ([self._target_ids[token] for token in tokens], score)
                for tokens, score in zip(
                    result.hypotheses, result.scores, strict=True
                )
            ]
            for row, result in zip(rows, results, strict=True)
        }

    def _renumbered(self, rows, shifts):
        """Returns lists of target ids with the numbers of symbols shifted."""
        import tensorflow as tf

        from keras_transformer.search.structure import renumbered

        ids = tf.ragged.constant(rows, tf.int32, ragged_rank=1)
        first = self.target_tokenizer.first_symbol
        moved = renumbered(
            ids.to_tensor(), first, tf.constant(shifts, tf.int32)
        )
        return tf.RaggedTensor.from_tensor(moved, ids.row_lengths()).to_list()

    def _spell(self, hypotheses, shifts):
        """Returns the texts of all hypotheses as one flat list."""
        import tensorflow as tf

        rows = self._renumbered(
            [row for rows in hypotheses for row in rows],
            [
                s
                for s, rows in zip(shifts, hypotheses, strict=True)
                for _ in rows
            ],
        )
        ids = tf.ragged.constant(rows, tf.int32, ragged_rank=1)
        texts = self.target_tokenizer.detokenize(ids).numpy()
        return [text.decode("utf-8", "replace") for text in texts]


def _strings(texts):
    """See `encoded`; TensorFlow is imported only here."""
    from keras_transformer.text.tokenizer import encoded

    return encoded(texts)


@dataclasses.dataclass(frozen=True)
class CTranslate2TranslatorFactory:
    """Creates a translator from an export; see `translation.workers`.

    Attributes:
        folder: the export's folder.
        decoding: the search.
        request: the outputs requested for each line; CTranslate2 can't
            project markup.
        threads: number of threads for one batch.
    """

    folder: str
    decoding: DecodingConfig
    request: TranslationRequest = TranslationRequest()
    threads: int = 1

    def data(self) -> DataConfig:
        """See `TextTranslator.data`."""
        return read_config(self.folder).data

    def fingerprint(self) -> str:
        """Returns a digest of all files of the export.

        Raises:
            InputError: the folder isn't a CTranslate2 export.
        """
        read_description(self.folder)
        folder = pathlib.Path(self.folder)
        return files_fingerprint(folder, folder.rglob("*"))

    def __call__(self) -> Callable[[list[str]], list[Translation]]:
        """Returns a function that translates lines."""
        translator = CTranslate2Translator(
            self.folder,
            self.decoding,
            self.threads,
            placeholders=self.request.placeholders,
        )
        if self.request.markup == KEEP:
            translator.placeholders = None
        return lambda lines: translator.results(lines, self.request.count)
