"""Selection: SQL queries that select cleaned pairs for training by their keys.

Two sentences are the same if their sentence keys are equal: case, width,
punctuation and the variety of Chinese don't matter. A sentence key is the text
in NFKC and lower case, with letters, vowel signs and digits only, and
traditional characters mapped to simplified ones.

Texts are compared, sorted and counted by fingerprints: 63 bits of a BLAKE2
digest, non-negative and thus the same number in NumPy and in any SQL. Any two
of n different texts have the same fingerprint with a probability of about n^2 /
2^64: one in 1,800 for a hundred million.

A pair is a row of its text and of numbers, and queries look only at the
numbers. They use only SQL that DuckDB and Spark both support, so that one
machine and a cluster keep the same pairs. Every query makes a new table from
the one before:

1. `leaked`: a held-out file has the pair, too, or a side of it (option).
2. `duplicate`: only one of equal pairs is kept (option).
3. The dev split, if it is a fraction of the corpus: whole sources, in the
   order of their keys. `shared_with_dev`: pairs with a target of dev aren't
   trained on.
4. `not_sampled`: corpus weights drop the pair; they may also repeat it
   (option).

Finally, the text of the remaining pairs is sorted by their places. Which pairs
are kept, and where, depends on the keys and not on the order of the corpus.
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
# together: the time is quadratic in the length of a run of combining marks.
_TOGETHER = 256
_LEADING_TAGS = re.compile(rf"(?:{TAG}\s*)+")
# First words of the Unicode names of marks that are often left out.
_OPTIONAL_MARKS = {"COMBINING", "VARIATION", "HEBREW", "ARABIC", "SYRIAC"}
PAIRS, HELD_OUT, DEV, TRAIN = "pairs", "held_out", "dev", "train"
# Columns of the table `pairs`, 64-bit integers, besides the texts `source` and
# `target`. `corpus` numbers the training files, `id` is unique for each pair.
COLUMNS = ("shuffle_key", "source_key", "target_key", "corpus", "id")
# A source isn't used for dev if one of its targets is in more pairs than this:
# training would lose all of these pairs, such as every "Yes.".
_MOST_SHARED = 10
_CANDIDATES_PER_PAIR = 4
_FEWEST_CANDIDATES = 100_000


def sentence_keys(texts: Iterable[str]) -> Iterator[str]:
    """Yields normalised forms, which are equal for equivalent sentences.

    A text without any letter or digit is its own key, so that "?" and "!"
    differ. Tags before a text are ignored.
    """
    for text in map(without_tags, texts):
        folded = nfkc(text).casefold()
        key = folded.translate(_SAID) or text
        # ASCII keys needn't be searched for traditional characters.
        yield key if key.isascii() else next(simplify([key]))


def nfkc(text: str) -> str:
    """Normalizes a text to form KC in linear time.

    Words of more than 256 characters are cut, and a letter may not be composed
    with marks after the cut.
    """
    if len(text) <= _TOGETHER:
        return unicodedata.normalize("NFKC", text)
    # No character composes with a space.
    return " ".join(map(_nfkc_of_word, text.split(" ")))


def _nfkc_of_word(word):
    return "".join(
        unicodedata.normalize("NFKC", word[begin : begin + _TOGETHER])
        for begin in range(0, len(word), _TOGETHER)
    )


def without_tags(text: str) -> str:
    """A text without anything that looks like tags at its beginning.

    The tags needn't be known to a tokenizer.
    """
    match = _LEADING_TAGS.match(text)
    return text[match.end() :] if match else text


class _Said(dict):
    """A table for `str.translate` that deletes insignificant characters."""

    def __missing__(self, point):
        kept = self[point] = point if _is_said(chr(point)) else None
        return kept


_SAID = _Said()


def _is_said(character):
    """True for a letter, a digit or a sign for a vowel or tone.

    False for the marks that are optional in some scripts.
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
        texts: N texts.
        purpose: up to 16 letters; other purposes give other fingerprints.
        seed: below 2^64; other seeds give other fingerprints.

    Returns:
        int64 `(N,)`, non-negative.
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
    """The keys of some pairs, which are columns of the table `pairs`.

    Args:
        pairs: cleaned pairs, or raw pairs of held-out files.
        seed: of all digests, so that it decides the order and the dev split.

    Returns:
        fingerprints, each int64 `(N,)`: `shuffle_key` of the texts of both
        sides, which gives prepared data a random order that doesn't depend on
        the order of the corpus; `source_key` and `target_key` of the sides'
        sentence keys, which differ even for equal sides.
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

    The range of keys is divided evenly: key k belongs to shard
    `((k >> 31) * shards) >> 32`.

    Args:
        shard: index of the shard.
        shards: number of shards, below 2^31.
    """
    first, end = (
        -(-(n << (KEY_BITS - 31)) // shards) << 31 for n in (shard, shard + 1)
    )
    return first, end - 1


@dataclasses.dataclass(frozen=True)
class Step:
    """A query that creates a table.

    Attributes:
        table: the table's name.
        query: the SQL.
        reason: under which the pairs that this step drops from the table before
            are counted; None: it drops none.
    """

    table: str
    query: str
    reason: str | None = None


def cleaning_steps(config: DataConfig) -> list[Step]:
    """The steps from the table `pairs` to the usable pairs.

    `config.remove_leaked` requires a table `held_out` with the columns
    `source_key` and `target_key`.
    """
    steps, table = [], PAIRS
    if config.remove_leaked != "none":
        steps.append(Step("unleaked", _not_leaked(config, table), "leaked"))
        table = "unleaked"
    if config.remove_duplicates:
        keys = "shuffle_key, source_key, target_key"
        # Ids ascend with the number of the corpus, so both are of one pair.
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
    """The steps from the usable pairs to `dev` and `train`.

    Dev takes sources with all of their pairs, in the order of their keys, until
    it would exceed its fraction. It skips sources that have more pairs than
    that, and those with a target that is in more than ten pairs.

    Args:
        table: of the usable pairs.
        pairs: number of pairs in the table.
        fraction: maximum fraction of the pairs for dev.
    """
    wanted = int(pairs * fraction)
    # More than needed, but few compared with a large corpus, because a single
    # process handles them.
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
    """A query that counts the dev pairs of which a side is in training.

    Args:
        train: the table of training pairs.
        dev: the table whose pairs are counted, with few rows.
    """
    matches = " OR ".join(
        f"{side}_key IN (SELECT {train}.{side}_key FROM {train} SEMI JOIN {dev}"
        f" ON {train}.{side}_key = {dev}.{side}_key)"
        for side in ("source", "target")
    )
    return f"SELECT count(*) FROM {dev} WHERE {matches}"


def places_query(table: str) -> str:
    """A query for the pairs of an epoch: `id`, `corpus`, `copy` and `place`.

    A pair has each copy of the table `copies` whose `last` is at least the
    pair's draw, a number computed from its keys. The place of copy 0 is the
    shuffle key; the other places are far from it and from each other, so that a
    batch rarely has two copies of a pair.

    Args:
        table: of the pairs. The table `copies` is also required, see
            `Mixture.copies`.
    """
    # The exclusive or of both keys.
    draw = "(source_key | target_key) - (source_key & target_key)"
    return (
        f"SELECT id, {table}.corpus AS corpus, copy, "
        f"CASE WHEN shuffle_key > {_LAST_KEY} - shift "
        f"THEN shuffle_key - ({_LAST_KEY} - shift) - 1 "
        f"ELSE shuffle_key + shift END AS place FROM {table} "
        f"JOIN copies ON {table}.corpus = copies.corpus WHERE {draw} <= last"
    )


def text_query(places: str) -> str:
    """A query for the text of pairs in the order of their places.

    Args:
        places: a query with the columns `id` and `place`.
    """
    return (
        f"SELECT place, source, target FROM {PAIRS} "
        f"JOIN ({places}) AS places ON {PAIRS}.id = places.id ORDER BY place"
    )
