"""A small corpus, prepared once, and runs on it."""

import pytest

from keras_transformer.config import Config, DataConfig
from keras_transformer.data.prepare import prepare

DIGITS = ("zero", "one", "two", "three", "four", "five")


def pairs(count):
    """Sentences of digits, and the same digits reversed."""
    for number in range(count):
        digits = [DIGITS[(number // 6**i) % 6] for i in range(2 + number % 3)]
        yield " ".join(digits), " ".join(reversed(digits))


@pytest.fixture(scope="session")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("corpus")
    lines = [f"{source}\t{target}\n" for source, target in pairs(200)]
    (folder / "train.tsv").write_text("".join(lines))
    (folder / "dev.tsv").write_text("".join(lines[:20]))
    config = DataConfig(
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
            "model": {
                "num_encoder_layers": 1,
                "num_decoder_layers": 1,
                "d_model": 16,
                "num_heads": 2,
                "d_ff": 32,
                "max_length": 24,
            },
            "training": {
                "epochs": 3,
                "batch_sentences": 16,
                "warmup_steps": 20,
                "checkpoint_every": 4,
            },
        }
    )
