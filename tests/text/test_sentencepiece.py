import gc
import json
import re

import keras
import pytest
import tensorflow as tf

from keras_transformer.constants import UNK_ID
from keras_transformer.errors import InputError
from keras_transformer.text import (
    SentencePieceTokenizer,
    build_tokenizer,
    load_tokenizer,
    vocabulary_training,
)
from keras_transformer.text.vocabulary_training import train_sentencepiece
from tests.word_data import word_data

LINES = [
    f"the {w}er is {w}ing {n}." for n in range(20) for w in ("walk", "talk")
]
MODELS = pytest.mark.parametrize("model_type", ["unigram", "bpe"])


def test_a_file_that_is_larger_than_any_model_is_not_read(tmp_path):
    with (tmp_path / "spm.model").open("wb") as file:
        file.truncate(2**40)  # A hole: it takes no space.
    with pytest.raises(InputError, match="too large. Accepted"):
        SentencePieceTokenizer(tmp_path / "spm.model")


@MODELS
def test_a_sample_of_the_text_depends_on_the_seed_alone(
    model_type, monkeypatch
):
    monkeypatch.setattr(vocabulary_training, "MAX_SENTENCES", 10)

    def train(seed):
        return train_sentencepiece(LINES, 40, model_type=model_type, seed=seed)

    assert train(1) == train(1) != train(2)
    assert b"rules.tsv" not in train(1)  # A temporary path.


def test_a_seed_of_keras_leaves_models_where_they_are():
    one, other = map(train_sentencepiece, (LINES, ["a b c"] * 9), (40, 12))
    tokenizers = [SentencePieceTokenizer(model) for model in (one, other, one)]
    texts = ["the walker", "a b"]
    inside = tf.function(tokenizers[0].tokenize)
    before = [t.tokenize(texts).to_list() for t in tokenizers]
    assert before[0] == inside(texts).to_list() == before[2] != before[1]
    keras.utils.set_random_seed(1)  # clears TensorFlow's kernels
    tokenizers.pop().tokenize(texts)
    gc.collect()
    assert [t.tokenize(texts).to_list() for t in tokenizers] == before[:2]
    assert inside(texts).to_list() == before[0]


@MODELS
@pytest.mark.parametrize(
    "lines", [["a"], ["ab ab", ""], ["Öl!", "你好"], LINES]
)
def test_a_small_corpus_gives_a_smaller_vocabulary(model_type, lines):
    model = train_sentencepiece(lines, 8000, model_type=model_type)
    tokenizer = SentencePieceTokenizer(model)
    assert 4 < tokenizer.vocabulary_size < 8000
    ids = tokenizer.tokenize(lines)
    text = [line.decode() for line in tokenizer.detokenize(ids).numpy()]
    assert text == lines


@MODELS
def test_a_frequent_word_that_a_space_always_follows_is_one_piece(model_type):
    nouns = [a + b for a in "bdfgklmnprst" for b in ("all", "und", "isch")]
    lines = [f"eine{end} {noun} ." for end in "mnrs" for noun in nouns]
    model = train_sentencepiece(lines, 60, model_type=model_type)
    tokens = SentencePieceTokenizer(model).tokens()
    assert {"▁einem", "▁einen", "▁einer", "▁eines"} <= set(tokens)


@MODELS
def test_too_small_a_vocabulary_is_refused(model_type):
    with pytest.raises(
        InputError, match="8 SentencePiece pieces .* Accepted: "
    ):
        train_sentencepiece(LINES, 8, model_type=model_type)
    with pytest.raises(InputError, match="no text to train a SentencePiece"):
        train_sentencepiece(["", "  "], 100, model_type=model_type)


def _round_trip(tokenizer, lines):
    ids = tokenizer.tokenize(lines)
    assert UNK_ID not in ids.flat_values.numpy()
    return [line.decode() for line in tokenizer.detokenize(ids).numpy()]


@MODELS
@pytest.mark.parametrize(
    "line",
    [
        "我们在这里学习中文。" * 300,
        "ภาษาไทยไม่มีช่องว่าง" * 200,
        "a letter and a word " * 300 + "end",
        "🙂" * 3000,
    ],
    ids=["zh", "th", "en", "no letters"],
)
@pytest.mark.parametrize("short", [[], ["b"]], ids=["alone", "beside others"])
def test_long_lines_are_trained_on(model_type, line, short):
    lines = [line, *short]
    tokenizer = SentencePieceTokenizer.train(lines, 300, model_type=model_type)
    assert _round_trip(tokenizer, lines) == lines


@MODELS
@pytest.mark.parametrize(
    "marked",
    ["▅", "▁", "a▁b ▅", "▁▁ x", "▂▃▅▇ ▁ ▅▁", "ＡＢ，你好… ﬁ ½"],
    ids=ascii,
)
def test_characters_come_back_as_they_are(model_type, marked):
    lines = [f"before {marked} behind", marked, "q neighbours", "z too"]
    tokenizer = SentencePieceTokenizer.train(lines, 80, model_type=model_type)
    assert _round_trip(tokenizer, lines) == lines
    surface = tokenizer.surface([lines[0]]).to_list()[0]
    assert b"".join(surface).decode() == "".join(lines[0].split())


@MODELS
def test_marks_that_training_has_not_seen_are_no_spaces(model_type):
    tokenizer = SentencePieceTokenizer.train(LINES, 50, model_type=model_type)
    ids = tokenizer.tokenize(["walk▁talk"])
    assert tokenizer.detokenize(ids).numpy()[0].decode() == "walk⁇talk"


