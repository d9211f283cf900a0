"""Marian's vocabularies as tokenizers, against SentencePiece itself."""

import io
import os

import pytest
import sentencepiece
import tensorflow as tf

from keras_transformer.constants import UNK_ID
from keras_transformer.data.demo import load_demo_corpus
from keras_transformer.errors import InputError
from keras_transformer.importing.vocabulary import (
    make_tokenizer,
    new_order,
    read_lines,
    read_vocabulary,
)

# No two unknown characters stand together: see `_reorder`.
ODD = ["x 1 À", "  A  b ", "你 A", "🙂", ""]


def train(texts, size, **options):
    file = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=file,
        vocab_size=size,
        hard_vocab_limit=False,
        character_coverage=0.99,
        minloglevel=2,
        **options,
    )
    return file.getvalue()


def loaded(*models):
    """SentencePiece's own processors, a vocabulary of theirs, its order."""
    processors = [
        sentencepiece.SentencePieceProcessor(model_proto=model)
        for model in models
    ]
    pieces = [[p.id_to_piece(i) for i in range(3, len(p))] for p in processors]
    joint = dict.fromkeys([*pieces[0][:-5], *pieces[-1]])
    tokens = ["</s>", "<unk>", *joint, "<pad>"]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    last = len(tokens) - 1
    return processors, vocabulary, new_order(vocabulary, last, last)


@pytest.mark.parametrize(
    ("model_type", "bytes_for_unknown"),
    [("unigram", False), ("unigram", True), ("bpe", False)],
)
def test_ids_are_those_of_pieces_in_the_vocabulary(
    model_type, bytes_for_unknown, tmp_path
):
    pairs = load_demo_corpus().train[:600]
    options = {"model_type": model_type, "byte_fallback": bytes_for_unknown}
    sizes = (560, 900) if bytes_for_unknown else (300, 640)
    models = [
        train([pair[side] for pair in pairs], sizes[side], **options)
        for side in (0, 1)
    ]
    processors, vocabulary, order = loaded(*models)
    for side in (0, 1):
        path = tmp_path / f"{side}.spm"
        path.write_bytes(models[side])
        tokenizer = make_tokenizer(path, vocabulary, order, nfc=False)
        texts = [pair[side] for pair in pairs[:200]] + ODD
        expected = [
            [vocabulary.get(piece, 1) for piece in row]
            for row in processors[side].encode(texts, out_type=str)
        ]
        ids = tokenizer.tokenize(texts).to_list()
        assert [[order[i] for i in row] for row in ids] == expected
        known = tf.ragged.constant(ids[:200], tf.int32)
        for text, row, written in zip(
            texts, ids, tokenizer.detokenize(known).numpy(), strict=False
        ):
            if UNK_ID not in row:
                parts = processors[side].encode(text, out_type=str)
                assert written.decode() == processors[side].decode(parts)


def test_bpe_with_bytes_is_refused(tmp_path):
    texts = [pair[0] for pair in load_demo_corpus().train[:600]]
    path = tmp_path / "source.spm"
    model = train(texts, 560, model_type="bpe", byte_fallback=True)
    path.write_bytes(model)
    with pytest.raises(InputError, match="source.spm: a BPE model with bytes"):
        make_tokenizer(path, *loaded(model)[1:])


def test_bytes_of_a_rare_character_beside_a_replacement(tmp_path):
    """Pieces such as <0xE6> are joined to characters there, too."""
    texts = [pair[0] for pair in load_demo_corpus().train[:600]]
    path = tmp_path / "bytes.spm"
    model = train(texts, 560, model_type="unigram", byte_fallback=True)
    path.write_bytes(model)
    _, vocabulary, order = loaded(model)
    tokenizer = make_tokenizer(path, vocabulary, order, nfc=False)
    ids = tokenizer.tokenize(["a \u65e5 man"]).to_tensor()
    assert ids.shape[1] > 3
    none = tf.fill(tf.shape(ids), "")
    for replacements in (None, none):
        (text,) = tokenizer.detokenize(ids, replacements).numpy()
        assert text.decode() == "a \u65e5 man"
    (text,) = tokenizer.detokenize(ids[:, :-3], none[:, :-3]).numpy()
    text.decode()  # Also where the bytes of a character are cut.


@pytest.mark.parametrize(
    "lines",
    [
        'a: 0\n"b": 1\n"\\"": 2\n</s>: 3\n<unk>: 4\n":": 5\n\'\'\'\': 6\n',
        '? a\n: 0\nb: 1\n"\\x22": 2\n</s>: 3\n<unk>: 4\n::  5\n"\'": 6\r\n',
    ],
)
def test_odd_lines_of_a_vocabulary(lines, tmp_path):
    path = tmp_path / "vocab.yml"
    path.write_text(lines)
    expected = ["a", "b", '"', "</s>", "<unk>", ":", "'"]
    assert sorted(read_vocabulary(path).items()) == sorted(
        (token, i) for i, token in enumerate(expected)
    )


@pytest.mark.parametrize("lines", ["a 0\n", "a: b\n", "a: 0\na: 1\n", "\xd8"])
def test_damaged_lines_are_refused(lines, tmp_path):
    path = tmp_path / "vocab.yml"
    path.write_bytes(lines.encode("latin-1"))
    with pytest.raises(InputError, match="vocab.yml(, line|: not UTF-8)"):
        read_vocabulary(path)


def test_files_without_end_are_refused(tmp_path):
    path = tmp_path / "vocab.yml"
    path.touch()
    os.truncate(path, (1 << 28) + 1)
    vocabulary = {"</s>": 0, "<unk>": 1}
    order = new_order(vocabulary, None, None)
    for read in (
        lambda: read_vocabulary(path),
        lambda: read_lines(path, ("<s>",)),
        lambda: make_tokenizer(path, vocabulary, order),
    ):
        with pytest.raises(InputError, match="too large"):
            read()
