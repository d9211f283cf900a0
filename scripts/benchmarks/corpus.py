"""Corpus that the benchmarks measure: a folder of `train.tsv` and `dev.tsv`.

Standard library only: the runner of the peers uses it too.
"""

import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What `scripts/tools/tatoeba.py` makes, and where a checkout may find it ready.
FETCHED = ROOT / "corpora" / "tatoeba"
_SHARED = ROOT.parent / "shared" / "data" / "tatoeba"
MISSING = (
    "no corpus to measure on. Accepted: --data with a folder of train.tsv and "
    "dev.tsv, or scripts/tools/tatoeba.py first, which makes corpora/tatoeba"
)


def corpus_folder(folder=None) -> pathlib.Path | None:
    """The folder given, or else that of Tatoeba; None where there is none."""
    if folder is not None:
        return pathlib.Path(folder)
    candidates = (FETCHED, _SHARED)
    return next((path for path in candidates if path.is_dir()), None)
