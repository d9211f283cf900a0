"""Pictures that need a trained model: the demo's, or a small one's.

The small one is trained here, in a minute, where `runs/demo` isn't there.
"""

import dataclasses
import functools
from pathlib import Path

import tutorial_plots

from keras_transformer import (
    PreparedData,
    Run,
    plots,
    prepare,
    preset,
)
from keras_transformer.data.demo import load_demo_corpus
from keras_transformer.training.fit import fit

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "runs" / "demo"
SMALL = ROOT / "docs" / "_build" / "small"

_SENTENCE = "She has two cats."


def _lengths(language):
    return plots.plot_lengths(_data().lengths("train"), language=language)


def _padding_share(language):
    shares = tutorial_plots.padding_shares(_data().lengths("train"))
    return tutorial_plots.plot_padding_share(shares, language=language)


def _training_curves(language):
    return plots.plot_training_curves(_run().history(), language=language)


def _attention_encoder(language):
    seen = _attention()
    tokens = seen.source_tokens
    return plots.plot_attention(seen.encoder, tokens, tokens, language=language)


def _attention_decoder(language):
    seen = _attention()
    tokens = seen.input_tokens
    return plots.plot_attention(seen.decoder, tokens, tokens, language=language)


def _attention_cross(language):
    seen = _attention()
    return plots.plot_attention(
        seen.cross,
        seen.output_tokens,
        seen.source_tokens,
        row_label="Query: token being written",
        language=language,
    )


def _beam_tree(language):
    tree = plots.sentence_beam_tree(_run(), _model(), _SENTENCE)
    return plots.plot_beam_tree(tree, language=language)


def _runs_compared(language):
    layers = {"en": "layers", "zh": "层"}[language]
    rows = [plots.run_row(_small(n), f"{n} + {n} {layers}") for n in (1, 2)]
    return plots.plot_runs(rows, language=language)


PICTURES = {
    "lengths": _lengths,
    "padding_share": _padding_share,
    "training_curves": _training_curves,
    "attention_encoder": _attention_encoder,
    "attention_decoder": _attention_decoder,
    "attention_cross": _attention_cross,
    "beam_tree": _beam_tree,
    "runs_compared": _runs_compared,
}
# Those that look at what a model has learnt.
OF_A_MODEL = {
    "attention_encoder",
    "attention_decoder",
    "attention_cross",
    "beam_tree",
}


def has_demo() -> bool:
    """Whether there is a demo's run to look at."""
    return (DEMO / "run").is_dir()


def _data():
    if (DEMO / "data").is_dir():
        return PreparedData.load(DEMO / "data")
    return _small_data()


def _run():
    return Run.load(DEMO / "run") if has_demo() else _small(2)


@functools.cache
def _model():
    return _run().load_model()


@functools.cache
def _attention():
    return plots.sentence_attention(_run(), _model(), _SENTENCE)


def _small_data():
    if (SMALL / "data").is_dir():
        return PreparedData.load(SMALL / "data")
    SMALL.mkdir(parents=True, exist_ok=True)
    corpus = load_demo_corpus(train_size=2000, dev_size=100, test_size=0)
    for name in ("train", "dev"):
        lines = [f"{en}\t{zh}\n" for en, zh in getattr(corpus, name)]
        path = SMALL / f"{name}.tsv"
        path.write_text("".join(lines), encoding="utf-8")
    return prepare(
        [SMALL / "train.tsv"],
        SMALL / "data",
        preset("demo").data,
        dev=SMALL / "dev.tsv",
    )


def _small(num_layers):
    """A run of so many layers in each half; trained unless it is there."""
    folder = SMALL / f"run-{num_layers}"
    if folder.is_dir():
        return Run.load(folder)
    demo = preset("demo")
    config = dataclasses.replace(
        demo,
        model=dataclasses.replace(
            demo.model,
            num_encoder_layers=num_layers,
            num_decoder_layers=num_layers,
        ),
        training=dataclasses.replace(demo.training, epochs=4, warmup_steps=60),
    )
    data = _small_data()
    run = Run.create(folder, config, data)
    fit(run, data)
    return run
