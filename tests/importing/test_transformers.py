"""Imported models against transformers itself, where it is installed.

Random weights and random sentences, of both of which there are others for
another seed. The interpreter that has torch and transformers is this one, or
the one that the variable KERAS_TRANSFORMER_HF_PYTHON names.
"""

import importlib.util
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys

import pytest
import sentencepiece

from keras_transformer.constants import END_ID, SPECIAL_TOKENS, UNK_ID
from keras_transformer.data.demo import load_demo_corpus
from keras_transformer.importing.run import import_run
from tests.importing.conftest import LONGEST, References, search

ROOT = pathlib.Path(__file__).resolve().parents[2]
VARIABLE = "KERAS_TRANSFORMER_HF_PYTHON"
KINDS = ("base", "big", "separate")
PLAIN, ODD = 20, 20  # sentences
# Of code points that a user's text may have in it. Without control characters
# and marks of direction: these are spaces or nothing here, whatever follows.
RANGES = [
    *((0x21, 0x7E), (0xA1, 0xFF), (0x300, 0x36F), (0x370, 0x52F)),
    *((0x620, 0x6D3), (0x900, 0x97F), (0xE01, 0xE5B), (0x1100, 0x11FF)),
    *((0x1E00, 0x1EFF), (0x2010, 0x2027), (0x2030, 0x205E), (0x2070, 0x218B)),
    *((0x2460, 0x24FF), (0x3001, 0x30FF), (0x4E00, 0x9FA5), (0xAC00, 0xD7A3)),
    *((0xFB00, 0xFB06), (0xFF01, 0xFFEE), (0x1D400, 0x1D454)),
    *((0x1F300, 0x1F64F), (0x20000, 0x200FF)),
]
SPACES = [" ", "  ", "\t", "\u00a0", "\u3000", "\u2009"]


def interpreter():
    """One that has transformers; None: there is none."""
    if VARIABLE in os.environ:
        return os.environ[VARIABLE]
    names = ("torch", "transformers")
    here = all(importlib.util.find_spec(name) for name in names)
    return sys.executable if here else None


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        interpreter() is None,
        reason="needs torch and transformers, here or in the interpreter "
        f"that {VARIABLE} names",
    ),
]


