import functools

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig
from keras_transformer.constants import SPACE, SPECIAL_TOKENS, UNK_ID
from keras_transformer.text.character import CharacterTokenizer
from keras_transformer.translation.details import (
    align,
    details,
    score_details,
    tokenize,
)
from keras_transformer.translation.translator import NO_SCORE, Translator
from tests.fake_models import ScriptedModel, chain
from tests.toy_models import TEXTS, WORDS, aligned_translator, tokenizers

# Of details: what a hypothesis has.
PLACED = {"tokens", "scores", "log_probabilities", "token_log_probabilities"}


class AlignedModel(ScriptedModel):
    """Each output token attends to the source token at its own place."""

    max_length = 12

    def __init__(self, table):
        super().__init__(table)
        self.passes = 0

    def predict(self, source_ids, target_ids):
        self.passes += 1
        length, source_length = tf.shape(target_ids)[1], tf.shape(source_ids)[1]
        places = tf.minimum(tf.range(length), tf.shape(self.table)[0] - 1)
        logits = tf.gather(tf.gather(self.table, places), target_ids, axis=1)
        logits = tf.linalg.diag_part(tf.transpose(logits, [0, 3, 1, 2]))
        rows = tf.one_hot(tf.range(1, length + 1), source_length)
        attention = tf.zeros([tf.shape(target_ids)[0], 1, 1]) + rows
        return tf.transpose(logits, [0, 2, 1]), attention


def scripted(*ids, **options):
    """A translator that says `ids` whatever it is given."""
    return Translator(
        *tokenizers(),
        AlignedModel(chain(*ids, vocabulary_size=8)),
        DecodingConfig(**{"beam_size": 1, **options}),
    )


@pytest.fixture(scope="module")
def trained():
    return aligned_translator(early_stopping=False)


@functools.cache
def traced(make, translator, **options):
    """The graph function that `make` makes, traced once."""
    return make(translator, **options)


def text(strings):
    """Nested lists of text."""
    if isinstance(strings, bytes):
        return strings.decode()
    return [text(string) for string in strings]


def numpy(outputs):
    return {name: tensor.numpy() for name, tensor in outputs.items()}


def best(translator, texts=TEXTS):
    return text(translator.translate(tf.constant(texts))["translation"].numpy())


@pytest.mark.medium
def test_unknown_tokens_become_the_words_attended_to():
    assert best(scripted(4, UNK_ID, 5)) == ["a⁇b", "", "a⁇b", "a⁇b"]
    subject = scripted(4, UNK_ID, 5, replace_unknown=True)
    # What attends to END or to padding takes the nearest thing to text: the
    # first of the words, as all have the same share.
    assert best(subject) == ["abetab", "", "aZedb", "aΩmegab"]


@pytest.mark.medium
@pytest.mark.parametrize(("replaced", "last"), [(False, "c⁇"), (True, "cbeta")])
def test_a_prefix_stands_as_it_is(replaced, last):
    subject = scripted(6, UNK_ID, replace_unknown=replaced)
    run = details(subject, 1, prefixed=True)
    texts = tf.constant(["alpha beta", "", "alpha beta"])
    found = run(texts, tf.constant(["XaY", "X", ""]))
    assert text(found["translations"][:, 0].numpy()) == ["XaY", "", last]


@pytest.mark.medium
def test_every_hypothesis_is_replaced():
    subject = scripted(
        UNK_ID, UNK_ID, beam_size=2, replace_unknown=True, early_stopping=False
    )
    found = subject.nbest(tf.constant(["Zed Ωmega", "beta"]))
    first, second = text(found["translations"].numpy())
    assert first[0] == "ZedΩmega"
    assert second[0] == "betabeta"
    assert first[1] != first[0]
    assert "⁇" not in "".join(first + second)


@pytest.mark.medium
def test_a_token_of_space_has_its_place_in_the_source():
    subject = aligned_translator()
    words = [*SPECIAL_TOKENS, SPACE, *"ab"]
    subject.source_tokenizer = CharacterTokenizer(words)
    found = details(subject, 1, tokens=True)(tf.constant(["a b", "a"]))
    tokens = text(found["source_tokens"].numpy())
    assert tokens == [["", "a", " ", "b", ""], ["", "a", "", "", ""]]


