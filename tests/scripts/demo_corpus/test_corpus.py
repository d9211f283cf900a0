import gzip

import pytest

from keras_transformer.data.demo import CORPUS_FILE
from keras_transformer.errors import InputError
from scripts.demo_corpus import __main__ as command
from scripts.demo_corpus import corpus, requests
from scripts.demo_corpus.corpus import draw_pairs
from scripts.demo_corpus.draw import Draw


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
