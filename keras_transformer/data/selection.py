"""Selection: which of the cleaned pairs are trained on, by keys, in SQL.

Two sentences are the same if their sentence keys are: case, width, punctuation
and the variety of Chinese don't matter. A sentence key is the text in NFKC,
lower case, letters, vowel signs and digits only, traditional characters mapped
to simplified.

What is compared, sorted and counted are fingerprints: 63 bits of a BLAKE2
digest, non-negative and thus the same number to NumPy and to any SQL. Two
different texts among n are taken for one with a probability of about n^2 /
2^64: one in 1,800 for a hundred million.

A pair is a row of its text and of numbers, which alone are looked at. The
queries keep to what DuckDB and Spark both understand, so that one machine and
many keep the same pairs. Every query makes a table of the one before:

1. `leaked`: a held-out file has the pair too, or a side of it (option).
2. `duplicate`: one of equal pairs stays (option).
3. The dev split, where it is a fraction of the corpus: whole sources, in the
   order of their keys. `shared_with_dev`: what has a target of dev isn't
   trained on.
4. `not_sampled`: weights of corpora leave it out, or repeat it (option).

At last the text of what is left is sorted by its places. What stays, and where,
follows from the keys and not from the order of the corpus.
"""

import dataclasses
import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from keras_transformer.config.data import DataConfig
from keras_transformer.constants import TAG
from keras_transformer.data.corpus import Pair
from keras_transformer.text.chinese import simplify

KEY_BITS = 63
_LAST_KEY = 2**KEY_BITS - 1
# Characters of a text, or of a word in a longer text, that are normalised
# together: the time is quadratic in how many marks follow one another.
_TOGETHER = 256
_LEADING_TAGS = re.compile(rf"(?:{TAG}\s*)+")
# The first words of their names.
_OPTIONAL_MARKS = {"COMBINING", "VARIATION", "HEBREW", "ARABIC", "SYRIAC"}
PAIRS, HELD_OUT, DEV, TRAIN = "pairs", "held_out", "dev", "train"
# Of the table `pairs`, 64-bit integers, beside `source` and `target`, its text.
# `corpus` numbers the training files, `id` is the pair's alone.
COLUMNS = ("shuffle_key", "source_key", "target_key", "corpus", "id")
# A source is not taken for dev if one of its targets is in more pairs than
# this: training would lose each of them, and with them every "Yes.".
_MOST_SHARED = 10
_CANDIDATES_PER_PAIR = 4
_FEWEST_CANDIDATES = 100_000


def sentence_keys(texts: Iterable[str]) -> Iterator[str]:
    """The normalised forms under which two sentences are the same.

    A text without any letter or digit is its own key, so that "?" and "!"
    stay apart. Tags before a text don't count.
    """
    for text in map(without_tags, texts):
        folded = nfkc(text).casefold()
        key = folded.translate(_SAID) or text
        # Most sentences of an alphabet are spared a look for characters.
        yield key if key.isascii() else next(simplify([key]))


def nfkc(text: str) -> str:
    """A text in normalization form KC, in a time linear in its length.

    Words of more than 256 characters are cut, and a letter may stay apart
    from marks behind the cut.
    """
    if len(text) <= _TOGETHER:
        return unicodedata.normalize("NFKC", text)
    # Nothing is composed with a space.
    return " ".join(map(_nfkc_of_word, text.split(" ")))


def _nfkc_of_word(word):
    return "".join(
        unicodedata.normalize("NFKC", word[begin : begin + _TOGETHER])
        for begin in range(0, len(word), _TOGETHER)
    )


def without_tags(text: str) -> str:
    """A text without what looks like tags at its beginning.

    Two sentences are the same, whatever their tags; these needn't be known.
    """
    match = _LEADING_TAGS.match(text)
    return text[match.end() :] if match else text


class _Said(dict):
    """Code points for `str.translate`: themselves, or None."""

    def __missing__(self, point):
        kept = self[point] = point if _is_said(chr(point)) else None
        return kept


_SAID = _Said()


