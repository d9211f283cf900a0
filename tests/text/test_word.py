import random
import unicodedata

import pytest
import tensorflow as tf
from nltk.tokenize import word_tokenize

from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.text import WordTokenizer

_PIECES = [
    *"abtsdmn'\" .,:;!?()[]{}<>`-$%&@#*/_=\\123",
    *"…“”‘’«»„—–İıſßÉé²½Ⅳ你😀\u0301\u200d\u200b\u3000\xa0\t\n\x1c\ufdd0",
    *["''", "``", "--", "...", " 's", "n't", "'ll ", "'re", "'ve", " '", '" '],
    *["cannot", "gimme", "wanna ", "more'n", "d'ye", " 'tis", " 'twas", "MR."],
]


@pytest.fixture(scope="module", params=[True, False], ids=["lower", "as-is"])
def lowercase(request):
    return request.param


def _differences(lines, lowercase):
    tokenizer = WordTokenizer(SPECIAL_TOKENS, lowercase=lowercase)
    split = tf.function(
        tokenizer.split,
        input_signature=[tf.TensorSpec([None], tf.string)],
        autograph=False,
    )
    found = split(tf.constant(lines)).to_list()
    normal = tokenizer.normalizer(tf.constant(lines)).numpy()
    texts = [text.decode() for text in normal]
    lowered = map(str.lower, texts) if lowercase else texts
    expected = [word_tokenize(text, preserve_line=True) for text in lowered]
    ours = [[token.decode() for token in tokens] for tokens in found]
    pairs = zip(texts, ours, expected, strict=True)
    return [each for each in pairs if each[1] != each[2]]


def test_splits_random_text_as_nltk(lowercase):
    generator = random.Random(0)
    lines = [
        "".join(generator.choices(_PIECES, k=generator.randint(1, 12)))
        for _ in range(10_000)
    ]
    assert _differences(lines, lowercase) == []


def test_splits_beside_any_assigned_character_as_nltk():
    late = {0x2C2F}  # its lower case came with Unicode 14
    characters = [
        chr(point)
        for point in range(1, 0x2E80)
        if unicodedata.category(chr(point)) != "Cn" and point not in late
    ]
    lines = [f"'{c}a {c}'d s{c} '{c} {c}cannot 's{c}" for c in characters]
    assert _differences(lines, lowercase=True) == []


def _restored(lines):
    tokenizer = WordTokenizer(SPECIAL_TOKENS)
    pieces = tokenizer.split(lines)
    tokens = sorted(set(pieces.flat_values.numpy()))
    tokenizer = WordTokenizer(
        [*SPECIAL_TOKENS, *(token.decode() for token in tokens)]
    )
    text = tokenizer.detokenize(tokenizer.tokenize(lines)).numpy()
    return [line.decode() for line in text]


def test_detokenizing_restores_real_sentences(sentence_pairs):
    sentences = [english.lower() for english, _ in sentence_pairs]
    assert _restored(sentences) == sentences


def test_detokenizing_joins_any_tokens_without_double_spaces():
    tokens = [".", "''", "``", "'", "(", ")", "n't", "'s", "$", "a", "...", "@"]
    tokenizer = WordTokenizer([*SPECIAL_TOKENS, *tokens])
    generator = random.Random(0)
    rows = [
        [generator.randrange(1, tokenizer.vocabulary_size) for _ in range(9)]
        for _ in range(500)
    ]
    for text in tokenizer.detokenize(rows).numpy():
        text = text.decode()
        assert "  " not in text
        assert text == text.strip()
        assert "\ufdd0" not in text


def test_lowercase_is_an_option():
    tokens = [*SPECIAL_TOKENS, "the", "The"]
    assert WordTokenizer(tokens).tokenize(["The"]).to_list() == [[4]]
    kept = WordTokenizer(tokens, lowercase=False)
    assert kept.tokenize(["The"]).to_list() == [[5]]
