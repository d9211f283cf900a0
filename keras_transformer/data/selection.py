"""Selection: which of the cleaned pairs are trained on, in SQL.

A pair is a row of its text and of numbers, which alone are looked at (see
`data.keys`). The queries keep to what DuckDB and Spark both understand, so
that one machine and many keep the same pairs. Every query makes a table of the
one before:

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

from keras_transformer.config.data import DataConfig
from keras_transformer.data.keys import KEY_BITS

PAIRS, HELD_OUT, DEV, TRAIN = "pairs", "held_out", "dev", "train"
# Of the table `pairs`, 64-bit integers, beside `source` and `target`, its text.
# `corpus` numbers the training files, `id` is the pair's alone.
COLUMNS = ("shuffle_key", "source_key", "target_key", "corpus", "id")
# A source is not taken for dev if one of its targets is in more pairs than
# this: training would lose each of them, and with them every "Yes.".
_MOST_SHARED = 10
_LAST_KEY = 2**KEY_BITS - 1
_CANDIDATES_PER_PAIR = 4
_FEWEST_CANDIDATES = 100_000


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
    last = min(int(share * 2**KEY_BITS), 2**KEY_BITS - 1)
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
