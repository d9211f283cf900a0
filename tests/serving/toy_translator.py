"""A model with the signatures of an export, made in a second."""

import pathlib

import tensorflow as tf

STRINGS = tf.TensorSpec([None], tf.string, name="text")
# Characters above which a text is said to be truncated.
MAX_CHARACTERS = 60
END = "</s>"
# What is left of a token's attention after the token it copies.
REST = 0.2


class ToyTranslator(tf.Module):
    """Translates to capitals, word by word, in texts without padding.

    Its scores are the length in characters by -10; each token has the
    probability 0.5.
    """

    @tf.function(input_signature=[STRINGS])
    def translate(self, text):
        return {
            "translation": tf.strings.upper(text),
            "score": _score(text),
            "truncated": _is_truncated(text),
        }

    @tf.function(input_signature=[STRINGS])
    def nbest(self, text):
        """Capitals, capitals with a mark, and a row that is left over."""
        upper, score = tf.strings.upper(text), _score(text)
        left_over = tf.fill(tf.shape(score), -1e9)
        texts = [upper, upper + "!", tf.zeros_like(upper)]
        return {
            "translations": tf.stack(texts, axis=1),
            "scores": tf.stack([score, score - 0.5, left_over], axis=1),
            "truncated": _is_truncated(text),
        }

    @tf.function(
        input_signature=[
            STRINGS,
            tf.TensorSpec([None], tf.string, name="translation"),
        ]
    )
    def score(self, text, translation):
        tokens = tf.cast(_words(translation).row_lengths(), tf.int32) + 1
        return {
            "log_probability": tf.cast(tokens, tf.float32) * tf.math.log(0.5),
            "tokens": tokens,
            "score": _score(text),
        }

    @tf.function(input_signature=[STRINGS])
    def align(self, text):
        words = _words(text)
        edge = tf.fill([tf.shape(text)[0], 1], "")
        end = tf.fill([tf.shape(text)[0], 1], END)
        source = tf.concat([edge, words, edge], axis=1)
        target = tf.concat([tf.strings.upper(words.to_tensor()), end], axis=1)
        width = tf.cast(source.bounding_shape()[1], tf.int32)
        copied = tf.one_hot(tf.range(1, tf.shape(target)[1] + 1), width)
        shares = copied * (1 - REST) + REST / tf.cast(width, tf.float32)
        return {
            "source_tokens": source.to_tensor(),
            "target_tokens": target,
            "alignment": tf.repeat(shares[tf.newaxis], tf.shape(text)[0], 0),
            "truncated": _is_truncated(text),
        }


def _words(text):
    return tf.strings.split(text)


def _score(text):
    length = tf.strings.length(text, unit="UTF8_CHAR")
    return -tf.cast(length, tf.float32) / 10


def _is_truncated(text):
    return tf.strings.length(text, unit="UTF8_CHAR") > MAX_CHARACTERS


def write_translator(base: pathlib.Path, version: int):
    """Writes a version of the toy translator into the models' folder."""
    model = ToyTranslator()
    signatures = {
        "serving_default": model.translate,
        "nbest": model.nbest,
        "score": model.score,
        "align": model.align,
    }
    tf.saved_model.save(model, str(base / str(version)), signatures)
