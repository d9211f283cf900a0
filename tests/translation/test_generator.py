"""TextGenerator: prompts in, texts out."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.config import DecodingConfig, ModelConfig
from keras_transformer.errors import InputError
from keras_transformer.models import (
    build_encoder,
    build_language_model,
    build_transformer,
)
from keras_transformer.text import SpaceTokenizer
from keras_transformer.translation.generator import TextGenerator
from tests.toy_models import randomise

TEXTS = ["the cat sat on the mat .", "a dog ran to the big house ."]
PROMPTS = ["the cat", "", "a dog ran to", "a"]
GREEDY = {"beam_size": 1, "banned_tokens": ("<unk>",), "length_penalty": 0.0}
DRAWN = {"temperature": 2.0, "max_length": 8}


@functools.cache
def tokenizer():
    return SpaceTokenizer.train(TEXTS)


@functools.cache
def model():
    config = ModelConfig(
        num_decoder_layers=2, d_model=16, num_heads=2, d_ff=32, max_length=16
    )
    keras.utils.set_random_seed(1)
    made = build_language_model(config, tokenizer().vocabulary_size)
    randomise(made, 1)
    return made


@functools.cache
def generator(**options):
    # A random model ends at once, or says one word for ever.
    options = {"min_length": 50, "no_repeat_ngram_size": 2, **options}
    return TextGenerator(tokenizer(), model(), DecodingConfig(**options))


@pytest.mark.parametrize("options", [GREEDY, DRAWN])
def test_texts_begin_with_their_prompts(options):
    generate = generator(**options)
    written = generate(PROMPTS)
    for text, prompt in zip(written, PROMPTS, strict=True):
        assert text.startswith(prompt)
        assert len(text.split()) == options.get("max_length", 15)
    # None depends on its neighbours.
    assert [generate(prompt) for prompt in PROMPTS[:2]] == written[:2]


def test_what_is_longer_than_max_length_is_cut_off():
    prompts = ["the cat", "the cat sat on the mat and a dog ran"]
    result = generator(**DRAWN).generate(tf.constant(prompts))
    assert result["text"][1] == "the cat sat on the mat and a"
    np.testing.assert_array_equal(result["truncated"], [False, True])
    with pytest.warns(UserWarning, match=r"1 truncated texts \(number 2\)"):
        generator(**DRAWN)(prompts)


def test_another_backend_is_refused(monkeypatch):
    monkeypatch.setattr(keras.config, "backend", lambda: "jax")
    with pytest.raises(InputError, match="KERAS_BACKEND=tensorflow. Received"):
        TextGenerator(tokenizer(), model())


def test_unknown_words_of_a_prompt_stay_what_they_are():
    text = generator(**GREEDY)("the platypus sat")
    assert text.startswith("the platypus sat ")
    assert "⁇" not in text


def test_a_score_is_the_whole_texts_log_probability():
    result = generator(**GREEDY).generate(tf.constant(["the cat"]))
    ids = tokenizer().tokenize(result["text"]).to_list()[0]
    log_probabilities = tf.nn.log_softmax(model()(np.array([[2, *ids]]))[0])
    total = log_probabilities.numpy()[np.arange(len(ids)), ids].sum()
    np.testing.assert_allclose(result["score"][0], total, atol=1e-3)


@pytest.mark.parametrize("texts", [5, ["a", None], [b"abc"]])
def test_what_is_no_text_is_refused(texts):
    says = "takes a string or several|takes text, not bytes"
    with pytest.raises(InputError, match=says):
        generator(**GREEDY)(texts)
    assert generator(**GREEDY)([]) == []


def test_searches_that_need_a_source_are_refused():
    with pytest.raises(InputError, match="attends to no source"):
        generator(replace_unknown=True)
    with pytest.raises(InputError, match="not in the target's vocabulary"):
        generator(banned_tokens=("whale",))


def test_the_tokenizer_of_another_model_is_refused():
    other = SpaceTokenizer.train(["of a few words"])
    with pytest.raises(InputError, match="has 8 tokens, the model"):
        TextGenerator(other, model())


@pytest.mark.parametrize("kind", ["swapped", "encoder", "translation"])
def test_what_is_no_language_model_is_refused(kind):
    shape = ModelConfig(num_encoder_layers=1, num_decoder_layers=1, d_model=8)
    size = tokenizer().vocabulary_size
    given = {
        "swapped": lambda: (model(), tokenizer()),
        "encoder": lambda: (tokenizer(), build_encoder(shape, size)),
        "translation": lambda: (
            tokenizer(),
            build_transformer(shape, size, size),
        ),
    }[kind]()
    with pytest.raises(InputError, match="takes a language model. Received"):
        TextGenerator(*given)
