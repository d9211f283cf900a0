"""The worked examples: run, loaded by other processes, and served."""

import json
import math
import os
import subprocess
import sys

import pytest

from tests.docs.pages import DOCS, ROOT, run

EXAMPLES = sorted((DOCS / "en" / "examples").glob("*.md"))
# For each model that the examples export, texts of different lengths.
TEXTS = {
    "reviews": ["The food was bad.", "", "Although the bar was good, it was"],
    "tagger": ["they can fish", "", "the light book", "a whale"],
    "english": ["If she", "", "Where did the teacher go"],
    "dates": ["3 March 1999", "", "the 21st of April 2004"],
}
# Answers of the `.keras` files, after nothing but `import keras_transformer`.
LOADED = """
import json
import keras_transformer as kt
import keras, tensorflow as tf

texts = json.load(open("texts.json"))

def model(name):
    return keras.models.load_model(f"{name}.keras")

def tokenizer(name):
    return kt.load_tokenizer(f"{name}_tokenizer")

def scores(name):
    ids = tokenizer(name).tokenize(texts[name]).to_tensor()
    return model(name)(ids)

answers = {"reviews": tf.nn.softmax(scores("reviews"))[:, 1].numpy().tolist()}
best = tf.argmax(scores("tagger")[..., 1:], -1).numpy() + 1
answers["tagger"] = best.tolist()
generate = kt.TextGenerator(tokenizer("english"), model("english"))
answers["english"] = generate(texts["english"])
translator = kt.Translator(
    *(kt.load_tokenizer(f"dates_{side}") for side in ("reader", "writer")),
    kt.IncrementalTransformer(model("dates")),
    kt.DecodingConfig(beam_size=1),
)
written = translator.translate(tf.constant(texts["dates"]))["translation"]
answers["dates"] = [text.decode() for text in written.numpy()]
print(json.dumps(answers))
"""
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


def made(folder, names, models):
    """Runs examples in a folder, with two steps of training each.

    Args:
        folder: theirs.
        names: of the pages.
        models: those of `TEXTS` that will be asked.
    """
    for name in names:
        run(DOCS / "en" / "examples" / f"{name}.md", folder, few_steps=True)
    texts = {name: TEXTS[name] for name in models}
    (folder / "texts.json").write_text(json.dumps(texts))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the examples ran that aren't slow."""
    folder = tmp_path_factory.mktemp("examples")
    made(folder, ["text-classifier", "language-model"], ["reviews", "english"])
    return folder


def in_a_fresh_process(code, folder):
    """What code prints as JSON, run by a Python that knows nothing yet."""
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def test_examples_are_served_without_this_package(folder):
    served, alone = in_a_fresh_process(SERVED, folder)
    assert close(served["reviews"], alone["reviews"])
    assert served["english"] == alone["english"]
    assert served["english"][0].startswith("if she ")


@pytest.mark.slow
def test_every_example_is_served_as_it_was_saved(folder):
    made(folder, ["tagger", "dates"], TEXTS)
    loaded = in_a_fresh_process(LOADED, folder)
    served, alone = in_a_fresh_process(SERVED, folder)
    assert close(served["reviews"], loaded["reviews"])
    assert close(served["reviews"], alone["reviews"])
    for name in ("english", "dates"):
        assert served[name] == loaded[name] == alone[name]
    tags = "DET ADJ NOUN VERB PRON AUX ADP ADV".split()
    for text, row, ids, one in zip(
        TEXTS["tagger"],
        served["tagger"],
        loaded["tagger"],
        alone["tagger"],
        strict=True,
    ):
        length = len(text.split())
        expected = [tags[i - 1] for i in ids[:length]]
        assert row == expected + [""] * (len(row) - length)
        assert one == expected


@pytest.mark.slow
@pytest.mark.parametrize("page", EXAMPLES, ids=lambda page: page.stem)
def test_examples_score_what_their_pages_show(page, tmp_path):
    run(page, tmp_path, tolerance=0.03)


def close(ours, theirs):
    pairs = zip(ours, theirs, strict=True)
    return all(math.isclose(a, b, rel_tol=1e-5) for a, b in pairs)
