"""The worked examples: run, and served by other processes."""

import json
import math

import pytest

from tests.docs.pages import DOCS, run
from tests.processes import run_python

EXAMPLES = sorted((DOCS / "en" / "examples").glob("*.md"))
# For each model that the examples export, texts of different lengths.
TEXTS = {
    "reviews": ["The food was bad.", "", "Although the bar was good, it was"],
    "english": ["If she", "", "Where did the teacher go"],
}
# Answers of the SavedModels, and of each text alone, by TensorFlow alone.
SERVED = """
import json, sys
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

def operations(folder):
    model = SavedModel()
    model.ParseFromString(open(f"{folder}/saved_model.pb", "rb").read())
    functions = model.meta_graphs[0].graph_def.library.function
    return {node.op for function in functions for node in function.node_def}

def ask(function, texts):
    (answer,) = (
        tensor for name, tensor in function(text=tf.constant(texts)).items()
        if name not in ("score", "truncated")
    )
    as_text = lambda x: x.decode() if isinstance(x, bytes) else x
    return tf.nest.map_structure(as_text, answer.numpy().tolist())

answers, alone = {}, {}
for name, texts in json.load(open("texts.json")).items():
    folder = f"saved_models/{name}/1"
    assert not {"PyFunc", "PyFuncStateless", "EagerPyFunc"} & operations(folder)
    function = tf.saved_model.load(folder).signatures["serving_default"]
    answers[name] = ask(function, texts)
    alone[name] = [ask(function, [text])[0] for text in texts]
assert not {"keras_transformer", "tensorflow_text"} & set(sys.modules)
print(json.dumps([answers, alone]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where two examples ran, with two steps of training each."""
    folder = tmp_path_factory.mktemp("examples")
    for name in ("text-classifier", "language-model"):
        run(DOCS / "en" / "examples" / f"{name}.md", folder, few_steps=True)
    (folder / "texts.json").write_text(json.dumps(TEXTS))
    return folder


@pytest.mark.medium
def test_examples_are_served_without_this_package(folder):
    served, alone = json.loads(run_python("-c", SERVED, folder=folder).stdout)
    assert close(served["reviews"], alone["reviews"])
    assert served["english"] == alone["english"]
    assert served["english"][0].startswith("if she ")


@pytest.mark.slow
@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.stem)
def test_examples_score_what_their_pages_show(page, tmp_path):
    run(page, tmp_path, tolerance=0.03)


def close(ours, theirs):
    pairs = zip(ours, theirs, strict=True)
    return all(math.isclose(a, b, rel_tol=1e-5) for a, b in pairs)
