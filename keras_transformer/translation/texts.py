"""Translation of Python strings: the interface of runs, exports and servers."""

import contextlib
from collections.abc import Iterable
from typing import Any, Literal, overload

from keras_transformer.config.data import DataConfig
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.documents.glossary import Terms
from keras_transformer.errors import InputError, shown
from keras_transformer.translation.markup import masking_markup
from keras_transformer.translation.request import (
    Translation,
    Truncations,
    blank_translation,
)
from keras_transformer.translation.stream import (
    TranslateBatches,
    all_patterns,
    has_learned_terms,
    one_by_one,
    require_terms,
    stream_lines,
    with_glossary,
)


class TextTranslator:
    """Base class of translators of strings.

    The subclasses are `TrainedRun`, the exports `SavedTranslator` and
    `CTranslate2Translator`, and the server's client `RemoteTranslator`. Each
    overrides `plain_results`, or `results` to mask markup in another way, or
    `opened` if a connection has to be kept open.

    Attributes:
        placeholders: regular expressions of markup to mask in addition to
            the usual; None: markup isn't masked, as the model has no symbols.
    """

    placeholders: tuple[str, ...] | None = None

    @property
    def batch_size(self) -> int:
        """Texts translated together."""
        return 64

    # A string is an iterable of strings, too: the first overload that fits
    # is used.
    @overload
    def translate(  # type: ignore[overload-overlap]  # See above.
        self,
        texts: str,
        n_best: None = None,
        *,
        details: Literal[False] = False,
        glossary: Terms | None = None,
    ) -> str: ...

    @overload
    def translate(
        self,
        texts: Iterable[str],
        n_best: None = None,
        *,
        details: Literal[False] = False,
        glossary: Terms | None = None,
    ) -> list[str]: ...

    @overload
    def translate(
        self,
        texts: str | Iterable[str],
        n_best: int | None = None,
        *,
        details: bool = False,
        glossary: Terms | None = None,
    ) -> Any: ...

    def translate(
        self,
        texts: str | Iterable[str],
        n_best: int | None = None,
        *,
        details: bool = False,
        glossary: Terms | None = None,
    ) -> Any:
        """Translates a text or several texts.

        Args:
            texts: a string, or an iterable of strings.
            n_best: number of translations of each, the best first; None: the
                best alone.
            details: whether to return `Translation` objects, with scores,
                instead of strings.
            glossary: terms and their translations: a dictionary, pairs, the
                path of a TSV file or a `Glossary`. A term whose translation
                is "" stays as it is.

        Returns:
            the translation of a string, or a list of those of several. A
            translation is a string, a list of at most `n_best` strings if
            that is given, or a `Translation`. That of a blank text is "". The
            sentences of a text are translated one by one, unless the search
            keeps texts whole, and keep the white space, line ends and bullets
            between them. Each of several texts loses its trailing line end,
            like a line of a file; a single string keeps it.

        Raises:
            InputError: a text isn't a string, `n_best` is more than the
                translator returns, or the model wasn't trained with terms.

        Warns:
            UserWarning: how many texts were truncated: they have more tokens
                than the model takes, or a translation reached its limit.
                `details` tell which.

        Example:
            >>> run = kt.load("runs/en-zh")
            >>> run.translate("I like tea.")
            '我喜欢茶。'
            >>> run.translate(["I like tea.", "Hello."], n_best=2)
            [['我喜欢茶。', '我爱喝茶。'], ['你好。', '您好。']]
            >>> run.translate("I like tea.", glossary={"tea": "绿茶"})
            '我喜欢绿茶。'
        """
        lines = [texts] if isinstance(texts, str) else text_list(texts)
        if n_best is not None and (type(n_best) is not int or n_best < 1):
            raise InputError(
                "n_best must be an integer, 1 or more. Received: "
                f"{shown(n_best)}"
            )
        patterns: tuple[str, ...] = ()
        if glossary is not None:
            require_terms(self.has_terms())
            patterns = all_patterns(self.data(), self.placeholders or ())
        with self.opened(n_best) as translate_batches:
            found = list(
                stream_lines(
                    lines,
                    with_glossary(translate_batches, glossary, patterns),
                    self.batch_size,
                    blank=blank_translation,
                )
            )
        Truncations(result.truncated for result in found).warn()
        if isinstance(texts, str):
            # Lines of a file lose their line ends, but a string keeps them.
            found = [_with_end(found[0], texts[len(texts.rstrip("\r\n")) :])]
        results = found if details else [_strings(r, n_best) for r in found]
        return results[0] if isinstance(texts, str) else results

    def masks_markup(self) -> bool:
        """True if texts are translated with symbols for their markup."""
        return self.placeholders is not None

    def has_terms(self) -> bool:
        """True if the model was trained with terms, see `translate`."""
        return has_learned_terms(self.data())

    def data(self) -> DataConfig | None:
        """The configuration of the model's data; None if it is unknown."""
        return None

    def opened(
        self, n_best: int | None = None
    ) -> contextlib.AbstractContextManager[TranslateBatches]:
        """A context manager of a function for `stream_lines`.

        Args:
            n_best: translations of each text; None: the best alone.
        """

        def translate(texts: list[str]) -> list[Translation]:
            return self.results(texts, n_best)

        return contextlib.nullcontext(one_by_one(translate))

    def results(
        self, texts: list[str], n_best: int | None = None
    ) -> list[Translation]:
        """Translates a batch, with scores and without a warning.

        Args:
            texts: B sentences, none blank.
            n_best: translations of each; None: the best alone.

        Raises:
            InputError: `n_best` is more than the translator returns.
        """

        def translate(parts):
            return self.plain_results(parts, n_best)

        if self.placeholders is not None:
            translate = masking_markup(translate, self.placeholders)
        return translate(texts)

    def plain_results(
        self, texts: list[str], n_best: int | None = None
    ) -> list[Translation]:
        """Like `results`, for texts with symbols in place of markup."""
        raise NotImplementedError


