import pytest

from keras_transformer.text import build_tokenizer
from tests.word_data import word_data

LINES = {
    "en": [
        'I can\'t see it, but he said: "Look!"',
        "The boys' books cost $3.88 (or 50% less).",
        "Look at the books. I see the boys.",
    ],
    "zh": ["我看不见，但是他说：“看！”", "他住在 New York 。", "看书吧。"],
}

# Options of the data that make a tokenizer of its sources one of this kind.
KINDS = {
    "word": {"source_tokenizer": "word"},
    "character": {"source_tokenizer": "character"},
    "space": {"source_tokenizer": "space"},
    "unigram": {"source_tokenizer": "sentencepiece"},
    "bpe": {"source_tokenizer": "sentencepiece", "sentencepiece_model": "bpe"},
    "mixed": {"source_tokenizer": "mixed"},
}


@pytest.fixture(
    scope="session",
    params=[
        *("word", "character", "unigram", "bpe", "mixed", "bytes"),
        *("tagged", "symbols"),
    ],
)
def tokenizer(request):
    """A small tokenizer of each kind."""
    return _make_tokenizer(request.param)


def _make_tokenizer(name, **options):
    language = "zh" if name in ("character", "mixed") else "en"
    size = {"bytes": 2048, "symbols": 110}.get(name, 60)
    tags = ["<BT>"] if name == "tagged" else []
    if name in ("unigram", "bpe"):
        options["sentencepiece_model"] = name
    if name == "symbols":
        options["markup"] = name
    if name in ("unigram", "bpe", "bytes", "tagged", "symbols"):
        name = "sentencepiece"
    return build_tokenizer(
        name,
        lambda: LINES[language] * 5,
        word_data(**options),
        language,
        size,
        tags=tags,
    )
