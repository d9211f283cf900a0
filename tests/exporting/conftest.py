"""A tiny trained-looking run, and one export of it, for all export tests."""

import os
import pathlib
import pickle
import subprocess
import sys
import types

import keras
import numpy as np
import pytest

from keras_transformer.config import Config
from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.exporting.writer import saved_model
from keras_transformer.exporting.writer.signatures import TracedSignatures
from keras_transformer.text.character import CharacterTokenizer
from keras_transformer.text.word import WordTokenizer
from keras_transformer.training.run import Run
from tests.built_once import built_once
from tests.exporting.broken import all_changed, compiled, reading, save
from tests.toy_models import MODEL
from tests.word_data import word_data

SENTENCES = (
    ("Where is the dog?", "狗在哪里？"),
    ("The dog isn't here.", "狗不在这里。"),
    ("I can see two birds.", "我能看见两只鸟。"),
    ("She reads a book every day.", "她每天读一本书。"),
    ("He doesn't like tea.", "他不喜欢茶。"),
    ("We were at home yesterday.", "我们昨天在家。"),
    ("Do you know him?", "你认识他吗？"),
    ("It is raining.", "下雨了。"),
    ("This house is bigger than that one.", "这座房子比那座大。"),
    ("My friend bought three apples.", "我的朋友买了三个苹果。"),
    ("Please open the window.", "请打开窗户。"),
    ("They will come tomorrow.", "他们明天会来。"),
)
TEXTS = [source for source, _ in SENTENCES[:3]] + ["Zebra? 狗!"]


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """A run of a model of 1 + 1 layers with random weights."""
    keras.utils.set_random_seed(7)
    source_tokenizer = _tokenizer(WordTokenizer, 0)
    target_tokenizer = _tokenizer(CharacterTokenizer, 1, simplify=True)
    prepared = types.SimpleNamespace(
        config=word_data(),
        source_tokenizer=source_tokenizer,
        target_tokenizer=target_tokenizer,
        fingerprint="0" * 64,
        counts={"train": len(SENTENCES), "dev": 0},
        lengths=lambda split: np.full((len(SENTENCES), 2), 9),
    )

    def build(folder):
        run = Run.create(folder, _config(), prepared)
        model = run.build_model()
        run.save_weights(model, "best", 1, {"dev_loss": 4.0})
        run.record_scores("best", {"dev_loss": 4.0})

    return Run.load(built_once(tmp_path_factory, "tiny", build))


@pytest.fixture(scope="session")
def report(run, request, tmp_path_factory):
    """What exporting the run reported; its `path` is the export."""

    def build(folder):
        folder.mkdir()
        # Only the process that exports has to trace for it.
        served = request.getfixturevalue("served")
        expected = run.source_tokenizer, run.target_tokenizer
        expected += run.config.decoding, None, [], None, run.config.data

        def traced(model, *arguments):
            assert arguments == expected
            return served

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(saved_model, "TracedSignatures", traced)
            report = saved_model.export_run(
                run, folder / "tiny", warmup_texts=TEXTS
            )
        (folder / "report").write_bytes(pickle.dumps(report))

    folder = built_once(tmp_path_factory, "tiny_export", build)
    return pickle.loads((folder / "report").read_bytes())


@pytest.fixture(scope="session")
def model(run):
    """The run's Keras model, the one that `served` reads."""
    return run.load_model()


@pytest.fixture(scope="session")
def served(run, model):
    """The run's signatures, traced once for all tests that break them."""
    return TracedSignatures(
        model,
        run.source_tokenizer,
        run.target_tokenizer,
        run.config.decoding,
        data=run.config.data,
    )


@pytest.fixture(scope="session")
def keras_export(served, report, model, tmp_path_factory):
    """An export whose module has a Keras model as an attribute."""
    folder = tmp_path_factory.mktemp("broken") / "keras"
    functions = all_changed(served, reading(model.weights[0]))
    return save(served, report, folder, functions, model=model)


@pytest.fixture(scope="session")
def compiled_export(served, report, tmp_path_factory):
    """An export with a function that has to be compiled by XLA."""
    folder = tmp_path_factory.mktemp("broken") / "compiled"
    return save(served, report, folder, all_changed(served, compiled))


@pytest.fixture
def texts():
    """The texts that `report`'s export was checked with."""
    return list(TEXTS)


def run_python(code, *words):
    """A process that ran code with words as its arguments."""
    return subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        env={**os.environ, "PYTHONPATH": str(pathlib.Path.cwd())},
        capture_output=True,
        text=True,
        check=False,
    )


def _tokenizer(kind, side, **options):
    splitter = kind(SPECIAL_TOKENS, **options)
    lines = splitter.split([pair[side] for pair in SENTENCES])
    tokens = {token.decode() for token in lines.flat_values.numpy()}
    return kind([*SPECIAL_TOKENS, *sorted(tokens)], **options)


def _config():
    shape = {**MODEL, "max_length": 32}
    return Config().updated({"model": shape})
