"""Translator by a server, without TensorFlow."""

import collections
import contextlib
import dataclasses
from collections.abc import Iterator

from keras_transformer.contract import layout
from keras_transformer.errors import InputError
from keras_transformer.serving.client.client import Client
from keras_transformer.serving.client.request_errors import RequestError
from keras_transformer.translation.request import translations_of
from keras_transformer.translation.stream import TranslateBatches, one_by_one
from keras_transformer.translation.texts import TextTranslator

# Half of what the exported batching.config takes at once.
BATCH_SIZE = 32


@dataclasses.dataclass(frozen=True)
class RemoteTranslator(TextTranslator):
    """Translates with a server.

    Attributes:
        url: of the server.
        model: its name there.
        version: its number, if it isn't the latest.
        label: of a version.
        timeout: seconds for a batch, its retries included.
        signature: that translates, where no other number is requested.
        count: hypotheses of a line, with the signature "nbest".
    """

    url: str
    model: str
    version: int | None
    label: str | None
    timeout: float
    signature: str = layout.BEAM
    count: int = 1

    @property
    def batch_size(self) -> int:
        """Texts of a request."""
        return BATCH_SIZE

    @contextlib.contextmanager
    def opened(
        self, n_best: int | None = None, interactive: bool = False
    ) -> Iterator[TranslateBatches]:
        """Yields a function for `stream_lines`, as long as it is connected.

        Args:
            n_best: translations of each text; None: as the attributes say.
            interactive: True: each batch is answered before the next is read.

        Raises:
            InputError: no server there, no such model, or a request failed.
        """
        translator = self
        if n_best is not None:
            translator = dataclasses.replace(
                self, signature=layout.NBEST, count=n_best
            )
        client = Client(
            self.url,
            self.model,
            version=self.version,
            label=self.label,
            timeout=self.timeout,
        )
        with client:
            with _as_input_errors():
                # At once, and not after retries.
                client.versions()

            def translate_batches(batches):
                with _as_input_errors():
                    yield from translator._results(client, batches)

            if interactive:
                yield one_by_one(
                    lambda lines: next(translate_batches(iter([lines])))
                )
            else:
                yield translate_batches

    def _results(self, client, batches):
        sent: collections.deque = collections.deque()

        def inputs():
            for lines in batches:
                sent.append(lines)
                yield {layout.TEXT: lines}

        for outputs in client.predict_batches(inputs(), self.signature):
            lines = sent.popleft()
            yield self._read(lines, outputs, client.target) if lines else []

    def _read(self, lines, outputs, target):
        """The results of lines, from a signature's outputs."""
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
        truncated = outputs.get(layout.TRUNCATED)
        try:
            return translations_of(lines, texts, scores, truncated, self.count)
        except InputError as error:
            raise InputError(f"{target}: {error}") from None


@contextlib.contextmanager
def _as_input_errors():
    """Tells what a server refuses in a line, as everything else is."""
    try:
        yield
    except RequestError as error:
        raise InputError(str(error)) from None
