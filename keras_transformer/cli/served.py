"""Translations by a server: `translate --server`, without TensorFlow."""

import collections
import contextlib
import dataclasses

from keras_transformer.cli import translations
from keras_transformer.cli.detailed import nbest_results
from keras_transformer.cli.options import saved_batch_size
from keras_transformer.cli.recipes import Translation
from keras_transformer.contract import layout
from keras_transformer.errors import InputError
from keras_transformer.serving import Client, RequestError
from keras_transformer.translation.stream import one_by_one

# Half of what the exported batching.config takes at once.
_BATCH_SIZE = 32
_TIMEOUT = 60.0  # seconds
_OPTIONS = ("model", "version", "label", "timeout")
# With the values that they have where they aren't given.
_NOT_FOR_SERVERS = {
    "weights": (None,),
    "length_penalty": (None,),
    "decoding": ([],),
    "beam_size": (None, 1),
    "jit": ("auto", "off"),
    "workers": (None,),
    "threads": (1,),
}


def add_arguments(parser):
    """The options that go with `--server`."""
    group = parser.add_argument_group("with --server")
    group.add_argument(
        "--model", metavar="NAME", help="its name there (default: default)"
    )
    group.add_argument(
        "--version",
        type=int,
        metavar="N",
        help="its version (default: the latest)",
    )
    group.add_argument(
        "--label", metavar="NAME", help="of a version, such as stable"
    )
    group.add_argument(
        "--timeout",
        type=float,
        metavar="S",
        help="seconds for a batch, its retries included "
        f"(default: {_TIMEOUT:g})",
    )


def check_options(arguments):
    """Refuses options that go only with, or not with, `--server`.

    Raises:
        InputError: which.
    """
    if not arguments.server:
        for name in _OPTIONS:
            if getattr(arguments, name) is not None:
                raise InputError(f"--{name} goes with --server")
        return
    for name, accepted in _NOT_FOR_SERVERS.items():
        if getattr(arguments, name) not in accepted:
            raise InputError(
                f"--{name.replace('_', '-')} is up to the server. Accepted "
                "with --server: --model, --version, --label, --timeout, "
                "--batch-size, --beam-size 1 (its greedy signature), "
                "--n-best, --scores, --json"
            )


def recipe(arguments):
    """What translates as the options ask, and the batch size.

    Raises:
        InputError: options that don't go together.
    """
    batch_size = saved_batch_size(arguments, _BATCH_SIZE)
    count = None
    if translations.wanted(arguments):
        count = translations.saved_count(arguments, "--server")
    signature = layout.GREEDY if arguments.beam_size == 1 else layout.BEAM
    made = ServedRecipe(
        arguments.server,
        # TensorFlow Serving's own.
        arguments.model or "default",
        arguments.version,
        arguments.label,
        _TIMEOUT if arguments.timeout is None else arguments.timeout,
        layout.NBEST if count else signature,
        count,
    )
    return made, batch_size


@dataclasses.dataclass(frozen=True)
class ServedRecipe:
    """Translates with a server.

    Attributes:
        url: of the server.
        model: its name there.
        version: its number, if it isn't the latest.
        label: of a version.
        timeout: seconds for a batch.
        signature: that translates.
        count: translations of a line, with `nbest`.
    """

    url: str
    model: str
    version: int | None
    label: str | None
    timeout: float
    signature: str
    count: int | None

    @contextlib.contextmanager
    def opened(self, interactive: bool):
        """What translates batches for `stream_lines`, until the end.

        Args:
            interactive: whether each batch is answered before the next is
                read.

        Raises:
            InputError: no server there, no such model, or a request failed.
        """
        options = {"version": self.version, "label": self.label}
        client = Client(self.url, self.model, timeout=self.timeout, **options)
        with client:
            with _as_input_errors():
                # At once, and not after retries.
                client.versions()

            def translate_batches(batches):
                with _as_input_errors():
                    yield from self._results(client, batches)

            if interactive:
                yield one_by_one(
                    lambda lines: next(translate_batches(iter([lines])))
                )
            else:
                yield translate_batches

    def _results(self, client, batches):
        sent = collections.deque()

        def inputs():
            for lines in batches:
                sent.append(lines)
                yield {layout.TEXT: lines}

        for outputs in client.predict_batches(inputs(), self.signature):
            lines = sent.popleft()
            yield self._read(lines, outputs, client.target) if lines else []

    def _read(self, lines, outputs, target):
        """The results of lines, from a signature's outputs."""
        truncated = outputs.get(layout.TRUNCATED, [False] * len(lines))
        names = (layout.TRANSLATION, layout.SCORE)
        if self.count:
            names = (layout.TRANSLATIONS, layout.SCORES)
        if not set(names) <= outputs.keys():
            raise InputError(
                f"{target}: signature {self.signature} gives "
                f"{', '.join(sorted(outputs))}. Accepted: a model that "
                "`keras-transformer export` wrote"
            )
        texts, scores = (outputs[name] for name in names)
        if self.count:
            return nbest_results(lines, texts, scores, self.count, truncated)
        return list(map(Translation, texts, scores, truncated))


@contextlib.contextmanager
def _as_input_errors():
    """What a server refuses is told in a line, as everything else is."""
    try:
        yield
    except RequestError as error:
        raise InputError(str(error)) from None
