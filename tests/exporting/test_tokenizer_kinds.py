import dataclasses

import pytest

from keras_transformer.exporting.writer.saved_model import export_run
from keras_transformer.text.tokenizer_training import build_tokenizer
from tests.exporting.conftest import random_run
from tests.word_data import word_data

LINES = (
    "Where is the dog?",
    "The dog isn't here.",
    "I can see two birds.",
    "She reads a book every day.",
    "我能看见两只鸟。",
    "她每天读一本书。",
)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["unigram", "bpe"])
def test_shared_sentencepiece_model_is_exported(run, tmp_path, model):
    kind = "sentencepiece"
    kinds = {"source_tokenizer": kind, "target_tokenizer": kind}
    data = word_data(**kinds, sentencepiece_model=model, shared_vocabulary=True)
    tokenizers = [build_tokenizer(kind, lambda: LINES, data, "en", 80)] * 2
    changes = {"tied_embeddings": "all", "positions": "learned", "norm": "post"}
    tied = dataclasses.replace(run.config.model, **changes)
    _export(run, tmp_path, data, tokenizers, tied)


@pytest.mark.slow
def test_bytes_and_characters_beside_pieces_are_exported(run, tmp_path):
    data = word_data(source_tokenizer="sentencepiece")
    tokenizers = [
        build_tokenizer(kind, lambda: LINES, data, language, 2048)
        for kind, language in (("sentencepiece", "en"), ("mixed", "zh"))
    ]
    assert all("<0xE6>" in tokenizer.tokens() for tokenizer in tokenizers)
    _export(run, tmp_path, data, tokenizers, run.config.model)


def _export(run, tmp_path, data, tokenizers, model):
    """Exports random weights; each check of the export has to pass."""
    config = dataclasses.replace(run.config, model=model)
    other = random_run(tmp_path / "run", config, data, tokenizers)
    report = export_run(other, tmp_path / "models")
    assert report.path.is_dir()
    assert report.checks
    assert all(check.passed for check in report.checks)
