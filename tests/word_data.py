"""The notebooks' data section: English words to Chinese characters."""

from keras_transformer.config import DataConfig

_WORDS = {"source_language": "en", "target_language": "zh", "lowercase": True}


def word_data(**values):
    """A section with these values, and else words of English sources."""
    values = {**_WORDS, **values}
    if values["source_language"] == "en" and not values.get(
        "shared_vocabulary"
    ):
        values.setdefault("source_tokenizer", "word")
    return DataConfig(**values)