@pytest.mark.medium
def test_details_agree_with_translate_and_nbest(trained):
    found = numpy(traced(details, trained)(tf.constant(TEXTS)))
    expected = numpy(trained.nbest(tf.constant(TEXTS)))
    assert text(found["translations"]) == text(expected["translations"])
    np.testing.assert_array_equal(found["scores"], expected["scores"])
    assert found["finished"].any()
    assert not found["finished"].all()
    one = numpy(traced(details, trained, num_hypotheses=1)(tf.constant(TEXTS)))
    assert one["translations"].shape == (len(TEXTS), 1)


def test_details_of_blank_texts_and_of_none(trained):
    function = traced(details, trained, alignment=True)
    found = numpy(function(tf.constant(["", "beta"])))
    assert text(found["translations"])[0] == [""] * 3
    left_over = np.float32(NO_SCORE)
    for name in ("scores", "log_probabilities"):
        assert found[name][0].tolist() == [0.0, left_over, left_over]
    assert found["finished"][0].tolist() == [True, False, False]
    assert found["lengths"][0].tolist() == [0, 0, 0]
    for texts in ([], ["", " "]):
        found = numpy(function(tf.constant(texts, tf.string)))
        assert found["translations"].shape == (len(texts), 3)
        assert found["alignment"].shape[:2] == (len(texts), 3)


@pytest.mark.medium
def test_tokens_add_up_to_their_translation(trained):
    found = numpy(traced(details, trained, tokens=True)(tf.constant(TEXTS)))
    assert "alignment" not in found
    real = found["lengths"] > 0
    values = found["token_log_probabilities"]
    np.testing.assert_allclose(
        values.sum(axis=2)[real], found["log_probabilities"][real], rtol=1e-4
    )
    for row, column in np.argwhere(real):
        length = found["lengths"][row, column]
        tokens = text(found["tokens"][row, column])
        assert all(tokens[:length])
        assert not any(tokens[length:])
        assert (tokens[length - 1] == "</s>") == found["finished"][row, column]
        assert (values[row, column, length:] == 0).all()


def test_alignment_lies_on_the_source(trained):
    found = numpy(traced(details, trained, alignment=True)(tf.constant(TEXTS)))
    assert text(found["source_tokens"])[3] == (
        ["", "beta", "Ωmega", "Beta", "alpha", "delta", ""]
    )
    alignment = found["alignment"]  # (B, K, T, S)
    assert alignment.shape[:3] == found["tokens"].shape
    assert alignment.shape[3] == found["source_tokens"].shape[1]
    real = np.arange(alignment.shape[2]) < found["lengths"][..., np.newaxis]
    np.testing.assert_allclose(alignment.sum(axis=3)[real], 1, rtol=1e-5)
    assert (alignment[2, :, :, 3:] < 1e-6).all()  # START, a word, END


def test_prefixes_begin_the_translations(trained):
    function = traced(details, trained, prefixed=True)
    prefixes = ["ab", "c", "", "dcbadcba"]
    found = numpy(function(tf.constant(TEXTS), tf.constant(prefixes)))
    free = numpy(traced(details, trained)(tf.constant(TEXTS)))
    first, blank, unforced, cut = text(found["translations"])
    assert all(translation.startswith("ab") for translation in first)
    assert blank == ["", "", ""]
    assert unforced == text(free["translations"])[2]
    assert cut[0] == "dcbadc"
    assert not found["finished"][3, 0]


def test_a_text_that_is_too_long_is_reported(trained):
    long = " ".join(WORDS * 3)
    texts = tf.constant(["alpha", long])
    assert traced(details, trained)(texts)["truncated"].numpy().tolist() == (
        [False, True]
    )
    function = traced(score_details, trained)
    found = numpy(function(texts, tf.constant(["abcd" * 3, "abcd"])))
    assert found["truncated"].tolist() == [False, True]
    assert found["translation_truncated"].tolist() == [True, False]
    exact = numpy(function(tf.constant(["a"]), tf.constant(["abcdabcdabc"])))
    assert exact["translation_truncated"].tolist() == [False]
    assert exact["lengths"].tolist() == [12]


