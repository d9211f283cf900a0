"""Toy corpora, small Transformers, their runs, and translator factories.

What needs TensorFlow is imported by the functions that need it: workers and
scripts read this module in processes that have none.
"""

import dataclasses
import functools
import math
import os
import pathlib
import time

import numpy as np

from keras_transformer.config import DecodingConfig, ModelConfig
from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.errors import InputError
from keras_transformer.training.observer import Observer

DIGITS = ("zero", "one", "two", "three", "four", "five")
MODEL = {
    "num_encoder_layers": 1,
    "num_decoder_layers": 1,
    "d_model": 16,
    "num_heads": 2,
    "d_ff": 32,
    "max_length": 24,
}
NO_DROPOUT = dict.fromkeys(
    ("dropout", "attention_dropout", "feedforward_dropout"), 0.0
)
# Of `small_transformer`.
VARIANTS = {
    "pre": {},
    "post": {"norm": "post"},
    "pre, tied": {"tied_embeddings": "target"},
    "post, tied": {"tied_embeddings": "all", "norm": "post"},
    "learned, gelu": {"positions": "learned", "activation": "gelu"},
    "no final norm": {"final_norm": False},
    "post, final norm": {"norm": "post", "final_norm": True},
    "as Marian's": {
        "norm": "post",
        "activation": "swish",
        "tied_embeddings": "all",
        "output_bias": True,
        "positions": "tensor2tensor",
        "source_start": False,
    },
    "as OpenNMT's": {
        "positions": "tensor2tensor",
        "first_position": 1,
        "source_start": False,
        "source_end": False,
    },
}
VOCABULARY_SIZE = 20
# Of `aligned_translator`.
WORDS = ["alpha", "beta", "gamma", "delta"]
TEXTS = ["alpha beta gamma", "", "Zed", "beta Ωmega Beta alpha delta"]


