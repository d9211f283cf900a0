import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.translation.details import details
from keras_transformer.translation.tokens import align, tokenize
from tests.decoding.aligned_translator import TEXTS, aligned_translator


@pytest.fixture(scope="module")
def translator():
    return aligned_translator()


def numpy(outputs):
    return {name: tensor.numpy() for name, tensor in outputs.items()}


def test_ids_are_whole_and_padded(translator):
    function = tokenize(translator)
    outputs = numpy(function(tf.constant(["beta Zed", "", "alpha"])))
    assert outputs["ids"].tolist() == [[5, 1], [0, 0], [4, 0]]
    assert outputs["length"].tolist() == [2, 0, 1]
    assert outputs["ids"].dtype == outputs["length"].dtype == np.int32
    # More than the model has positions.
    outputs = numpy(function(tf.constant(["beta " * 40])))
    assert outputs["ids"].tolist() == [[5] * 40]
    assert outputs["length"].tolist() == [40]


def test_no_text_has_no_ids(translator):
    outputs = numpy(tokenize(translator)(tf.constant([], tf.string)))
    assert outputs["ids"].shape[0] == 0
    assert outputs["length"].shape == (0,)


def test_alignment_is_that_of_the_best_hypothesis(translator):
    found = numpy(align(translator)(tf.constant(TEXTS)))
    all_of = details(translator, num_hypotheses=1, alignment=True)
    expected = numpy(all_of(tf.constant(TEXTS)))
    assert found.keys() == {
        "source_tokens",
        "target_tokens",
        "alignment",
        "truncated",
    }
    longest = expected["lengths"].max()
    tokens = expected["tokens"][:, 0, :longest]
    assert found["source_tokens"].tolist() == expected["source_tokens"].tolist()
    assert found["target_tokens"].tolist() == tokens.tolist()
    real = tokens != b""
    assert real.any()
    np.testing.assert_allclose(
        found["alignment"][real],
        expected["alignment"][:, 0, :longest][real],
        atol=1e-6,
    )


def test_alignment_is_a_share_for_tokens_and_0_for_padding(translator):
    found = numpy(align(translator)(tf.constant(TEXTS)))
    batch, target = found["target_tokens"].shape
    source = found["source_tokens"].shape[1]
    assert found["alignment"].shape == (batch, target, source)
    real = found["target_tokens"] != b""
    sums = found["alignment"].sum(axis=2)
    np.testing.assert_allclose(sums, real.astype(float), atol=1e-5)
    assert (found["alignment"][2, :, 3:] == 0).all()  # START, a word, END
    assert not real[1].any()  # blank


def test_no_column_is_empty_in_all_rows(translator):
    found = numpy(align(translator)(tf.constant(TEXTS)))
    # The first and the last column of a source are START and END.
    assert (found["source_tokens"][:, 1:-1] != b"").any(axis=0).all()
    assert (found["target_tokens"] != b"").any(axis=0).all()


def test_alignment_of_a_cut_text_says_so(translator):
    found = numpy(align(translator)(tf.constant(["alpha", "beta " * 40])))
    assert found["truncated"].tolist() == [False, True]
    assert found["source_tokens"].shape[1] == 12


@pytest.mark.parametrize("texts", [[], ["", " "]], ids=["none", "blank"])
def test_alignment_of_no_text(translator, texts):
    found = numpy(align(translator)(tf.constant(texts, tf.string)))
    assert found["alignment"].shape[:2] == (len(texts), 1)
    assert not found["alignment"].any()
