"""Tags: tokens before a text, such as <BT> or <2de>, about all of the text.

They mark a source as a back-translation (Caswell, Chelba and Grangier 2019,
Tagged Back-Translation), or name the language to translate into (Johnson et al.
2017, Google's Multilingual Neural Machine Translation System). In every kind of
tokenizer a tag is one token at the beginning of a text; anywhere else, or in
another case, its characters are ordinary text.
"""

import re
from collections.abc import Sequence

import tensorflow as tf

from keras_transformer.blank import BLANK, WHITE_SPACE
from keras_transformer.config.data import are_tags
from keras_transformer.constants import SPECIAL_TOKENS
from keras_transformer.errors import InputError
from keras_transformer.text.normalization import head_and_rest, replaced
from keras_transformer.text.options import require_option


def split_tags(
    strings: tf.Tensor, tags: Sequence[str]
) -> tuple[tf.RaggedTensor, tf.Tensor]:
    """Splits tags off the beginning of texts.

    Args:
        strings: normalised string tensor `(B,)`.
        tags: the tokenizer's tags, strings such as `<BT>`.

    Returns:
        the tags, often none, RaggedTensor string `(B, None)`, and the rest,
        string `(B,)`.
    """
    one = "|".join(map(re.escape, tags))
    heads, rest = head_and_rest(
        strings,
        f"^[{WHITE_SPACE}]*(?:(?:{one})[{WHITE_SPACE}]*)+(?:[{BLANK}]+$)?",
    )
    heads = replaced(heads, (f"[{BLANK}]+", ""), (">", "> "))
    return tf.strings.split(heads), rest


def tag_ids(tags: tf.Tensor, known: Sequence[str]) -> tf.Tensor:
    """The ids of tags, which are the first after the reserved tokens.

    Args:
        tags: string tensor `(M,)`, all of them known.
        known: the tokenizer's tags, in the order of their ids.

    Returns:
        int32 `(M,)`.
    """
    same = tags[:, tf.newaxis] == tf.constant(known)  # (M, number of tags)
    indices = tf.argmax(tf.cast(same, tf.int32), axis=1, output_type=tf.int32)
    return indices + len(SPECIAL_TOKENS)


def require_tags(tags: object) -> None:
    """Refuses invalid tags, which `split_tags` would misread.

    Args:
        tags: a tokenizer's option, of any type.

    Raises:
        OptionError: `tags` aren't different strings such as `<BT>`.
    """
    require_option(
        isinstance(tags, list | tuple) and are_tags(tags),
        "tags",
        "different strings of letters, digits, _ and - between < and >, such "
        "as <BT>, and none of " + " ".join(SPECIAL_TOKENS),
        tags,
    )


def check_tags(tokens: Sequence[str], tags: Sequence[str]) -> None:
    """Refuses a vocabulary in which the tags don't have their ids.

    Args:
        tokens: the vocabulary's first tokens, in the order of their ids.
        tags: the tokenizer's tags.

    Raises:
        InputError: the tags don't follow the reserved tokens.
    """
    first = len(SPECIAL_TOKENS)
    stored = list(tokens[first : first + len(tags)])
    if stored != list(tags):
        raise InputError(
            f"the tags {' '.join(tags)} don't follow the reserved tokens. "
            f"Received: {' '.join(stored)}"
        )