def ask(*arguments):
    """What `scripts.fixtures.marian_random` prints."""
    done = subprocess.run(
        [interpreter(), "-m", "scripts.fixtures.marian_random", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def random_pairs(seed):
    """Sentences of the demo's corpus, and odd ones."""
    draw = random.Random(seed)
    corpus = load_demo_corpus().train
    plain = draw.sample(corpus, PLAIN)

    def odd(text):
        words = text.split(" ") if " " in text else [*text]
        for _ in range(draw.randint(1, 4)):
            ranges = draw.choices(RANGES, k=draw.randint(1, 5))
            strange = "".join(chr(draw.randint(*one)) for one in ranges)
            words.insert(draw.randint(0, len(words)), strange)
        return "".join(word + draw.choice(SPACES) for word in words)

    others = draw.sample(corpus, ODD)
    return plain + [(odd(one), odd(other)) for one, other in others]


@pytest.fixture(scope="module", params=KINDS)
def made(request, tmp_path_factory):
    """A folder that transformers wrote, its references, and our run of it."""
    base = tmp_path_factory.mktemp(request.param)
    seed = 1 + KINDS.index(request.param)
    (base / "pairs.json").write_text(json.dumps(random_pairs(seed)))
    folder = base / "model"
    ask("make", folder, request.param, str(seed), base / "pairs.json")
    run = import_run(folder, base / "run", positions="sinusoidal")
    return folder, References(folder), run


@pytest.mark.parametrize("side", ["source", "target"])
def test_ids_are_the_same(side, made):
    folder, references, run = made
    tokenizer = getattr(run, f"{side}_tokenizer")
    texts = getattr(references, f"{side}s")
    ours, theirs = tokenizer.tokenize(texts).to_list(), references.ids[side]
    assert len(ours) == len(theirs) == PLAIN + ODD
    assert ours[:PLAIN] == theirs[:PLAIN]
    # Of odd ones, what the documentation has as the exception.
    different = [i for i in range(len(ours)) if ours[i] != theirs[i]]
    own = own_ids(folder / f"{side}.spm", tokenizer)
    for i in different:
        assert unknown_joined(ours[i], own) == unknown_joined(theirs[i], own)
    print(f"{side}: {len(ours) - len(different)} of {len(ours)} the same")
    assert any(UNK_ID in row for row in references.ids[side])


def own_ids(path, tokenizer):
    """Ids of the pieces that one side's SentencePiece model has itself."""
    model = sentencepiece.SentencePieceProcessor(str(path))
    pieces = {model.id_to_piece(i) for i in range(len(model))}
    known = pieces | {*SPECIAL_TOKENS}
    return {i for i, t in enumerate(tokenizer.tokens()) if t in known}


def unknown_joined(ids, own):
    """Ids in which what the other side has is unknown, in one for a run."""
    ids = [i if i in own else UNK_ID for i in ids]
    return [i for i, group in itertools.groupby(ids) for i in _once(i, group)]


def _once(i, group):
    return [i] if i == UNK_ID else list(group)


def test_logits_are_the_same(made):
    _, references, run = made
    references.assert_logits(run)


def ended(ids):
    """Whether a hypothesis ended before its limit."""
    return len(ids) < LONGEST and ids[-1] == END_ID


def paired(references, rows, ours):
    """Theirs in our ids, and the sentences where neither met its limit.

    Args:
        references: of the folder.
        rows: what transformers ended with.
        ours: ids of as many translations.

    Returns:
        theirs, the numbers of those sentences, and of them those whose
        translations are the same.
    """
    theirs = [references.translated(row["ids"])[1:] for row in rows]
    numbers = [
        i
        for i, (one, other) in enumerate(zip(ours, theirs, strict=True))
        if ended(one) and ended(other)
    ]
    same = [i for i in numbers if ours[i] == theirs[i]]
    print(f"{len(same)} the same of {len(numbers)} that ended")
    return theirs, numbers, same


def test_greedy_translations_are_the_same(made):
    _, references, run = made
    ours, _ = search(run, references.sources, 1)
    rows = references.searches["greedy"]
    _, numbers, same = paired(references, rows, ours)
    assert same == numbers
    assert len(numbers) >= PLAIN


def test_beams_differ_only_where_theirs_stopped_too_soon(made, tmp_path):
    """Each difference is explained by transformers itself, in two ways.

    By its own forced pass over both translations, ours has the higher score;
    and its search ends with ours, too, when it goes on until no hypothesis
    can win, unless it meets its limit then.
    """
    folder, references, run = made
    ours, scores = search(run, references.sources, 4)
    rows = references.searches["beam"]
    theirs, numbers, same = paired(references, rows, ours)
    order = references.order
    both = [
        [references.sources[i], [order[token] for token in ids]]
        for i in numbers
        for ids in (ours[i], theirs[i])
    ]
    (tmp_path / "rows.json").write_text(json.dumps(both))
    forced = json.loads(ask("score", folder, tmp_path / "rows.json"))
    for i, own, other in zip(numbers, forced[::2], forced[1::2], strict=True):
        said = f"{references.sources[i]!r}: {own:.5f} and {other:.5f}"
        assert scores[i] == pytest.approx(own, abs=1e-4), said
        assert rows[i]["score"] == pytest.approx(other, abs=1e-4), said
        if i not in same:
            print(f"scores of ours and theirs, {said}")
            assert own > other, said
    path = folder / "references.json"
    never = json.loads(path.read_text("utf-8"))["never"]
    _, whole, same_whole = paired(references, never, ours)
    assert same_whole == whole
    assert len(numbers) >= PLAIN
    assert len(same) >= len(numbers) / 2
