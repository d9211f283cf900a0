"""What a process needs to know to translate: sent to workers as it is.

A recipe is called without arguments and returns a function from a list of
lines to as many results. It loads all that it needs itself.
"""

import dataclasses
from typing import NamedTuple

from keras_transformer.config.decoding import DecodingConfig


class Translation(NamedTuple):
    """One line's result.

    Attributes:
        text: the translation.
        score: log-probability, length-normalised.
        truncated: whether the line was too long for the model and lost its
            end.
    """

    text: str
    score: float
    truncated: bool = False


BLANK = Translation("", 0.0)


@dataclasses.dataclass(frozen=True)
class RunRecipe:
    """Translates with a run.

    Attributes:
        folder: the run's.
        weights: "best", "last" or "average".
        decoding: the search.
        jit: "on", "off" or "auto"; see `decoding.compiled.when_to_compile`.
    """

    folder: str
    weights: str
    decoding: DecodingConfig
    jit: str = "off"

    def __call__(self) -> "RunTranslate":
        return RunTranslate(self)


class RunTranslate:
    """The function that a `RunRecipe` makes.

    Raises:
        InputError: it is no run, or a part is missing or damaged.
    """

    def __init__(self, recipe: RunRecipe):
        from keras_transformer.training.run import Run
        from keras_transformer.translation.compiled import (
            CompiledTranslator,
            enable_disk_cache,
            when_to_compile,
        )
        from keras_transformer.translation.details import details
        from keras_transformer.translation.translator import Translator

        if recipe.jit != "off":
            enable_disk_cache()
        run = Run.load(recipe.folder)
        model = run.load_model(recipe.weights)
        self._compiled = self._graph = None
        after = when_to_compile(recipe.jit, recipe.decoding)
        if after is not None:
            self._compiled = CompiledTranslator(
                run.source_tokenizer,
                run.target_tokenizer,
                model,
                recipe.decoding,
                after=after,
            )
        else:
            self._graph = details(
                Translator.from_run(run, model, recipe.decoding),
                num_hypotheses=1,
            )

    @property
    def compile_seconds(self) -> float:
        """What XLA has taken to compile, in seconds."""
        return self._compiled.compile_seconds if self._compiled else 0.0

    def __call__(self, lines: list[str]) -> list[Translation]:
        import tensorflow as tf

        encoded = tf.constant([line.encode("utf-8") for line in lines])
        if self._compiled:
            outputs = self._compiled.translate(encoded)
            texts, scores = outputs["translation"], outputs["score"]
        else:
            outputs = self._graph(encoded)
            texts, scores = outputs["translations"], outputs["scores"]
            texts, scores = texts[:, 0], scores[:, 0]
        return list(
            map(
                Translation,
                (text.decode("utf-8") for text in texts.numpy()),
                scores.numpy().tolist(),
                outputs["truncated"].numpy().tolist(),
            )
        )


@dataclasses.dataclass(frozen=True)
class SavedModelRecipe:
    """Translates with an export.

    Attributes:
        folder: the export's.
        signature: "serving_default" or "greedy".
    """

    folder: str
    signature: str

    def __call__(self):
        from keras_transformer.export.loaded import SavedTranslator

        translator = SavedTranslator(self.folder, self.signature)

        def translate(lines):
            texts, scores = translator.translate(lines)
            return list(map(Translation, texts, scores.tolist()))

        return translate
