"""`kt.prepare`: languages, presets, and the vocabulary that follows."""

import pytest

import keras_transformer as kt

LINES = [f"Open File {n}\tDatei {n} öffnen\n" for n in range(60)]


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "train.en-de.tsv"
    path.write_text("".join(LINES), encoding="utf-8")
    return path


def test_one_vocabulary_that_keeps_case_and_fits_the_text(corpus, tmp_path):
    data = kt.prepare(corpus, tmp_path / "data")
    config = data.config
    assert (config.source_language, config.target_language) == ("en", "de")
    assert config.shared_vocabulary
    assert data.source_tokenizer.kind == "sentencepiece"
    sizes = set(data.report["vocabulary_sizes"].values())
    assert len(sizes) == 1
    assert sizes.pop() < 100
    ids = data.source_tokenizer.tokenize(["Open File 3"])
    text = data.source_tokenizer.detokenize(ids).numpy()[0]
    assert text == b"Open File 3"


@pytest.mark.parametrize(
    "options",
    [
        {"source_language": "en", "target_language": "ru"},
        {"shared_vocabulary": False},
        {"target_tokenizer": "word"},
        {"preset": "tatoeba"},
        {"config": kt.DataConfig()},
    ],
)
def test_vocabularies_that_are_chosen_are_two(options, corpus, tmp_path):
    if "target_language" in options:
        corpus.write_text(corpus.read_text().replace("Datei", "файла открыть"))
    data = kt.prepare(corpus, tmp_path / "data", **options)
    assert not data.config.shared_vocabulary
    own = options.get("target_tokenizer", "sentencepiece")
    assert data.config.target_kind == own


def test_tokenizers_of_a_run_name_the_languages(corpus, tmp_path):
    first = kt.prepare(corpus, tmp_path / "first")
    more = corpus.rename(tmp_path / "more.tsv")
    second = kt.prepare(more, tmp_path / "second", tokenizers=first.path)
    assert second.config == first.config


def test_a_preset_or_a_section_is_taken(corpus, tmp_path):
    with pytest.raises(kt.InputError, match="a preset or a DataConfig"):
        kt.prepare(corpus, tmp_path / "data", kt.DataConfig(), preset="tiny")