def _is_said(character):
    """True for a letter, a digit or a sign for a vowel or tone.

    The marks that some scripts leave out as they like aren't.
    """
    if unicodedata.category(character)[0] != "M":
        return character.isalnum()
    script = unicodedata.name(character, "COMBINING").split()[0]
    return script not in _OPTIONAL_MARKS


def fingerprints(
    texts: Iterable[str], purpose: str, seed: int = 0
) -> np.ndarray:
    """63 bits of each text's BLAKE2 digest, the same in each process.

    Args:
        texts: N of them.
        purpose: up to 16 letters; another purpose gives other fingerprints,
            and so does
        seed: below 2^64.

    Returns:
        int64 `(N,)`, none negative.
    """
    empty = hashlib.blake2b(
        digest_size=8, salt=seed.to_bytes(8, "little"), person=purpose.encode()
    )
    digests = b"".join(_digests(empty, texts))
    values = np.frombuffer(digests, "<u8") >> np.uint64(64 - KEY_BITS)
    return values.astype(np.int64)


def _digests(empty, texts):
    for text in texts:
        state = empty.copy()
        state.update(text.encode())
        yield state.digest()


def pair_keys(pairs: Sequence[Pair], seed: int = 0) -> dict[str, np.ndarray]:
    """The keys of some pairs, columns of the table `pairs`.

    Args:
        pairs: cleaned; those of held-out files as they are.
        seed: of all digests, so that it decides the order and the dev split.

    Returns:
        fingerprints, each int64 `(N,)`: `shuffle_key` of both texts as they
        are, in whose order prepared data is, a random one, the same however the
        corpus was ordered; `source_key` and `target_key` of the sides' sentence
        keys, which are never the same.
    """
    texts = {
        "shuffle": map("\t".join, pairs),
        "source": sentence_keys(source for source, _ in pairs),
        "target": sentence_keys(target for _, target in pairs),
    }
    return {
        f"{name}_key": fingerprints(each, name, seed)
        for name, each in texts.items()
    }


