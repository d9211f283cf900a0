"""A run that translates, as returned by training and by `load`."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Iterator, Sequence
from typing import cast

import keras

from keras_transformer.config import Config
from keras_transformer.config.data import DataConfig
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.data.corpus import Pairs
from keras_transformer.errors import InputError
from keras_transformer.system.files import as_paths
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.training.run import Run
from keras_transformer.translation.details import (
    detailed_translator,
    markup_translator,
)
from keras_transformer.translation.ensemble import load_members
from keras_transformer.translation.lexicon import lexicon_of
from keras_transformer.translation.request import (
    KEEP,
    PROJECT,
    Translation,
    TranslationRequest,
)
from keras_transformer.translation.stream import all_patterns
from keras_transformer.translation.texts import TextTranslator, check_n_best
from keras_transformer.translation.translator import Translator


class TrainedRun(TextTranslator, Run):
    """A run that translates; its weights are read when they are needed.

    Attributes:
        weights: to translate with, "best", "last" or "average".
        decoding: the search; None: the run's own.
        ensemble: folders of runs that translate together with it, by the
            mean of their probabilities; trained on the same prepared data.
        shortlist: pairs of sentences, or files of them, which restrict the
            search to the tokens that they suggest; None: no shortlist.
        placeholders: regular expressions of markup, in addition to those of
            its data.
        markup: "project": placed by the alignment; "keep": translated like
            other text; None: symbols stand for it, if the model has any, else
            "keep".

    Example:
        >>> run = keras_transformer.load("runs/en-zh")
        >>> run.translate("I like tea.", n_best=3)
        ['我喜欢茶。', '我爱喝茶。', '我喜欢喝茶。']
    """

    def __init__(
        self,
        folder: str | os.PathLike,
        config: Config,
        manifest: dict,
        tokenizers: tuple[Tokenizer, Tokenizer],
    ) -> None:
        super().__init__(folder, config, manifest, tokenizers)
        self.weights = "best"
        self.decoding: DecodingConfig | None = None
        self.ensemble: tuple[str | os.PathLike, ...] = ()
        self.shortlist: Pairs | None = None
        self.placeholders: tuple[str, ...] = ()
        self.markup: str | None = None
        self._translator: Translator | None = None
        self._translates_by: tuple = ()  # attributes that it was made from
        self._functions: dict = {}  # by the number of hypotheses

    @classmethod
    def of(cls, run: Run | str | os.PathLike) -> TrainedRun:
        """Converts a run, or loads one from its folder, to translate."""
        if isinstance(run, cls):
            return run
        if isinstance(run, str | os.PathLike):
            return cls.load(run)
        tokenizers = run.source_tokenizer, run.target_tokenizer
        return cls(run.folder, run.config, run.manifest, tokenizers)

    @property
    def search(self) -> DecodingConfig:
        """The search to translate with."""
        return self.decoding or self.config.decoding

    @property
    def batch_size(self) -> int:
        """Texts translated together."""
        return self.search.batch_size

    def translating_by(
        self,
        weights: str | None = None,
        decoding: DecodingConfig | None = None,
        ensemble: Sequence[str | os.PathLike] | str | os.PathLike = (),
        shortlist: Pairs | None = None,
    ) -> TrainedRun:
        """A copy of this run that translates with other settings.

        Args:
            weights, decoding, ensemble, shortlist: see the attributes; None or
                empty: this run's.
        """
        run = copy.copy(self)
        run.weights = weights or self.weights
        run.decoding = decoding or self.decoding
        run.ensemble = as_paths(ensemble) or self.ensemble
        if shortlist is not None:
            if isinstance(shortlist, Iterator):
                # A shortlist may be read more than once.
                shortlist = cast("Pairs", list(shortlist))
            run.shortlist = shortlist
        run._functions = {}
        return run

    def results(
        self, texts: list[str], n_best: int | None = None
    ) -> list[Translation]:
        """See `TextTranslator.results`."""
        check_n_best(n_best, self.search)
        count = n_best or 1
        by = (
            *(self.weights, self.decoding, as_paths(self.ensemble)),
            *(self.shortlist, self.placeholders, self.markup),
        )
        if self._translator is None or by != self._translates_by:
            self._translator = self.new_translator(self.markup == PROJECT)
            self._translates_by = by
            self._functions.clear()
        if count not in self._functions:
            request = TranslationRequest(
                count, markup=self.markup, placeholders=self.placeholders
            )
            self._functions[count] = self.function_of(self._translator, request)
        return self._functions[count](texts)

    def function_of(
        self, translator: Translator, request: TranslationRequest
    ) -> Callable[[list], list[Translation]]:
        """A function from texts to translations, as requested.

        Args:
            translator: result of `new_translator`, with `align` to place
                markup.
            request: of the results; with prefixes the function takes pairs.
        """
        splitter = translator.splitter(self.config.data)
        if request.markup == PROJECT:
            patterns = all_patterns(self.config.data, request.placeholders)
            return markup_translator(
                translator, splitter, request.count, patterns
            )
        return detailed_translator(
            translator,
            request.count,
            request.prefixes,
            request.token_scores,
            request.alignment,
            splitter,
            masks=request.markup != KEEP,
        )

    def masks_markup(self) -> bool:
        """See `TextTranslator.masks_markup`."""
        return self.markup is None and self.config.data.symbols != ()

    def data(self) -> DataConfig:
        """See `TextTranslator.data`."""
        return self.config.data

    def load_models(self) -> list[keras.Model]:
        """Loads the run's model and those of its ensemble."""
        others = load_members(self, as_paths(self.ensemble), self.weights)
        return [self.load_model(self.weights), *others]

    def new_translator(
        self, align: bool = False, models: Sequence[keras.Model] | None = None
    ) -> Translator:
        """Builds the translation graph, with weights that are read now.

        Args:
            align: see `Translator.from_run`.
            models: result of `load_models`; None: loads them.

        Raises:
            InputError: Keras is on another backend, or files are damaged.
        """
        if keras.config.backend() != "tensorflow":
            raise InputError(
                "translate needs KERAS_BACKEND=tensorflow. Received: "
                f"{keras.config.backend()}. Accepted: load({str(self.folder)!r}"
                ") in another process"
            )
        model, *others = models or self.load_models()
        return Translator.from_run(
            self,
            model,
            self.search,
            align,
            others=others,
            lexicon=lexicon_of(self, self.shortlist),
            placeholders=self.placeholders,
        )
