"""What all tests share."""

import gc
import os
import pathlib

import numpy as np
import pytest

# Read by TensorFlow when it is first imported: only errors are logged.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# Values that PyTorch computed, and sentences; its README.md says more.
REFERENCE = pathlib.Path(__file__).parent / "reference"
# A larger corpus beside the checkout, which is no part of the repository.
TATOEBA = pathlib.Path(__file__).parents[2] / "shared" / "data" / "tatoeba"


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Looks for no garbage while all is imported: there is none."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.fixture(scope="session")
def reference():
    """Loads a file of reference values by its name."""
    return lambda name: np.load(REFERENCE / f"{name}.npz")


@pytest.fixture(scope="session")
def notebook():
    """What the main notebook's own code computed, by name."""
    with np.load(REFERENCE / "notebook_model.npz") as archive:
        return dict(archive)


@pytest.fixture(scope="session")
def sentence_pairs():
    """Pairs of sentences as people write them; Tatoeba's, too, if at hand."""
    paths = [REFERENCE / "sentences.tsv", *sorted(TATOEBA.glob("*.tsv"))]
    lines = [
        line
        for path in paths
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    return [tuple(line.split("\t")[:2]) for line in lines]


@pytest.fixture(scope="session")
def corpus_files(tmp_path_factory):
    """Paths of a corpus: train, dev. Tatoeba's, or else the built-in one."""
    from keras_transformer.data.demo import load_demo_corpus

    if TATOEBA.is_dir():
        return TATOEBA / "train.tsv", TATOEBA / "dev.tsv"
    folder = tmp_path_factory.mktemp("corpus")
    corpus = load_demo_corpus()
    paths = []
    for name in ("train", "dev"):
        pairs = getattr(corpus, name)
        text = "".join(f"{source}\t{target}\n" for source, target in pairs)
        paths.append(folder / f"{name}.tsv")
        paths[-1].write_text(text, encoding="utf-8")
    return tuple(paths)