def key_range(shard: int, shards: int) -> tuple[int, int]:
    """The first and the last shuffle key of a shard.

    The keys' range is cut evenly: key k belongs to shard
    `((k >> 31) * shards) >> 32`.

    Args:
        shard: its number.
        shards: how many, below 2^31.
    """
    first, end = (
        -(-(n << (KEY_BITS - 31)) // shards) << 31 for n in (shard, shard + 1)
    )
    return first, end - 1


@dataclasses.dataclass(frozen=True)
class Step:
    """A query that makes a table.

    Attributes:
        table: its name.
        query: the SQL.
        reason: under which the pairs are counted that this step leaves out of
            the table before; None: nothing is dropped.
    """

    table: str
    query: str
    reason: str | None = None


def cleaning_steps(config: DataConfig) -> list[Step]:
    """The steps from the table `pairs` to the pairs that may be used.

    With `config.remove_leaked` there has to be a table `held_out` with the
    columns `source_key` and `target_key`.
    """
    steps, table = [], PAIRS
    if config.remove_leaked != "none":
        steps.append(Step("unleaked", _not_leaked(config, table), "leaked"))
        table = "unleaked"
    if config.remove_duplicates:
        keys = "shuffle_key, source_key, target_key"
        # Ids are ascending with the number of the corpus.
        query = (
            f"SELECT {keys}, min(corpus) AS corpus, min(id) AS id FROM {table} "
            f"GROUP BY {keys}"
        )
        steps.append(Step("distinct_pairs", query, "duplicate"))
        table = "distinct_pairs"
    return steps


def _not_leaked(config, table):
    def without(*sides):
        other = f"{HELD_OUT}_{sides[0]}s"
        same = (f"{table}.{side}_key = {other}.{side}_key" for side in sides)
        return f" ANTI JOIN {HELD_OUT} AS {other} ON {' AND '.join(same)}"

    joins = {
        "pair": without("source", "target"),
        "source": without("source"),
        "side": without("source") + without("target"),
    }
    select = f"SELECT {_columns(table)} FROM {table}"
    return select + joins[config.remove_leaked]


def _columns(table):
    return ", ".join(f"{table}.{name}" for name in COLUMNS)


def dev_steps(table: str, pairs: int, fraction: float) -> list[Step]:
    """The steps from the pairs that may be used to `dev` and `train`.

    Dev takes sources whole, in the order of their keys, until it would exceed
    its fraction. It passes over sources that have more pairs than that, and
    those with a target that is in more than ten pairs.

    Args:
        table: of the pairs.
        pairs: how many they are.
        fraction: of them, for dev at most.
    """
    wanted = int(pairs * fraction)
    # More than are wanted, few of many: they are numbered in one process.
    share = _CANDIDATES_PER_PAIR * fraction + _FEWEST_CANDIDATES / pairs
    last = min(int(share * 2**KEY_BITS), _LAST_KEY)
    candidates = (
        f"SELECT source_key, target_key FROM {table} WHERE source_key <= {last}"
    )
    common = (
        f"SELECT {table}.target_key FROM {table} SEMI JOIN dev_candidates "
        f"ON {table}.target_key = dev_candidates.target_key "
        f"GROUP BY {table}.target_key HAVING count(*) > {_MOST_SHARED}"
    )
    suitable = (
        "SELECT dev_candidates.source_key AS source_key, count(*) AS pairs "
        "FROM dev_candidates LEFT JOIN common_targets "
        "ON dev_candidates.target_key = common_targets.target_key "
        "GROUP BY dev_candidates.source_key HAVING "
        f"count(*) <= {wanted} AND count(common_targets.target_key) = 0"
    )
    sources = (
        "SELECT source_key FROM (SELECT source_key, sum(pairs) OVER "
        f"(ORDER BY source_key) AS total FROM ({suitable}) AS suitable) "
        f"AS totals WHERE total <= {wanted}"
    )
    same_source = f"ON {table}.source_key = dev_sources.source_key"
    select = f"SELECT {_columns(table)} FROM {table}"
    dev = f"{select} SEMI JOIN dev_sources {same_source}"
    train = (
        f"{select} ANTI JOIN dev_sources {same_source} "
        f"ANTI JOIN {DEV} ON {table}.target_key = {DEV}.target_key"
    )
    return [
        Step("dev_candidates", candidates),
        Step("common_targets", common),
        Step("dev_sources", sources),
        Step(DEV, dev),
        Step(TRAIN, train, "shared_with_dev"),
    ]


def overlap_query(train: str, dev: str) -> str:
    """Counts the pairs of one table of which another holds a side.

    Args:
        train: the table that may hold a side.
        dev: the table whose pairs are counted, of few rows.
    """
    matches = " OR ".join(
        f"{side}_key IN (SELECT {train}.{side}_key FROM {train} SEMI JOIN {dev}"
        f" ON {train}.{side}_key = {dev}.{side}_key)"
        for side in ("source", "target")
    )
    return f"SELECT count(*) FROM {dev} WHERE {matches}"


def places_query(table: str) -> str:
    """The pairs of an epoch: `id`, `corpus`, `copy`, its number, and `place`.

    A pair has each of `copies` whose bound is at least its draw, a number that
    follows from its keys. The first copy's place is the shuffle key;
    the others are far from it and from each other, so that a batch hardly has
    two of them.

    Args:
        table: of the pairs; there has to be a table `copies`, see
            `Mixture.copies`.
    """
    # Both keys, exclusive or.
    draw = "(source_key | target_key) - (source_key & target_key)"
    return (
        f"SELECT id, {table}.corpus AS corpus, copy, "
        f"CASE WHEN shuffle_key > {_LAST_KEY} - shift "
        f"THEN shuffle_key - ({_LAST_KEY} - shift) - 1 "
        f"ELSE shuffle_key + shift END AS place FROM {table} "
        f"JOIN copies ON {table}.corpus = copies.corpus WHERE {draw} <= last"
    )


def text_query(places: str) -> str:
    """The text of pairs in the order of their places.

    Args:
        places: a query that gives `id` and `place`.
    """
    return (
        f"SELECT place, source, target FROM {PAIRS} "
        f"JOIN ({places}) AS places ON {PAIRS}.id = places.id ORDER BY place"
    )
