"""CTranslate2 translator: an exported folder in Python, with our tokenizers.

Needs the extra `[ctranslate2]`. CTranslate2 searches, from tokens to tokens;
text becomes tokens, and tokens text, by the tokenizers of the run, whatever
their kind. These need TensorFlow and TF Text, which are imported with the
first model.

FOLDER/
  model.bin  config.json  *_vocabulary.json   as CTranslate2 loads them
  source_tokenizer/  target_tokenizer/
  imported/               licence and model card of an imported model
  keras_transformer.json  the configuration, origin, checksums of the files
  reference.json          translations of the run, to compare with
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
import pathlib
from collections.abc import Callable, Sequence
from typing import NamedTuple

from keras_transformer.checksums import check_file, files_fingerprint
from keras_transformer.config import Config
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.constants import (
    NO_SCORE,
    PAD_ID,
    UNK_ID,
)
from keras_transformer.errors import InputError
from keras_transformer.files import read_json
from keras_transformer.translation.request import (
    Translation,
    translations_of,
)

FORMAT = "keras_transformer.ctranslate2"
FORMAT_VERSION = 1
MODEL = "model.bin"
DESCRIPTION = "keras_transformer.json"
REFERENCE = "reference.json"
ACCEPTED = "Accepted: what `export --format ctranslate2` wrote"
_EXPORT_AGAIN = "export it again"
# What weights are stored in, and how far a token's log-probability may be from
# the run's, in nats. bfloat16 would need PyTorch.
QUANTIZATIONS = {
    "float32": 1e-4,
    "float16": 0.02,
    "int16": 0.1,
    "int8": 0.25,
    "int8_float32": 0.25,
    "int8_float16": 0.25,
}
# What CTranslate2's search can't do, or does otherwise: the values that leave
# it out.
_LEFT_OUT = {
    "coverage_penalty": 0.0,
    "min_length_ratio": 0.0,
    "repetition_penalty": 1.0,
    "replace_unknown": False,
    "sampling": False,
    "precision": "float32",
}


class Hypotheses(NamedTuple):
    """What was found for each of B texts, the best first.

    Attributes:
        ids: B lists of lists of target ids, without START and END.
        scores: as many lists of floats: log-probabilities, divided by the
            length penalty.
        truncated: B booleans, whether the text lost its end.
    """

    ids: list[list[list[int]]]
    scores: list[list[float]]
    truncated: list[bool]


def require_ctranslate2():
    """Raises `InputError` if the package isn't installed."""
    if importlib.util.find_spec("ctranslate2") is None:
        raise InputError(
            "CTranslate2 isn't installed. Accepted: pip install "
            "'.[ctranslate2]' in the project's folder"
        )


def require_search(decoding: DecodingConfig):
    """Refuses a search that CTranslate2 doesn't have.

    Raises:
        InputError: names the setting and what is accepted.
    """
    for name, accepted in _LEFT_OUT.items():
        received = getattr(decoding, name)
        if received != accepted:
            shown = str(accepted).lower()
            raise InputError(
                f"decoding.{name}: CTranslate2 searches without it. Received: "
                f"{received}. Accepted: --decoding {name}={shown}"
            )
    if decoding.length_penalty and decoding.length_normalization != "average":
        raise InputError(
            "decoding.length_normalization: CTranslate2 knows the average "
            f"only. Received: {decoding.length_normalization}. Accepted: "
            "--decoding length_normalization=average, or --length-penalty 0"
        )


def read_description(folder: str | os.PathLike) -> dict:
    """What a folder says about itself.

    Raises:
        InputError: it isn't an export for CTranslate2.
    """
    path = pathlib.Path(folder) / DESCRIPTION
    if not path.is_file():
        raise InputError(f"{folder}: no {DESCRIPTION} in it. {ACCEPTED}")
    description = read_json(path)
    kind = description.get("format"), description.get("format_version")
    if kind != (FORMAT, FORMAT_VERSION):
        raise InputError(f"{path}: not of {FORMAT}. {ACCEPTED}")
    files = description.get("files")
    described = isinstance(files, list) and all(
        isinstance(file, dict) and {"name", "bytes", "sha256"} <= file.keys()
        for file in files
    )
    if not described or not isinstance(description.get("config"), dict):
        raise InputError(f"{path}: damaged; {_EXPORT_AGAIN}")
    return description


