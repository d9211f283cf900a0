"""Augmentation: training pairs that are other ones in each epoch.

They are changed as the text of people differs: a model that has only read clean
sentences is thrown by headings, capitals and typing errors. Each change keeps
what a pair says; one that can't, as for a target whose script has no case,
leaves the side, or the pair, as it is. And the same text is spelled by other
pieces (subword sampling).

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

# Words of fewer letters become others by a typing error, and so do those whose
# characters are words or syllables: Chinese, Japanese and Korean.
_WORD = re.compile(
    r"[^\W\d_\u3040-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]{4,}"
)
_WORDS_A_TYPO = 8
_FULL_STOP = re.compile(r"[^.。।…][.。।]$")
# No part of a word, of a version, of a date.
_NUMBER = re.compile(r"(?<![\w.,:/⟨-])\d{1,9}(?!\w|[.,:/-]\d)", re.ASCII)
_OF_CASE = ("upper", "title")
_DOTTED_I = {"tr", "az"}
_PURPOSE = 1  # So that seeds are others than those of subword sampling.

# From plain ids of sources and targets, and int64 scalars of their batch alone,
# to other ones, in graph code.
BatchChange = Callable[..., tuple[tf.RaggedTensor, tf.RaggedTensor]]


def upper_case(pair: Pair, generator: random.Random) -> Pair:
    """Both sides in capitals."""
    source, target = pair
    return source.upper(), target.upper()


def title_case(pair: Pair, generator: random.Random) -> Pair:
    """Each word of both sides with a capital."""
    source, target = (
        " ".join(word[:1].title() + word[1:] for word in text.split(" "))
        for text in pair
    )
    return source, target


def without_stop(pair: Pair, generator: random.Random) -> Pair:
    """Both sides without the full stop at their ends, if both have one."""
    source, target = pair
    if not all(map(_FULL_STOP.search, pair)):
        return pair
    return source[:-1], target[:-1]


def misspelt(pair: Pair, generator: random.Random) -> Pair:
    """The source with typing errors: letters swapped, left out or doubled.

    In one of its words of four letters or more for every eight that it has, at
    least in one.
    """
    source, target = pair
    words = list(_WORD.finditer(source))
    count = -(-len(words) // _WORDS_A_TYPO)
    chosen = sorted(generator.sample(range(len(words)), count))
    for index in reversed(chosen):  # From the end: places before it stay.
        i = generator.randrange(words[index].start(), words[index].end() - 1)
        one, two = source[i], source[i + 1]
        error = generator.choice((two + one, two, one + one + two))
        source = source[:i] + error + source[i + 2 :]
    return source, target


def with_other_numbers(pair: Pair, generator: random.Random) -> Pair:
    """Whole numbers that both sides have once, in both replaced by others.

    By ones of as many digits. 0 and 1 stay, which words agree with. In Slavic
    languages and Arabic they agree with others, too: leave it out there.
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
    """A pair after a change.

    Tags before a source stay, and so does a pair with markup or symbols.

    Args:
        pair: source and target.
        change: of `CHANGES`.
        generator: draws what the change leaves open.
    """
    source = without_tags(pair[0])
    tags = pair[0][: len(pair[0]) - len(source)]
    if re.search(SYMBOL, source) or any(map(find_marks, (source, pair[1]))):
        return pair
    source, target = CHANGES[change]((source, pair[1]), generator)
    return tags + source, target


class Augmentation:
    """Changes some of the pairs of each batch, other ones in each epoch.

    A pair with an unknown token stays as it is, and one that would have one or
    be too long. Sentences are joined in whole batches, two to one, so that a
    batch has as many tokens as before and no more padding.

    Args:
        tokenizers: of the source and of the target.
        fraction: of the pairs, those changed, as many in each way.
        max_lengths: ids that a source and a target may have.
        seed: decides what is changed, together with what a call is given.
        languages: tags of the source and the target. Capitals of Turkish and
            Azerbaijani aren't Unicode's: such pairs keep their case.
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
        # Of a change of text; of each of these, and of joining.
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
            key: int64 scalars of this batch alone, so that it is changed in
                the same way whenever it is made.

        Returns:
            The two sides as they came, of up to B rows.
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
        # The place of each row's ids among all old and new ones.
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
        """Marks the rows of ids, ragged `(B, None)`, without an unknown one."""
        source, target = (
            side.with_flat_values(
                tf.reduce_all(side.flat_values[:, tf.newaxis] != ids, axis=1)
            )
            for side, ids in zip(sides, self._unknown, strict=True)
        )  # (B, None)
        return tf.reduce_all(source, axis=1) & tf.reduce_all(target, axis=1)

    def _fit(self, sources, targets):
        """Marks rows of lengths `(N,)` that a model takes."""
        return (
            (sources > 0)
            & (targets > 0)
            & (sources <= self._max_lengths[0])
            & (targets <= self._max_lengths[1])
        )

    def _join(self, sources, targets, wanted):
        """Joins the rows 0 and 1, 2 and 3 and so on, if it is wanted."""
        lengths = [side.row_lengths() for side in (sources, targets)]
        fits = self._fit(*(n[:-1] + n[1:] for n in lengths))  # (B - 1,)
        even = tf.range(tf.size(fits)) % 2 == 0
        # A tag belongs at the beginning.
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
        """Marks rows `(B,)` whose symbols the row before may have, too."""
        first = self._tokenizers[0].first_symbol
        if first is None:
            return tf.fill([sources.nrows()], False)
        last = first + len(MARKUP_SYMBOLS)
        return tf.reduce_any((sources >= first) & (sources < last), axis=1)

    def _choose(self, may_change, *key):
        """The index of each row's change, or -1; and 1 to join rows, or 0."""
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

    Sides that don't have SentencePiece models stay as they are.

    Args:
        tokenizers: of the source and of the target.
        alpha: see `SubwordSampler`.
        max_lengths: ids that a source and a target may have; where more are
            drawn, the pair keeps its own.
        seed: decides what is drawn, together with what a call is given.
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
        """Draws, in graph code.

        Args:
            sources, targets: plain ids, each ragged int32 `(B, None)`.
            key: int64 scalars of this batch alone, so that it gets the same
                pieces whenever it is made.

        Returns:
            The two sides, as they came.
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
    """What a configuration has changed in each batch, in order.

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
