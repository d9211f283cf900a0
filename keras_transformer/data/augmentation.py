"""Augmentation: changes some training pairs, differently in each epoch.

The changes imitate variation in real text: a model trained only on clean
sentences is confused by headings, capitals and typing errors. Each change
preserves the meaning of a pair; if it can't apply, for example to a target
whose script has no case, the side or the pair is left unchanged. Subword
sampling spells the same text with other pieces.

References: Karpukhin et al. 2019, "Training on Synthetic Noise Improves
Robustness to Natural Noise in Machine Translation"; Kondo et al. 2021,
"Sentence Concatenation Approach to Data Augmentation for Neural Machine
Translation".
"""

import itertools
import random
import re
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from keras_transformer.config import Config
from keras_transformer.constants import PAD_ID, SPECIAL_TOKENS
from keras_transformer.data.corpus import Pair
from keras_transformer.data.model_inputs import FRAME_LENGTHS
from keras_transformer.data.selection import without_tags
from keras_transformer.documents.markup import find_marks
from keras_transformer.languages import base_language
from keras_transformer.symbols import MARKUP_SYMBOLS, SYMBOL
from keras_transformer.text.sentencepiece import SentencePieceTokenizer
from keras_transformer.text.tokenizer import Tokenizer

# Words that get typing errors. Shorter ones would become other words, and so
# would Chinese, Japanese and Korean, whose characters are words or syllables.
_WORD = re.compile(
    r"[^\W\d_\u3040-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]{4,}"
)
_WORDS_A_TYPO = 8
_FULL_STOP = re.compile(r"[^.。।…][.。।]$")
# A number that isn't part of a word, a version or a date.
_NUMBER = re.compile(r"(?<![\w.,:/⟨-])\d{1,9}(?!\w|[.,:/-]\d)", re.ASCII)
_OF_CASE = ("upper", "title")
_DOTTED_I = {"tr", "az"}
_PURPOSE = 1  # Makes the seeds differ from those of subword sampling.

# Graph code that maps plain ids of sources and targets, and int64 scalars that
# identify the batch, to changed ids.
BatchChange = Callable[..., tuple[tf.RaggedTensor, tf.RaggedTensor]]


def upper_case(pair: Pair, generator: random.Random) -> Pair:
    """Converts both sides to capitals."""
    source, target = pair
    return source.upper(), target.upper()


def title_case(pair: Pair, generator: random.Random) -> Pair:
    """Capitalizes each word of both sides."""
    source, target = (
        " ".join(word[:1].title() + word[1:] for word in text.split(" "))
        for text in pair
    )
    return source, target


def without_stop(pair: Pair, generator: random.Random) -> Pair:
    """Removes the full stop at the end of both sides, if both have one."""
    source, target = pair
    if not all(map(_FULL_STOP.search, pair)):
        return pair
    return source[:-1], target[:-1]


