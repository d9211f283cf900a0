"""Traditional to simplified Chinese, with OpenCC's dictionaries."""

import functools
from collections.abc import Iterable, Iterator

import opencc
import tensorflow as tf


@functools.cache
def _converter():
    return opencc.OpenCC("t2s")


@functools.cache
def character_table() -> dict[str, str]:
    """Each traditional character that OpenCC changes, with what it becomes.

    What OpenCC does to a character alone; in a few hundred phrases (乾隆,
    慰藉) it decides otherwise, which one character can't show.
    """
    converter = _converter()
    blocks = ((0x2E80, 0xA000), (0xF900, 0xFB00), (0x20000, 0x32000))
    table = {}
    for start, stop in blocks:
        for character in map(chr, range(start, stop)):
            simplified = converter.convert(character)
            if simplified != character:
                table[character] = simplified
    return table


def simplify(lines: Iterable[str]) -> Iterator[str]:
    """Each line as OpenCC writes it in simplified characters (t2s)."""
    converter = _converter()
    for line in lines:
        yield converter.convert(line)


class CharacterSimplifier(tf.Module):
    """`character_table` as graph code.

    Call arguments:
        strings: valid UTF-8, any number of strings `[B]`.

    Returns:
        The strings `[B]` with every character of the table replaced.
    """

    def __init__(self):
        super().__init__()
        table = character_table()
        keys = [ord(key) for key in table]
        values = [ord(value) for value in table.values()]
        # One code point of its own stands for "not in the table".
        self._table = tf.lookup.StaticHashTable(
            tf.lookup.KeyValueTensorInitializer(
                keys, values, tf.int64, tf.int64
            ),
            default_value=-1,
        )

    def __call__(self, strings):
        points = tf.strings.unicode_decode(strings, "UTF-8")  # [B, None]

        def replace(values):
            values = tf.cast(values, tf.int64)
            found = self._table.lookup(values)
            return tf.cast(tf.where(found < 0, values, found), tf.int32)

        points = tf.ragged.map_flat_values(replace, points)
        return tf.strings.unicode_encode(points, "UTF-8")
