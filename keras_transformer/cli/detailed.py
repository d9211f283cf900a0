"""Translations with all that is known of them, and the recipes for them.

See `recipes` for what a recipe is.
"""

import dataclasses
from typing import NamedTuple

from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.constants import NO_SCORE
from keras_transformer.errors import InputError


class Hypothesis(NamedTuple):
    """One of a line's translations; None is what wasn't asked for.

    Attributes:
        text: the translation.
        score: log-probability, length-normalised.
        log_probability: of the whole translation.
        finished: whether it reached its end before its limit.
        tokens: as the vocabulary has them, the end token included.
        token_log_probabilities: as many.
        alignment: for each token its shares of the source's tokens.
    """

    text: str
    score: float
    log_probability: float | None = None
    finished: bool | None = None
    tokens: list[str] | None = None
    token_log_probabilities: list[float] | None = None
    alignment: list[list[float]] | None = None


class Detailed(NamedTuple):
    """One line's result.

    Attributes:
        source: the line.
        translations: the best first.
        truncated: whether the line was too long for the model and lost its
            end.
        source_tokens: as they look in the line, "" for its start and end.
    """

    source: str
    translations: list[Hypothesis]
    truncated: bool = False
    source_tokens: list[str] | None = None


BLANK = Detailed("", [Hypothesis("", 0.0, 0.0, True, [], [], [])], False, [])


@dataclasses.dataclass(frozen=True)
class DetailedRecipe:
    """Translates with a run.

    Attributes:
        folder: the run's.
        weights: "best", "last" or "average".
        decoding: the search.
        count: translations of a line.
        prefixed: whether lines hold a prefix: see `split_prefix`.
        tokens: whether tokens are wanted.
        alignment: whether their alignment is wanted.
    """

    folder: str
    weights: str
    decoding: DecodingConfig
    count: int = 1
    prefixed: bool = False
    tokens: bool = False
    alignment: bool = False

    def __call__(self):
        import tensorflow as tf

        from keras_transformer.training.run import Run
        from keras_transformer.translation.details import details
        from keras_transformer.translation.translator import Translator

        run = Run.load(self.folder)
        model = run.load_model(self.weights)
        function = details(
            Translator.from_run(
                run, model, self.decoding, align=self.alignment
            ),
            self.count,
            self.prefixed,
            self.tokens,
            self.alignment,
        )

        def translate(lines):
            columns = zip(*map(split_prefix, lines), strict=True)
            columns = list(columns)[: 2 if self.prefixed else 1]
            outputs = function(
                *(tf.constant([t.encode() for t in c]) for c in columns)
            )
            outputs = {name: tensor.numpy() for name, tensor in outputs.items()}
            return [
                _detailed(source, {name: v[i] for name, v in outputs.items()})
                for i, source in enumerate(columns[0])
            ]

        return translate


@dataclasses.dataclass(frozen=True)
class SavedNbestRecipe:
    """Translates with an export's `nbest` signature.

    Attributes:
        folder: the export's.
        count: translations of a line.
    """

    folder: str
    count: int

    def __call__(self):
        from keras_transformer.export.loaded import SavedTranslator

        translator = SavedTranslator(self.folder)

        def translate(lines):
            texts, scores = translator.nbest(lines)
            return nbest_results(lines, texts, scores.tolist(), self.count)

        return translate


def nbest_results(lines, texts, scores, count, truncated=None):
    """The results of lines, from what a signature `nbest` gives.

    Args:
        lines: that were translated.
        texts: lists of K translations, as many.
        scores: lists of K numbers.
        count: translations of a line that are wanted.
        truncated: whether each line lost its end; None: it isn't known.

    Raises:
        InputError: the beam has fewer.
    """
    if scores and len(scores[0]) < count:
        raise InputError(
            f"--n-best {count}: this export's beam has {len(scores[0])}"
        )
    return [
        Detailed(line, [Hypothesis(*pair) for pair in _real(*row)], lost)
        for line, *row, lost in zip(
            lines,
            (row[:count] for row in texts),
            (row[:count] for row in scores),
            truncated or [False] * len(lines),
            strict=True,
        )
    ]


def with_prefix(line: str, prefix: str) -> str:
    """A line and its prefix as one: the line end, which none has, between."""
    return line.rstrip("\r\n") + "\n" + prefix.rstrip("\r\n")


def split_prefix(line: str) -> tuple[str, str]:
    """A line and its prefix, "" if it has none."""
    source, _, prefix = line.partition("\n")
    return source, prefix


def _real(texts, scores):
    """(text, score) pairs without the rows that are left over."""
    return [
        pair for pair in zip(texts, scores, strict=True) if pair[1] > NO_SCORE
    ]


def _detailed(source, outputs):
    """The result of one line, from its rows of what `details` returns."""
    length = int(outputs.get("source_lengths", 0))
    source_tokens = None
    if length:
        source_tokens = _texts(outputs["source_tokens"][:length])
    return Detailed(
        source,
        [
            _hypothesis(outputs, place, length)
            for place, score in enumerate(outputs["scores"])
            if score > NO_SCORE
        ],
        bool(outputs["truncated"]),
        source_tokens,
    )


def _hypothesis(outputs, place, source_length):
    def rows(name):
        """What belongs to the tokens; None if it wasn't asked for."""
        if name in outputs:
            return outputs[name][place, : outputs["lengths"][place]]
        return None

    tokens, values = rows("tokens"), rows("token_log_probabilities")
    alignment = rows("alignment")
    return Hypothesis(
        outputs["translations"][place].decode(),
        float(outputs["scores"][place]),
        float(outputs["log_probabilities"][place]),
        bool(outputs["finished"][place]),
        None if tokens is None else _texts(tokens),
        None if values is None else values.tolist(),
        None if alignment is None else alignment[:, :source_length].tolist(),
    )


def _texts(strings):
    return [string.decode() for string in strings]