def misspelt(pair: Pair, generator: random.Random) -> Pair:
    """Adds typing errors to the source: letters swapped, omitted or doubled.

    One error for every eight words of four or more letters, rounded up.
    """
    source, target = pair
    words = list(_WORD.finditer(source))
    count = -(-len(words) // _WORDS_A_TYPO)
    chosen = sorted(generator.sample(range(len(words)), count))
    for index in reversed(chosen):  # From the end, to keep positions valid.
        i = generator.randrange(words[index].start(), words[index].end() - 1)
        one, two = source[i], source[i + 1]
        error = generator.choice((two + one, two, one + one + two))
        source = source[:i] + error + source[i + 2 :]
    return source, target


def with_other_numbers(pair: Pair, generator: random.Random) -> Pair:
    """Replaces integers that both sides have once by others of equal length.

    0 and 1 are kept, as other words agree with them. In Slavic languages and
    Arabic, words agree with further numbers, so this change isn't suitable.
    """
    found = [_NUMBER.findall(text) for text in pair]
    new = {}
    for number in found[0]:
        if int(number) > 1 and all(side.count(number) == 1 for side in found):
            least = max(2, 10 ** (len(number) - 1))
            new[number] = str(generator.randrange(least, 10 ** len(number)))
    source, target = (
        _NUMBER.sub(lambda match: new.get(match[0], match[0]), text)
        for text in pair
    )
    return source, target


CHANGES: dict[str, Callable[[Pair, random.Random], Pair]] = {
    "upper": upper_case,
    "title": title_case,
    "stop": without_stop,
    "typos": misspelt,
    "numbers": with_other_numbers,
}


def changed(pair: Pair, change: str, generator: random.Random) -> Pair:
    """Applies a change to a pair.

    Tags before a source are kept. Pairs with markup or symbols aren't changed.

    Args:
        pair: source and target.
        change: a key of `CHANGES`.
        generator: makes the random choices of the change.
    """
    source = without_tags(pair[0])
    tags = pair[0][: len(pair[0]) - len(source)]
    if re.search(SYMBOL, source) or any(map(find_marks, (source, pair[1]))):
        return pair
    source, target = CHANGES[change]((source, pair[1]), generator)
    return tags + source, target


class Augmentation:
    """Changes some of the pairs of each batch, other ones in each epoch.

    A pair isn't changed if it has an unknown token, or if the result would
    have one or be too long. Joining sentences applies to whole batches, two
    neighbours at a time, so that a batch has as many tokens as before and no
    more padding.

    Args:
        tokenizers: of the source and of the target.
        fraction: of the pairs that are changed, divided equally among the
            kinds of changes.
        max_lengths: maximum ids of a source and of a target.
        seed: decides the changes, together with the key of a call.
        languages: tags of the source and the target. Turkish and Azerbaijani
            capitals differ from Unicode's default: such pairs keep their case.
    """

    def __init__(
        self,
        tokenizers: tuple[Tokenizer, Tokenizer],
        fraction: float,
        max_lengths: tuple[int, int],
        seed: int,
        languages: tuple[str, str] = ("", ""),
    ) -> None:
        self._tokenizers = tokenizers
        # Bytes of characters that the vocabulary lacks are unknown, too.
        self._unknown = [
            tf.constant(tokenizer.unknown_ids()) for tokenizer in tokenizers
        ]
        dotted = not _DOTTED_I.isdisjoint(map(base_language, languages))
        self._names = [
            name for name in CHANGES if not (dotted and name in _OF_CASE)
        ]
        self._max_lengths = max_lengths
        self._seed = seed
        # The fraction for each change of text, and for joining.
        self._each = fraction / (len(self._names) + 1)

    def __call__(
        self,
        sources: tf.RaggedTensor,
        targets: tf.RaggedTensor,
        *key: tf.Tensor,
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Changes pairs, in graph code.

        Args:
            sources, targets: plain ids, each ragged int32 `(B, None)`.
            key: int64 scalars that identify the batch, so that it is changed
                in the same way whenever it is computed.

        Returns:
            The changed sides in the same form, with up to B rows.
        """
        sides = sources, targets
        changes, joined = tf.numpy_function(
            self._choose, [self._are_known(sides), *key], [tf.int64] * 2
        )
        changes.set_shape([None])  # (B,)
        joined.set_shape([])
        rows = tf.where(changes >= 0)[:, 0]  # (C,)
        texts = [
            tokenizer.detokenize(tf.gather(side, rows))
            for tokenizer, side in zip(self._tokenizers, sides, strict=True)
        ]
        texts = tf.numpy_function(
            self._change,
            [*texts, tf.gather(changes, rows), *key],
            [tf.string] * 2,
        )
        new = []
        for tokenizer, text in zip(self._tokenizers, texts, strict=True):
            text.set_shape([None])  # (C,)
            new.append(tokenizer.tokenize(text))
        fits = self._fit(*(side.row_lengths() for side in new))  # (C,)
        fits &= self._are_known(new)
        # The index of each row's ids among the old and the new rows.
        count = sources.nrows()
        places = tf.tensor_scatter_nd_update(
            tf.range(count),
            tf.boolean_mask(rows, fits)[:, tf.newaxis],
            count + tf.where(fits)[:, 0],
        )  # (B,)
        sides = tuple(
            tf.gather(tf.concat(both, axis=0), places)
            for both in zip(sides, new, strict=True)
        )
        return self._join(*sides, joined)

    def _are_known(self, sides):
        """Marks the rows of ids, ragged `(B, None)`, without unknown ids."""
        source, target = (
            side.with_flat_values(
                tf.reduce_all(side.flat_values[:, tf.newaxis] != ids, axis=1)
            )
            for side, ids in zip(sides, self._unknown, strict=True)
        )  # (B, None)
        return tf.reduce_all(source, axis=1) & tf.reduce_all(target, axis=1)

    def _fit(self, sources, targets):
        """Marks pairs whose lengths `(N,)` the model accepts."""
        return (
            (sources > 0)
            & (targets > 0)
            & (sources <= self._max_lengths[0])
            & (targets <= self._max_lengths[1])
        )

    def _join(self, sources, targets, wanted):
        """Joins rows 0 and 1, 2 and 3, ... if `wanted` isn't 0."""
        lengths = [side.row_lengths() for side in (sources, targets)]
        fits = self._fit(*(n[:-1] + n[1:] for n in lengths))  # (B - 1,)
        even = tf.range(tf.size(fits)) % 2 == 0
        # A row that begins with a tag can't follow another one.
        first = sources[1:, :1].to_tensor(PAD_ID, shape=[None, 1])[:, 0]
        last_tag = len(SPECIAL_TOKENS) + len(self._tokenizers[0].tags) - 1
        tagged = (first >= len(SPECIAL_TOKENS)) & (first <= last_tag)
        apart = tagged | self._have_markup(sources)[1:]
        joined = fits & even & ~apart & (wanted > 0)
        kept = tf.concat([[True], ~joined, [True]], axis=0)  # (B + 1,)
        return tuple(
            tf.RaggedTensor.from_row_splits(
                side.flat_values,
                tf.boolean_mask(side.row_splits, kept),
                validate=False,
            )
            for side in (sources, targets)
        )

    def _have_markup(self, sources):
        """Marks rows `(B,)` with symbols, which the row before may share."""
        first = self._tokenizers[0].first_symbol
        if first is None:
            return tf.fill([sources.nrows()], False)
        last = first + len(MARKUP_SYMBOLS)
        return tf.reduce_any((sources >= first) & (sources < last), axis=1)

    def _choose(self, may_change, *key):
        """Draws the index of each row's change, or -1; and 1 to join, or 0."""
        generator = np.random.default_rng([_PURPOSE, self._seed, *key])
        drawn = generator.random(len(may_change)) // self._each
        chosen = may_change & (drawn < len(self._names))
        changes = np.where(chosen, drawn, -1).astype(np.int64)
        return changes, np.int64(generator.random() < self._each)

    def _change(self, sources, targets, changes, *key):
        seeds = np.random.default_rng([_PURPOSE, self._seed, 1, *key])
        generator = random.Random(int(seeds.integers(2**31)))
        pairs = [
            changed((source.decode(), target.decode()), name, generator)
            for source, target, name in zip(
                sources, targets, [self._names[i] for i in changes], strict=True
            )
        ]
        columns = zip(*pairs, strict=True) if pairs else ((), ())
        return [
            np.array([text.encode() for text in column], object)
            for column in columns
        ]


class SubwordSampling:
    """Replaces the plain ids of a batch by others that spell the same text.

    Sides without a SentencePiece model aren't changed.

    Args:
        tokenizers: of the source and of the target.
        alpha: see `SubwordSampler`.
        max_lengths: maximum ids of a source and of a target; a text for which
            more are drawn keeps its ids.
        seed: decides the draws, together with the key of a call.
    """

    def __init__(
        self,
        tokenizers: tuple[Tokenizer, Tokenizer],
        alpha: float,
        max_lengths: tuple[int, int],
        seed: int,
    ) -> None:
        self._samplers = [
            tokenizer.sampler(alpha)
            if isinstance(tokenizer, SentencePieceTokenizer)
            else None
            for tokenizer in tokenizers
        ]
        self._max_lengths = max_lengths
        self._seed = seed

    def __call__(
        self,
        sources: tf.RaggedTensor,
        targets: tf.RaggedTensor,
        *key: tf.Tensor,
    ) -> tuple[tf.RaggedTensor, tf.RaggedTensor]:
        """Draws other ids, in graph code.

        Args:
            sources, targets: plain ids, each ragged int32 `(B, None)`.
            key: int64 scalars that identify the batch, so that it gets the same
                pieces whenever it is computed.

        Returns:
            The two sides in the same form.
        """
        tensors = []
        for side in (sources, targets):
            tensors += [side.flat_values, side.row_lengths()]
        drawn = tf.numpy_function(
            self._draw, [*tensors, *key], [tf.int32, tf.int64] * 2
        )
        for tensor in drawn:
            tensor.set_shape([None])
        return tuple(
            tf.RaggedTensor.from_row_lengths(*drawn[i : i + 2], validate=False)
            for i in (0, 2)
        )

    def _draw(self, sources, source_lengths, targets, target_lengths, *key):
        random = np.random.default_rng([self._seed, *key])
        seeds = random.integers(2**31, size=2).tolist()
        sides = (sources, source_lengths), (targets, target_lengths)
        return [
            array
            for i, side in enumerate(sides)
            for array in self._draw_side(i, *side, seeds[i])
        ]

    def _draw_side(self, i, values, lengths, seed):
        if self._samplers[i] is None:
            return values, lengths
        values = iter(values.tolist())
        rows = [[*itertools.islice(values, n)] for n in lengths.tolist()]
        rows = self._samplers[i](rows, seed, self._max_lengths[i])
        lengths = np.array([len(row) for row in rows], np.int64)
        flat = itertools.chain.from_iterable(rows)
        return np.fromiter(flat, np.int32, lengths.sum()), lengths


def batch_changes(
    config: Config, tokenizers: tuple[Tokenizer, Tokenizer]
) -> list[BatchChange]:
    """The changes to each batch that a configuration requests, in order.

    Args:
        config: of the run.
        tokenizers: of the source and of the target.
    """
    data, training = config.data, config.training
    source, target = (config.model.max_length - FRAME_LENGTHS).tolist()
    longest, seed = (source, target), training.seed
    changes: list[BatchChange] = []
    if share := training.augment:
        languages = data.source_language or "", data.target_language or ""
        changes.append(
            Augmentation(tokenizers, share, longest, seed, languages)
        )
    if alpha := training.subword_sampling:
        changes.append(SubwordSampling(tokenizers, alpha, longest, seed))
    return changes