def read_config(folder: str | os.PathLike) -> Config:
    """The run's configuration; raises as `read_description` does."""
    return Config().updated(read_description(folder)["config"], str(folder))


class CTranslate2Translator:
    """Translates with an export for CTranslate2, on the processor.

    Args:
        folder: that `export --format ctranslate2` wrote.
        decoding: the search; None: as it was exported.
        threads: of one translation.

    Attributes:
        description: what the export says about itself, a dict.
        config: the run's `Config`.
        decoding: the search.

    Raises:
        InputError: CTranslate2 isn't installed, the folder is no such export
            or damaged, or the search is one that CTranslate2 doesn't have.

    Example:
        >>> translator = CTranslate2Translator("ctranslate2_models/en-zh")
        >>> translations, scores = translator.translate(["Good morning."])
    """

    def __init__(
        self,
        folder: str | os.PathLike,
        decoding: DecodingConfig | None = None,
        threads: int = 1,
    ):
        require_ctranslate2()
        folder = pathlib.Path(folder)
        self.description = read_description(folder)
        for file in self.description["files"]:
            check_file(folder / file["name"], file, _EXPORT_AGAIN, content=True)
        self.config = read_config(folder)
        self.decoding = decoding or self.config.decoding
        require_search(self.decoding)
        self._max_length = self.config.model.max_length
        self._load_tokenizers(folder)
        self._options = self._search_options()
        self._model = _loaded(folder, threads)

    def translate(
        self, texts: Sequence[str], count: int = 1
    ) -> tuple[list[list[str]], list[list[float]], list[bool]]:
        """The best translations of each text.

        Args:
            texts: B sentences.
            count: K, at most the beam size.

        Returns:
            B lists of up to K translations, the best first, as many scores,
            and whether each text was too long for the model.
        """
        ids, scores, truncated = self.search(texts, count)
        flat = [row for rows in ids for row in rows]
        spelt = iter(self._spell(flat))
        return [[next(spelt) for _ in rows] for rows in ids], scores, truncated

    def search(self, texts: Sequence[str], count: int = 1) -> Hypotheses:
        """`translate`, to ids. A text without tokens has one hypothesis: []."""
        sources, limits, truncated = self._sources(texts)
        results = {i: [([], 0.0)] for i in range(len(texts))}
        rows = [i for i, source in enumerate(sources) if source]
        results |= self._search(rows, sources, max(limits, default=0), count)
        # The limit of a search is one for all of its sentences, so those that
        # went beyond their own are searched again.
        beyond = {}
        for i in rows:
            longest = max(len(ids) for ids, _ in results[i])
            if longest >= limits[i] < max(limits):
                beyond.setdefault(limits[i], []).append(i)
        for limit, again in beyond.items():
            results |= self._search(again, sources, limit, count)
        return Hypotheses(
            [[ids for ids, _ in results[i]] for i in range(len(texts))],
            [[score for _, score in results[i]] for i in range(len(texts))],
            truncated,
        )

    def token_log_probabilities(
        self, texts: Sequence[str], targets: Sequence[Sequence[int]]
    ) -> list[list[float]]:
        """How probable given translations are, token by token.

        Args:
            texts: B sentences.
            targets: as many lists of ids, without START and END.

        Returns:
            B lists of natural logarithms, one more than there are ids: END's.
        """
        sources, _, _ = self._sources(texts)
        tokens = [[self._target_tokens[i] for i in ids] for ids in targets]
        results = self._model.score_batch(sources, tokens, max_input_length=0)
        return [list(result.log_probs) for result in results]

    def target_ids(self, translations: Sequence[str]) -> list[list[int]]:
        """The ids of given translations; what exceeds the model is cut off."""
        ids = self._target.tokenize(_encoded(translations))  # (B, ragged)
        return ids[:, : self._max_length - 1].to_list()

    def _load_tokenizers(self, folder):
        import tensorflow as tf

        from keras_transformer.search.constraints import max_output_lengths
        from keras_transformer.text.tokenizer import load_tokenizer
        from keras_transformer.translation.translator import with_prefix

        source, self._target = (
            load_tokenizer(folder / f"{side}_tokenizer")
            for side in ("source", "target")
        )
        self._source_tokens = source.tokens()
        self._target_tokens = self._target.tokens()
        self._target_ids = {t: i for i, t in enumerate(self._target_tokens)}
        source = with_prefix(source, self.decoding)
        most = self._max_length - 2  # without START and END

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def prepare(text):
            ids = source.tokenize(text)  # (B, ragged)
            lengths = tf.cast(ids.row_lengths(), tf.int32)
            kept = tf.minimum(lengths, most)
            limits = max_output_lengths(kept, self.decoding, most + 2)
            # (B, S), (B,), (B,), (B,)
            return ids[:, :most].to_tensor(PAD_ID), kept, limits, lengths > most

        self._prepare = prepare

    def _sources(self, texts):
        """Tokens of texts, the limits of their outputs, and what was cut."""
        import tensorflow as tf

        ids, lengths, limits, truncated = (
            tensor.numpy()
            for tensor in self._prepare(tf.constant(_encoded(texts)))
        )
        sources = [
            [self._source_tokens[i] for i in row[:length]]
            for row, length in zip(ids, lengths, strict=True)
        ]
        return sources, limits.tolist(), truncated.tolist()

    def _search_options(self):
        """What `translate_batch` is told of the search."""
        from keras_transformer.search.from_config import banned_ids

        decoding = self.decoding
        banned = banned_ids(decoding, self._target)
        others = [[self._target_tokens[i]] for i in banned if i != UNK_ID]
        return {
            "beam_size": decoding.beam_size,
            # A search ends with so many ended hypotheses, in beam sizes. Ours
            # goes on until none can win, for which 2 is nearly always enough.
            "patience": 1 if decoding.early_stopping else 2,
            "length_penalty": decoding.length_penalty,
            "min_decoding_length": decoding.min_length,
            "no_repeat_ngram_size": decoding.no_repeat_ngram_size,
            "disable_unk": UNK_ID in banned,
            "suppress_sequences": others or None,
        }

    def _search(self, rows, sources, limit, count):
        """`{row: [(ids, score), ...]}`, the best first."""
        if not rows:
            return {}
        results = self._model.translate_batch(
            [sources[row] for row in rows],
            max_decoding_length=limit,
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

    def _spell(self, rows):
        """What lists of ids spell."""
        import tensorflow as tf

        ids = tf.ragged.constant(rows, tf.int32, ragged_rank=1)
        texts = self._target.detokenize(ids).numpy()
        return [text.decode("utf-8", "replace") for text in texts]


def _encoded(texts):
    # A file read with surrogateescape holds what UTF-8 can't.
    return [text.encode("utf-8", "replace") for text in texts]


def _loaded(folder, threads):
    import ctranslate2

    try:
        return ctranslate2.Translator(
            str(folder), device="cpu", inter_threads=1, intra_threads=threads
        )
    # It has a different error for every damage.
    except Exception as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise InputError(
            f"{folder}: CTranslate2 can't load it ({reason}). {ACCEPTED}"
        ) from error


@dataclasses.dataclass(frozen=True)
class CTranslate2TranslatorFactory:
    """Makes a translator of an export; see `translation.factory`.

    Attributes:
        folder: the export's.
        decoding: the search.
        count: hypotheses of a line.
        threads: of one translation.
    """

    folder: str
    decoding: DecodingConfig
    count: int = 1
    threads: int = 1

    def fingerprint(self) -> str:
        """A digest of all files of the export.

        Raises:
            InputError: it is no such export.
        """
        read_description(self.folder)
        folder = pathlib.Path(self.folder)
        return files_fingerprint(folder, folder.rglob("*"))

    def __call__(self) -> Callable[[list[str]], list[Translation]]:
        translator = CTranslate2Translator(
            self.folder, self.decoding, self.threads
        )

        def translate(lines):
            texts, scores, truncated = translator.translate(lines, self.count)
            # A text without tokens has fewer hypotheses than others.
            for row, values in zip(texts, scores, strict=True):
                left = self.count - len(row)
                row += [""] * left
                values += [NO_SCORE] * left
            return translations_of(lines, texts, scores, truncated, self.count)

        return translate
