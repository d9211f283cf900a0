"""What all tests share."""

import collections
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
# Few tests that take long. They begin, so that in the end no process waits for
# another's.
LONG_FILES = (
    "cli/test_translation_output.py",
    "data/test_batching.py",
    "cli/test_export_keras.py",
    "cli/test_translate_server.py",
    "cli/test_evaluate.py",
    "exporting/test_int8.py",
    "inference/test_incremental.py",
    "data/test_prepare.py",
    "translation/test_details.py",
    "exporting/test_verify.py",
    "serving/test_page_access.py",
    "training/test_fit.py",
    "cli/test_path.py",
    "cli/test_ctranslate2.py",
    "cli/test_distill.py",
    "cli/test_interruption.py",
    "docs/test_examples.py",
)


# Folders whose tests build many graphs, each of which runs a few times. To
# optimize them takes a sixth of their time, so only CI does it, as programs of
# users do; graphs of the other folders are optimized everywhere.
MANY_GRAPHS = ("api", "cli", "importing", "models", "training", "translation")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Looks for no garbage while all is imported: there is none.

    Nor later in what was imported, a million objects: that is a twelfth of the
    time of tests that trace graphs.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(5_000, 10, 10)
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Long files first, then those of many tests."""
    counts = collections.Counter(item.path for item in items)
    folder = pathlib.Path(__file__).parent
    first = {folder / name: place for place, name in enumerate(LONG_FILES)}
    items.sort(
        key=lambda item: (first.get(item.path, len(first)), -counts[item.path])
    )


@pytest.fixture(scope="module", autouse=True)
def graphs_as_built(request):
    """Graphs of some folders run as they are built, except in CI."""
    path = request.path.relative_to(pathlib.Path(__file__).parent)
    if path.parts[0] not in MANY_GRAPHS or os.environ.get("CI"):
        yield
        return
    import tensorflow as tf

    set_options = tf.config.optimizer.set_experimental_options
    set_options({"disable_meta_optimizer": True})
    yield
    set_options({"disable_meta_optimizer": False})


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