def pairs(count):
    """Sentences of digits, and the same digits reversed."""
    for number in range(count):
        digits = [DIGITS[(number // 6**i) % 6] for i in range(2 + number % 3)]
        yield " ".join(digits), " ".join(reversed(digits))


def write_corpus(folder: pathlib.Path, train=200, dev=20):
    """Writes `train.tsv` and `dev.tsv`, the latter a part of the former."""
    lines = [f"{source}\t{target}\n" for source, target in pairs(train)]
    (folder / "train.tsv").write_text("".join(lines))
    (folder / "dev.tsv").write_text("".join(lines[:dev]))


def small_transformer(variant="pre", seed=1, alignment_head=None, **changes):
    """A model with random biases, scales and offsets.

    Args:
        variant: one of `VARIANTS`.
        seed: of the weights.
        alignment_head: see `Transformer`.
        changes: to the configuration.
    """
    from keras_transformer.models import build_transformer

    options = {
        "num_encoder_layers": 2,
        "num_decoder_layers": 3,
        "d_model": 16,
        "num_heads": 2,
        "d_ff": 32,
        "max_length": 64,
        **VARIANTS[variant],
        **changes,
    }
    final_norm = options.pop("final_norm", None)
    config = ModelConfig(**options)
    model = build_transformer(
        config,
        VOCABULARY_SIZE,
        VOCABULARY_SIZE,
        final_norm,
        alignment_head=alignment_head,
    )
    randomise(model, seed)
    return model


@functools.cache
def shared_transformer(variant):
    """`small_transformer(variant)`, made once in a process: only to be read."""
    return small_transformer(variant)


def randomise(model, seed):
    """Other weights: clear in effect, and none at its initial 0 or 1."""
    random = np.random.default_rng(seed)
    for weight in model.weights:
        if not weight.trainable:
            continue
        noise = random.normal(size=weight.shape)
        if weight.path.endswith("gamma"):
            weight.assign(1.0 + 0.3 * noise)
        elif len(weight.shape) == 1:
            weight.assign(0.3 * noise)
        elif "embedding" in weight.path:
            weight.assign(0.25 * noise)
        else:
            weight.assign(noise * (2.0 / weight.shape[0]) ** 0.5)


def by_full_passes(model):
    """The functions of a search, by calling the Keras model itself."""
    import tensorflow as tf

    from tests.fake_models import Uncached

    ids = tf.TensorSpec([None, None], tf.int32)
    return Uncached(
        tf.function(
            lambda source_ids, target_ids: model(
                {"source_ids": source_ids, "target_ids": target_ids},
                training=False,
            ),
            input_signature=[ids, ids],
            autograph=False,
        )
    )


def check_equal(actual, expected, atol=1e-4):
    """`SearchResult`s of equal ids; scores that differ by rounding."""
    np.testing.assert_array_equal(actual.ids, expected.ids)
    np.testing.assert_array_equal(actual.lengths, expected.lengths)
    np.testing.assert_array_equal(actual.finished, expected.finished)
    for name in ("scores", "log_probabilities"):
        np.testing.assert_allclose(
            getattr(actual, name),
            getattr(expected, name),
            atol=atol,
            err_msg=name,
        )


def tokenizers():
    """Four words on the source side, four letters on the target's."""
    from keras_transformer.text import CharacterTokenizer, WordTokenizer

    return (
        WordTokenizer([*SPECIAL_TOKENS, *WORDS]),
        CharacterTokenizer([*SPECIAL_TOKENS, *"abcd"]),
    )


def aligned_translator(**decoding):
    """An untrained one that aligns; each call's has the same weights."""
    import keras

    from keras_transformer.inference.incremental import IncrementalTransformer
    from keras_transformer.models import build_transformer
    from keras_transformer.translation.translator import Translator

    config = ModelConfig(
        num_encoder_layers=1,
        num_decoder_layers=2,
        d_model=8,
        num_heads=2,
        d_ff=8,
        max_length=12,
    )
    keras.utils.set_random_seed(1)
    model = build_transformer(config, 8, 8)
    random = np.random.default_rng(3)
    model.set_weights(
        [w + random.normal(0, 1, w.shape) for w in model.get_weights()]
    )
    return Translator(
        *tokenizers(),
        IncrementalTransformer(model, align=True),
        DecodingConfig(**{"beam_size": 3, "max_length": 6, **decoding}),
    )


class Recorder(Observer):
    """Remembers, and asks to stop after some steps.

    Args:
        stop_after: how many.
        score: what it remembers of each step.
    """

    def __init__(self, stop_after=math.inf, score="loss"):
        self.steps = []
        self.epochs = []
        self._stop_after = stop_after
        self._score = score

    def aligns(self, pairs):
        self.aligned_pairs = pairs

    def step(self, epoch, batch, logs):
        self.steps.append((epoch, batch, float(logs[self._score])))

    def epoch(self, epoch, logs):
        self.epochs.append((epoch, dict(logs)))

    def stopped_early(self, epochs):
        self.ended_after = epochs

    def stop(self):
        return len(self.steps) >= self._stop_after


def fit_watched(run, prepared):
    """Trains with scores of dev: the model, and a `Recorder`."""
    from keras_transformer.training.fit import fit

    recorder = Recorder()
    model = fit(
        run, prepared, observer=recorder, measure=lambda model: {"bleu": 12.5}
    )
    return model, recorder


def weights_of(model):
    return [weight.numpy() for weight in model.weights]


def assert_same_weights(models, tolerance=0.0):
    """Both models have the same weights, up to a tolerance."""
    for ours, theirs in zip(*map(weights_of, models), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=tolerance)


def difference(ours, theirs):
    """The largest difference between two lists of arrays."""
    pairs = zip(ours, theirs, strict=True)
    return max(np.abs(one - other).max() for one, other in pairs)


def fit_in_two_parts(run, prepared, stop_after):
    """Trains, stops after so many steps, and resumes: the model."""
    import pytest

    from keras_transformer.training.checkpoint import Interrupted
    from keras_transformer.training.fit import fit
    from keras_transformer.training.run import Run

    recorder = Recorder(stop_after)
    with pytest.raises(Interrupted):
        fit(run, prepared, observer=recorder, stop_requested=recorder.stop)
    return fit(Run.load(run.folder), prepared, resume=True)


@dataclasses.dataclass(frozen=True)
class Shout:
    """Upper case; some words make the worker misbehave."""

    delay: float = 0.0

    def __call__(self):
        return self.translate

    def translate(self, lines):
        if self.delay:
            time.sleep(self.delay * len(lines[0]))
        for line in lines:
            if line == "bug":
                raise KeyError("no such word")
            if line == "full":
                raise MemoryError("no room")
            if line == "wrong":
                raise InputError("line 7: a wrong word")
            if line == "exit":
                os._exit(3)
            if line == "sleep":
                time.sleep(1000)
        return [line.upper() for line in lines]


@dataclasses.dataclass(frozen=True)
class Refuse:
    """Can't be loaded."""

    def __call__(self):
        raise InputError("run/weights: damaged")


@dataclasses.dataclass(frozen=True)
class Whereabouts:
    """Says of every line by whom it was translated."""

    def __call__(self):
        import tensorflow as tf

        threads = tf.config.threading.get_intra_op_parallelism_threads()
        return lambda lines: [(os.getpid(), threads) for _ in lines]


@dataclasses.dataclass(frozen=True)
class SmallTranslator:
    """Translates letters greedily with a random Transformer."""

    def __call__(self):
        from keras_transformer.inference.incremental import (
            IncrementalTransformer,
        )
        from keras_transformer.text.character import CharacterTokenizer
        from keras_transformer.translation.details import detailed_translator
        from keras_transformer.translation.translator import Translator

        tokenizer = CharacterTokenizer([*SPECIAL_TOKENS, *"abcdefghijklmnop"])
        translator = Translator(
            tokenizer,
            tokenizer,
            IncrementalTransformer(small_transformer()),
            DecodingConfig(beam_size=1, max_length=4),
        )
        return detailed_translator(translator)
