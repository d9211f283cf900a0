"""A run that translates: what training gives, and what `load` opens."""

import os

import keras

from keras_transformer.config import Config
from keras_transformer.config.decoding import DecodingConfig
from keras_transformer.data.corpus import Pairs
from keras_transformer.errors import InputError
from keras_transformer.text.tokenizer import Tokenizer, encoded
from keras_transformer.training.run import Run
from keras_transformer.translation.details import details, translations_from
from keras_transformer.translation.ensemble import load_members
from keras_transformer.translation.lexicon import lexicon_of
from keras_transformer.translation.request import blank_translation
from keras_transformer.translation.stream import translate_lines
from keras_transformer.translation.texts import TextTranslator
from keras_transformer.translation.translator import Translator


class TrainedRun(TextTranslator, Run):
    """A run that translates, by weights that are read when they are needed.

    Attributes:
        weights: that translate, "best", "last" or "average".
        decoding: the search; None: the run's own.
        ensemble: folders of runs that translate together with it, by the
            mean of their probabilities; trained on the same prepared data.
        shortlist: pairs of sentences, or files of them: translations are
            searched among tokens that these suggest; None: among all.

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
        self._translator: Translator | None = None
        self._translates_by: tuple = ()  # the attributes it was made by
        self._graphs: dict = {}  # by the number of hypotheses

    def _results(self, lines, n_best):
        decoding = self.decoding or self.config.decoding
        count = n_best or 1
        most = 1 if decoding.sampling else decoding.beam_size
        if count > most:
            why = "as sampling gives one" * decoding.sampling or "the beam size"
            raise InputError(
                f"n_best must be 1 to {most}, {why}. Received: {n_best}"
            )
        graph = self._graph(count)
        return translate_lines(
            lines,
            lambda batch: translations_from(batch, graph(encoded(batch))),
            decoding.batch_size,
            blank=blank_translation,
        )

    def _graph(self, count):
        """The graph function of so many hypotheses, by the attributes now."""
        by = self.weights, self.decoding, tuple(self.ensemble), self.shortlist
        if self._translator is None or by != self._translates_by:
            self._translator = self._new_translator()
            self._translates_by = by
            self._graphs.clear()
        if count not in self._graphs:
            self._graphs[count] = details(self._translator, count)
        return self._graphs[count]

    def _new_translator(self):
        if keras.config.backend() != "tensorflow":
            raise InputError(
                "translate needs KERAS_BACKEND=tensorflow. Received: "
                f"{keras.config.backend()}. Accepted: load({str(self.folder)!r}"
                ") in another process"
            )
        model = self.load_model(self.weights)
        decoding = self.decoding or self.config.decoding
        others = load_members(self, self.ensemble, self.weights)
        lexicon = lexicon_of(self, self.shortlist)
        return Translator.from_run(
            self, model, decoding, others=others, lexicon=lexicon
        )
