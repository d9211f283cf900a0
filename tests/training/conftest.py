"""The toy corpus, prepared once, and a configuration for it."""

import pytest

from keras_transformer.config import Config
from keras_transformer.data.prepare import prepare
from keras_transformer.training.run import Run
from tests.toy_models import MODEL, write_corpus
from tests.word_data import word_data


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    write_corpus(folder)
    config = word_data(
        target_language="en",
        target_tokenizer="word",
        remove_duplicates=False,
        max_length=20,
    )
    return prepare(
        [folder / "train.tsv"],
        folder / "data",
        config,
        dev=folder / "dev.tsv",
    )


@pytest.fixture(scope="session")
def config():
    return Config().updated(
        {
            "model": MODEL,
            "training": {
                "epochs": 3,
                "batch_sentences": 16,
                "warmup_steps": 20,
                "checkpoint_every": 4,
                # More parts of a batch would be more to trace.
                "threads": 1,
            },
        }
    )


@pytest.fixture(scope="session")
def new_run(prepared, config, tmp_path_factory):
    """Makes runs that differ from `config` in the sections given."""

    def make(initial=None, **sections):
        folder = tmp_path_factory.mktemp("new") / "run"
        return Run.create(folder, config.updated(sections), prepared, initial)

    return make
