"""Translation with a server, without TensorFlow."""

import collections
import contextlib
import dataclasses
import functools
from collections.abc import Iterator

from keras_transformer.contract import layout
from keras_transformer.contract.status import Code
from keras_transformer.errors import InputError
from keras_transformer.serving.client.client import Client
from keras_transformer.serving.client.request_errors import RequestError
from keras_transformer.symbols import MARKUP_SYMBOLS
from keras_transformer.translation.markup import (
    MaskedLines,
    with_terms,
    without_terms,
)
from keras_transformer.translation.request import Translation, translations_of
from keras_transformer.translation.stream import TranslateBatches, one_by_one
from keras_transformer.translation.texts import TextTranslator

# Half of max_batch_size in the exported batching.config.
BATCH_SIZE = 32


# Codes of a missing signature over REST and over gRPC.
_NO_SIGNATURE = (Code.INVALID_ARGUMENT, Code.FAILED_PRECONDITION)


@dataclasses.dataclass(frozen=True)
class RemoteTranslator(TextTranslator):
    """Translates with a server.

    Attributes:
        url: the server's URL.
        model: the model's name on the server.
        version: number of a version; None: the label's, or the latest.
        label: label of a version; None: none.
        timeout: seconds for a batch, including retries.
        signature: the signature to use unless `n_best` is given.
        count: number of hypotheses for each line, with signature "nbest".
        placeholders: regular expressions of further markup, for a model with
            symbols; None: markup is translated as text.
    """

    url: str
    model: str
    version: int | None
    label: str | None
    timeout: float
    signature: str = layout.BEAM
    count: int = 1
    placeholders: tuple[str, ...] | None = ()

    @property
    def batch_size(self) -> int:
        """Number of texts in a request."""
        return BATCH_SIZE

    @contextlib.contextmanager
    def opened(
        self, n_best: int | None = None, interactive: bool = False
    ) -> Iterator[TranslateBatches]:
        """Connects to the server and yields a function for `stream_lines`.

        Args:
            n_best: number of translations of each text; None: determined by
                `signature` and `count`.
            interactive: bool, whether to answer each batch before reading the
                next one.

        Raises:
            InputError: there is no server or no such model, or a request
                failed.
        """
        translator = self
        if n_best is not None:
            translator = dataclasses.replace(
                self, signature=layout.NBEST, count=n_best
            )
        with self._connected() as client:

            def translate_batches(batches):
                with _as_input_errors():
                    yield from translator._results(client, batches)

            if interactive:
                yield one_by_one(
                    lambda lines: next(translate_batches(iter([lines])))
                )
            else:
                yield translate_batches

    @contextlib.contextmanager
    def _connected(self):
        client = Client(
            self.url,
            self.model,
            version=self.version,
            label=self.label,
            timeout=self.timeout,
        )
        with client:
            with _as_input_errors():
                # Fails at once, not after retries.
                client.versions()
            yield client

    def masks_markup(self) -> bool:
        """True if markup is masked, for which the model needs symbols.

        Raises:
            InputError: see `opened`.
        """
        return self.placeholders is not None and self.has_terms()

    def has_terms(self) -> bool:
        """True if the model has symbols; a server doesn't report more.

        Raises:
            InputError: see `opened`.
        """
        with self._connected() as client, _as_input_errors():
            return _has_symbols(client)

    def _results(self, client, batches, forces_terms=False):
        sent: collections.deque = collections.deque()
        # Requested only when the first text with markup comes.
        asked = functools.cache(_has_symbols)

        def inputs():
            for lines in batches:
                masked, patterns = None, self.placeholders
                if (
                    patterns is not None
                    and MaskedLines(lines, patterns).has_marks
                    and (forces_terms or asked(client))
                ):
                    texts = lines if forces_terms else without_terms(lines)
                    masked = MaskedLines(texts, patterns)
                parts = lines if masked is None else masked.parts
                # A text with many marks is split into many parts, and a
                # request may have no more parts than texts.
                pieces = [
                    parts[start : start + BATCH_SIZE]
                    for start in range(0, len(parts) or 1, BATCH_SIZE)
                ]
                sent.append((lines, pieces, masked))
                yield from ({layout.TEXT: piece} for piece in pieces)

        def forced(lines):
            return next(self._results(client, iter([lines]), True))

        answers = client.predict_batches(inputs(), self.signature)
        for outputs in answers:
            lines, pieces, masked = sent.popleft()
            results: list[Translation] = []
            for piece in pieces:
                if piece is not pieces[0]:
                    outputs = next(answers)
                if piece:
                    results += self._read(piece, outputs, client.target)
            if masked is not None:
                results = masked.unmasked(results)
                if not forces_terms:
                    results = with_terms(lines, results, forced)
            yield results

    def _read(self, lines, outputs, target):
        """Converts a signature's outputs to the results of lines."""
        is_nbest = self.signature == layout.NBEST
        names = (layout.TRANSLATION, layout.SCORE)
        if is_nbest:
            names = (layout.TRANSLATIONS, layout.SCORES)
        if not set(names) <= outputs.keys():
            raise InputError(
                f"{target}: signature {self.signature} gives "
                f"{', '.join(sorted(outputs))}. Accepted: a model that "
                "`keras-transformer export` wrote"
            )
        texts, scores = (outputs[name] for name in names)
        if not is_nbest:
            texts, scores = ([[v] for v in row] for row in (texts, scores))
        try:
            return translations_of(
                lines,
                texts,
                scores,
                outputs.get(layout.TRUNCATED),
                self.count,
                outputs.get(layout.SENTENCES),
            )
        except InputError as error:
            raise InputError(f"{target}: {error}") from None


def _has_symbols(client):
    """True if the source vocabulary has all symbols with consecutive ids."""
    last = len(MARKUP_SYMBOLS) - 1
    try:
        rows = client.tokenize([MARKUP_SYMBOLS[i] for i in (0, 1, last)])
    except RequestError as error:
        if error.code not in _NO_SIGNATURE:
            raise
        return False  # The model wasn't exported by this package.
    if not all(rows):
        return False
    first, second, third = (row[-1] for row in rows)
    return (second - first, third - first) == (1, last)


@contextlib.contextmanager
def _as_input_errors():
    """Turns a `RequestError` into an `InputError`, which has one line."""
    try:
        yield
    except RequestError as error:
        raise InputError(str(error)) from None
