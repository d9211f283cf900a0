"""A tiny trained-looking run, and one export of it, for all export tests."""

import os
import pathlib
import pickle
import subprocess
import sys
import types

import keras
import pytest

from keras_transformer.config import Config
from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.exporting.saved_translator import SavedTranslator
from keras_transformer.exporting.writer import saved_model
from keras_transformer.text.character import CharacterTokenizer
from keras_transformer.text.word import WordTokenizer
from keras_transformer.training.run import Run
from tests.built_once import built_once
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
    tokenizers = (
        _tokenizer(WordTokenizer, 0),
        _tokenizer(CharacterTokenizer, 1, simplify=True),
    )
    config = Config().updated({"model": {**MODEL, "max_length": 32}})

    def build(folder):
        keras.utils.set_random_seed(7)
        run = random_run(folder, config, word_data(), tokenizers)
        run.record_scores("best", {"dev_loss": 4.0})

    return Run.load(built_once(tmp_path_factory, "tiny", build))


@pytest.fixture(scope="session")
def model(run):
    """The run's Keras model."""
    return run.load_model()


@pytest.fixture(scope="session")
def report(run, tmp_path_factory):
    """What exporting the run reported; its `path` is the export."""

    def build(folder):
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            # One test alone waits for the checks.
            patch.setattr(saved_model, "check_in_fresh_process", lambda _: ())
            report = saved_model.export_run(
                run, folder / "tiny", warmup_texts=TEXTS
            )
        (folder / "report").write_bytes(pickle.dumps(report))

    folder = built_once(tmp_path_factory, "tiny_export", build)
    return pickle.loads((folder / "report").read_bytes())


@pytest.fixture(scope="session")
def translator(report):
    """Of the export, by the folder of its versions."""
    return SavedTranslator(report.path.parent)


def random_run(folder, config, data, tokenizers):
    """A new run in a folder, with random weights."""
    prepared = types.SimpleNamespace(
        config=data,
        source_tokenizer=tokenizers[0],
        target_tokenizer=tokenizers[1],
        fingerprint="0" * 64,
        counts={},
    )
    run = Run.create(folder, config, prepared)
    run.save_weights(run.build_model(), "best", 1, {"dev_loss": 4.0})
    return run


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
