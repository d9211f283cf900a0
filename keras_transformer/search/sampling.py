"""Tokens drawn at random from what the model finds probable."""

import dataclasses

import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Sampler:
    """Draws the next token of each sentence.

    What is drawn depends on the seed, the sentence's own source and the step
    alone, so a sentence gets the same translation among any neighbours.

    Args:
        temperature: logits are divided by it; below 1 the probable tokens
            gain.
        top_k: only so many most probable tokens are drawn from; 0: all.
        top_p: only the fewest most probable tokens whose probabilities reach
            it together (Holtzman et al. 2020, section 3.1); 1: all.
        seed: another seed draws other tokens.
    """

    temperature: float = 1.0
    top_k: int = 0
    top_p: float = 1.0
    seed: int = 1

    def randomness(self, source_ids):
        """Each sentence's source of chance, uint8 `(B, 16)`.

        Args:
            source_ids: int32 `(B, S)`, padded with 0 at the end.
        """
        # Padding must not count: it is the neighbours' doing. The sum of
        # terms that depend on token and place is 0 at padding.
        ids = tf.cast(source_ids, tf.int64)
        places = tf.range(1, tf.shape(ids)[1] + 1, dtype=tf.int64)
        terms = tf.where(ids == 0, tf.zeros_like(ids), _mix(ids, places))
        own = tf.reduce_sum(terms, axis=1)
        words = tf.stack([own, tf.fill(tf.shape(own), _as_int64(self.seed))], 1)
        return tf.reshape(tf.bitcast(words, tf.uint8), [-1, 16])

    def __call__(self, logits, sentences, step):
        """Draws: `(B, V)` to int32 `(B,)`."""
        width = self.top_k or logits.shape[-1]
        width = min(width, logits.shape[-1])
        values, tokens = tf.math.top_k(logits / self.temperature, width)
        shares = tf.nn.softmax(values)
        below = tf.cumsum(shares, axis=-1, exclusive=True)
        # The first token stays whatever top_p is.
        shares = tf.where(below < self.top_p, shares, 0.0)
        reached = tf.cumsum(shares, axis=-1)
        chance = uniform(sentences.randomness, step)[:, tf.newaxis]
        passed = reached <= chance * reached[:, -1:]
        # Rounding may leave the chance at the very end.
        kept = tf.reduce_sum(tf.cast(shares > 0, tf.int32), axis=-1)
        place = tf.minimum(
            tf.reduce_sum(tf.cast(passed, tf.int32), axis=-1), kept - 1
        )
        return tf.gather(tokens, place, batch_dims=1)


def uniform(randomness, step):
    """A number in [0, 1) for each row and step, float32 `(B,)`.

    Args:
        randomness: uint8 `(B, 16)`.
        step: int32 scalar.
    """
    counter = tf.bitcast(tf.cast(step, tf.int64), tf.uint8)  # (8,)
    counter = tf.broadcast_to(counter, [tf.shape(randomness)[0], 8])
    hashed = tf.raw_ops.Fingerprint(
        data=tf.concat([randomness, counter], axis=1), method="farmhash64"
    )
    bits = tf.bitwise.right_shift(
        tf.bitcast(hashed, tf.uint64), tf.constant(40, tf.uint64)
    )
    return tf.cast(bits, tf.float32) * 2.0**-24


def _mix(ids, places):
    """int64 that differs for every pair of token and place."""
    keys = ids * (1 << 32) + places
    data = tf.reshape(tf.bitcast(keys, tf.uint8), [-1, 8])
    hashed = tf.raw_ops.Fingerprint(data=data, method="farmhash64")
    return tf.reshape(tf.bitcast(hashed, tf.int64), tf.shape(ids))


def _as_int64(seed):
    return tf.constant(seed, tf.int64)