@MODELS
def test_unknown_characters_become_bytes_or_stay_unknown(model_type, tmp_path):
    trained = SentencePieceTokenizer.train(LINES, 2048, model_type=model_type)
    trained.save(tmp_path)
    tokenizer = load_tokenizer(tmp_path)
    small = SentencePieceTokenizer.train(LINES, 300, model_type=model_type)
    for text in ("Größe", "walk 走 😀", "walk▁talk ▅", "\u0e01\U00020000"):
        assert _round_trip(tokenizer, [text]) == [text]
        surface = tokenizer.surface([text]).to_list()[0]
        assert b"".join(surface).decode() == "".join(text.split())
        assert UNK_ID in small.tokenize([text]).flat_values.numpy()
    ids = tokenizer.tokenize(["walk ü"])
    assert set(ids.to_list()[0][-2:]) <= set(tokenizer.unknown_ids())
    # As a search may leave them.
    assert (
        tokenizer.detokenize(ids[:, :-1]).numpy()[0].decode() == "walk \ufffd"
    )
    # As a sample may have them.
    first, *others = map(
        tokenizer.tokens().index, ("<0x00>", "<0x1B>", "<0x7F>")
    )
    ids = tf.constant(
        [[first, *tokenizer.tokenize(["walk"]).to_list()[0], *others]]
    )
    assert tokenizer.detokenize(ids).numpy()[0] == b"walk"


@MODELS
def test_mixed_has_a_piece_for_each_chinese_or_japanese_character(model_type):
    lines = [
        "在 Writer 中打开文件。",
        "文件中的 <emph>Writer</emph> 文件",
        "东京とうきょうタワーㄅㄆ，ＡＢ",
        "Writer 文件 writer",
    ] * 9
    config = word_data(sentencepiece_model=model_type)
    tokenizer = build_tokenizer("mixed", lambda: lines, config, "zh", 120)
    assert _round_trip(tokenizer, lines) == lines
    alone = re.compile(r"[\u3000-\u9fff\uff00-\uffef]")
    assert not [t for t in tokenizer.tokens() if t[1:] and alone.search(t)]
    chinese = "打开文件，文件。"
    assert tokenizer.surface([chinese]).to_list()[0] == (
        [character.encode() for character in chinese]
    )
    assert "▁Writer" in tokenizer.tokens()
    drawn = tokenizer.sampler(0.2)(tokenizer.tokenize(lines).to_list(), 1, 99)
    assert drawn != tokenizer.tokenize(lines).to_list()
    drawn = tokenizer.detokenize(tf.ragged.constant(drawn, tf.int32))
    assert [text.decode() for text in drawn.numpy()] == lines


@MODELS
def test_training_and_loading_print_nothing(model_type, capfd):
    model = train_sentencepiece(LINES, 8000, model_type=model_type)
    SentencePieceTokenizer(model).tokenize(["a"])
    with pytest.raises(InputError):
        train_sentencepiece(LINES, 8, model_type=model_type)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("model", [b"", b"junk"])
def test_what_is_no_model_is_refused(model):
    with pytest.raises(InputError, match="not a SentencePiece model"):
        SentencePieceTokenizer(model)


def test_a_number_of_pieces_that_there_are_not(tmp_path):
    """It made every token unknown, or failed where text was translated."""
    model = train_sentencepiece(LINES, 50)
    size = SentencePieceTokenizer(model).vocabulary_size
    SentencePieceTokenizer(model).save(tmp_path)
    path = tmp_path / "tokenizer.json"
    description = json.loads(path.read_text())
    says = f"option known is .* Accepted: 4 to {size}"
    for known in (-5, 0, 3, True, "9", 9.0, size + 1, 10**30):
        with pytest.raises(InputError, match=says):
            SentencePieceTokenizer(model, known=known)
        options = description["options"] | {"known": known}
        path.write_text(json.dumps(description | {"options": options}))
        with pytest.raises(InputError, match=f"tokenizer.json: {says}"):
            load_tokenizer(tmp_path)
    for known in (4, size):
        tokenizer = SentencePieceTokenizer(model, known=known)
        assert tokenizer.vocabulary_size == known
    with pytest.raises(InputError, match="option prefix is 5"):
        SentencePieceTokenizer(model, prefix=5)


def test_codes_of_languages_go_before_texts():
    """As tokenizers have them that are made of others' vocabularies."""
    model = SentencePieceTokenizer.train(LINES, 60).with_tokens(
        ["▁>>de<<", "▁>>da<<"]
    )
    content = model._content()
    size = model.vocabulary_size
    tokenizer = SentencePieceTokenizer(content, known=size, prefix=">>de<<")
    de, da = size - 2, size - 1
    assert tokenizer.language_codes() == [">>da<<", ">>de<<"]
    assert tokenizer.first_id() == de
    texts = ["the", ">>da<< the", ">>da<<the", "", ">>fr<< the"]
    plain, *codes, blank, other = tokenizer.tokenize(texts).to_list()
    assert plain[0] == other[0] == de
    assert codes == [[da, *plain[1:]]] * 2
    assert blank == []
    assert (
        tokenizer.detokenize([plain, *codes]).numpy().tolist() == [b"the"] * 3
    )
    bare = tokenizer.with_prefix("")
    assert bare.tokenize(["the"]).to_list() == [plain[1:]]
    assert bare.first_id() is None
    with pytest.raises(InputError, match="no language code of the tokenizer"):
        tokenizer.with_prefix(">>fr<<")
    # Those behind the known ones are unknown.
    fewer = SentencePieceTokenizer(content, known=da)
    assert fewer.language_codes() == [">>de<<"]
    assert fewer.tokenize([">>da<<"]).to_list()[0][-1] == UNK_ID
