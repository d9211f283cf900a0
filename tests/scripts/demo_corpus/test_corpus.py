import gzip
import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from keras_transformer.data.demo import CORPUS_FILE
from keras_transformer.errors import InputError
from scripts.demo_corpus import __main__ as command
from scripts.demo_corpus import corpus, requests
from scripts.demo_corpus.corpus import draw_pairs
from scripts.demo_corpus.draw import Draw

ROOT = Path(__file__).resolve().parents[3]


def digest_in_fresh_process(hash_seed):
    code = (
        "import hashlib, sys\n"
        "from scripts.demo_corpus.corpus import draw_pairs\n"
        "from scripts.demo_corpus.draw import Draw\n"
        "text = repr(tuple(draw_pairs(Draw(5), 23_200))).encode()\n"
        "assert 'tensorflow' not in sys.modules\n"
        "print(hashlib.sha256(text).hexdigest())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "PYTHONHASHSEED": str(hash_seed)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_same_seed_gives_same_corpus_in_every_process():
    here = repr(tuple(draw_pairs(Draw(5), 23_200))).encode()
    digests = {digest_in_fresh_process(0), digest_in_fresh_process(12345)}
    assert digests == {hashlib.sha256(here).hexdigest()}


def test_constructions_are_balanced():
    counts = {}
    for name, _ in draw_pairs(Draw(3), 22_000):
        counts[name] = counts.get(name, 0) + 1
    assert len(counts) > 80
    assert max(counts.values()) < 0.02 * 22_000


def test_more_than_the_grammar_has_is_refused(monkeypatch):
    monkeypatch.setattr(corpus, "CONSTRUCTIONS", (requests.dont,))
    with pytest.raises(InputError, match="asked for 5000 pairs"):
        list(draw_pairs(Draw(0), 5000))


def test_the_package_ships_what_the_command_writes(tmp_path):
    out = tmp_path / "corpus.tsv.gz"
    command.main(["--out", str(out)])
    shipped = CORPUS_FILE.read_bytes()
    assert gzip.decompress(out.read_bytes()) == gzip.decompress(shipped)
    # The header: no file name, time 0, best compression.
    header = bytes.fromhex("1f8b0800000000000200")[:9]
    assert out.read_bytes()[:9] == shipped[:9] == header