@pytest.mark.parametrize("counts", [(1, 3), (3, 1), (2, 0)])
def test_as_many_translations_as_texts_are_scored(trained, counts):
    given = [tf.constant(["a"] * count, tf.string) for count in counts]
    words = r"one translation for each text.*\[{}\] \[{}\]".format(*counts)
    for function in (trained.score, traced(score_details, trained)):
        with pytest.raises(tf.errors.InvalidArgumentError, match=words):
            function(*given)


def test_score_details_are_those_of_the_search(trained):
    found = numpy(traced(details, trained, tokens=True)(tf.constant(TEXTS)))
    # Text that is unknown or cut short is other ids when it is scored.
    rows = [
        (row, column)
        for row, column in np.argwhere(found["finished"])
        if "<unk>" not in text(found["tokens"][row, column])
        and found["lengths"][row, column]
    ]
    assert rows
    texts = tf.constant([TEXTS[row] for row, _ in rows])
    translations = tf.constant([found["translations"][place] for place in rows])
    scored = numpy(traced(score_details, trained)(texts, translations))
    for number, place in enumerate(rows):
        length = found["lengths"][place]
        ours = {name: values[number] for name, values in scored.items()}
        theirs = {name: found[name][place] for name in found.keys() & PLACED}
        assert ours["lengths"] == length
        tokens = text(theirs["tokens"][:length])
        assert text(ours["tokens"][:length]) == tokens
        for name, other in (
            ("score", theirs["scores"]),
            ("log_probability", theirs["log_probabilities"]),
        ):
            np.testing.assert_allclose(ours[name], other, rtol=1e-4)
        name = "token_log_probabilities"
        np.testing.assert_allclose(
            ours[name][:length], theirs[name][:length], rtol=1e-4
        )


def test_ids_are_whole_and_padded(trained):
    function = traced(tokenize, trained.source_tokenizer)
    outputs = numpy(function(tf.constant(["beta Zed", "", "alpha"])))
    assert outputs["ids"].tolist() == [[5, 1], [0, 0], [4, 0]]
    assert outputs["length"].tolist() == [2, 0, 1]
    assert outputs["ids"].dtype == outputs["length"].dtype == np.int32
    # More than the model has positions.
    outputs = numpy(function(tf.constant(["beta " * 40])))
    assert outputs["ids"].tolist() == [[5] * 40]
    assert outputs["length"].tolist() == [40]
    outputs = numpy(function(tf.constant([], tf.string)))
    assert outputs["ids"].shape[0] == 0
    assert outputs["length"].shape == (0,)


@pytest.mark.medium
def test_alignment_is_that_of_the_best_hypothesis(trained):
    found = numpy(traced(align, trained)(tf.constant(TEXTS)))
    all_of = traced(details, trained, num_hypotheses=1, alignment=True)
    expected = numpy(all_of(tf.constant(TEXTS)))
    longest = expected["lengths"].max()
    tokens = expected["tokens"][:, 0, :longest]
    assert found["source_tokens"].tolist() == expected["source_tokens"].tolist()
    assert found["target_tokens"].tolist() == tokens.tolist()
    real = tokens != b""
    assert real.any()
    assert not real[1].any()  # blank
    np.testing.assert_allclose(
        found["alignment"][real],
        expected["alignment"][:, 0, :longest][real],
        atol=1e-6,
    )
    # Shares for tokens, and 0 for padding.
    sums = found["alignment"].sum(axis=2)
    np.testing.assert_allclose(sums, real.astype(float), atol=1e-5)
    assert (found["alignment"][2, :, 3:] == 0).all()  # START, a word, END
    # The first and the last column of a source are START and END.
    assert (found["source_tokens"][:, 1:-1] != b"").any(axis=0).all()
    assert (found["target_tokens"] != b"").any(axis=0).all()
    texts = tf.constant(["alpha", "beta " * 40])
    found = numpy(traced(align, trained)(texts))
    assert found["truncated"].tolist() == [False, True]
    assert found["source_tokens"].shape[1] == 12


@pytest.mark.parametrize("texts", [[], ["", " "]], ids=["none", "blank"])
def test_alignment_of_no_text(trained, texts):
    found = numpy(traced(align, trained)(tf.constant(texts, tf.string)))
    assert found["alignment"].shape[:2] == (len(texts), 1)
    assert not found["alignment"].any()