def check_n_best(
    n_best: int | None, decoding: DecodingConfig, name: str = "n_best"
) -> None:
    """Refuses an `n_best` below 1 or above the number that a search returns.

    Args:
        n_best: requested translations of a text; None: the best alone.
        decoding: the search.
        name: of the argument, for the error.
    """
    most = 1 if decoding.temperature else decoding.beam_size
    if n_best is not None and not 1 <= n_best <= most:
        why = (
            "as sampling gives one" if decoding.temperature else "the beam size"
        )
        raise InputError(
            f"{name} must be 1 to {most}, {why}. Received: {n_best}"
        )


def text_list(texts: Any, name: str = "translate") -> list[str]:
    """Texts as a list.

    Args:
        texts: any iterable of strings; anything else is refused.
        name: of the function that takes the texts, for the error.

    Raises:
        InputError: `texts` or an item is of another type.
    """
    if isinstance(texts, str):  # A list of it would be its characters.
        raise InputError(
            f"{name} takes a list of texts here, not one. Received: "
            f"{shown(texts)}. Accepted: [{shown(texts)}], or the model that "
            "keras_transformer.load opens, which takes either"
        )
    _refuse_bytes(texts, name)
    try:
        lines = list(texts)
    except TypeError:
        lines = [texts]
    for line in lines:
        _refuse_bytes(line, name)
        if not isinstance(line, str):
            raise InputError(
                f"{name} takes a string or several. Received: {shown(line)}"
            )
    return lines


def _refuse_bytes(text, name):
    if isinstance(text, bytes | bytearray | memoryview):
        raise InputError(
            f"{name} takes text, not bytes. Received: {shown(text)}. Accepted: "
            'what its decode("utf-8") gives'
        )


def _with_end(result, end):
    """Appends a text's line end to its translations unless they are empty."""
    hypotheses = [
        one._replace(text=one.text + end if one.text else "")
        for one in result.hypotheses
    ]
    return result._replace(hypotheses=hypotheses)


def _strings(result, n_best):
    texts = [hypothesis.text for hypothesis in result.hypotheses]
    return texts[0] if n_best is None else texts
