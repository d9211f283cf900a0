"""What a type checker has to find out about the package's public names.

Read by the type checker alone (`files` of `[tool.mypy]`), never run.
"""

from typing import Any, assert_type

import keras_transformer as kt
from keras_transformer import plots, serving
from keras_transformer.translation.texts import TextTranslator


def the_lines_of_the_readme() -> None:
    data = kt.prepare(
        "train.tsv",
        "data/en-zh",
        dev="dev.tsv",
        source_language="en",
        target_language="zh",
    )
    assert_type(data, kt.PreparedData)
    run = kt.train(data, "runs/en-zh", epochs=3)
    assert_type(run, kt.TrainedRun)
    assert_type(run.translate("I like tea."), str)
    assert_type(run.translate(["I like tea.", "Hello."]), list[str])
    assert_type(run.translate("Hello.", n_best=3), Any)
    assert_type(run.translate(["Hello."], details=True), Any)
    assert_type(kt.evaluate(run, "test.tsv"), kt.Evaluation)
    loaded = kt.load(kt.export(run, "saved_models/en-zh").path)
    assert_type(loaded, TextTranslator)
    assert_type(kt.Config().model, kt.ModelConfig)


def names_that_are_imported_late() -> None:
    assert_type(kt.layers.EncoderLayer, type[kt.EncoderLayer])
    assert_type(serving.Client("localhost:8501", "m"), serving.Client)
    plots.save_figure(plots.plot_runs([]), "runs.svg")


def mistakes() -> None:
    kt.prepare(3, "data")  # type: ignore[arg-type]  # A corpus is a path.
    kt.nothing  # type: ignore[attr-defined]  # noqa: B018  # No such name.
