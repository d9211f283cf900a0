"""Imported runs of OpenNMT-tf against its own scores of the same files.

`scripts/fixtures/opennmt.py` made them.
"""

import dataclasses
import json
import os

import numpy as np
import pytest
import tensorflow as tf
import yaml

from keras_transformer.importing.opennmt import read_opennmt
from keras_transformer.training.run import Run
from keras_transformer.translation.translator import Translator
from tests.importing.conftest import FIXTURES

KINDS = pytest.mark.parametrize("kind", ["opennmt", "opennmt_shared"])


def references_of(kind):
    path = FIXTURES / kind / "references.json"
    return json.loads(path.read_text("utf-8"))


@pytest.fixture
def opennmt(copy):
    """A folder to be changed."""
    return copy("opennmt")


def replace(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


@KINDS
def test_log_probabilities_are_those_of_opennmt(kind, import_of):
    run, expected = Run.load(import_of(kind).folder), references_of(kind)
    translator = Translator.from_run(run, run.load_model(), run.config.decoding)
    result = translator.score(
        tf.constant(expected["sources"]), tf.constant(expected["targets"])
    )
    np.testing.assert_allclose(
        result["log_probability"], expected["log_probabilities"], atol=1e-4
    )


@pytest.mark.medium
@KINDS
def test_greedy_translations_are_those_of_opennmt(kind, import_of):
    run, expected = import_of(kind), references_of(kind)
    config = dataclasses.replace(
        run.config.decoding, max_length_ratio=0.0, max_length_offset=250
    )
    translator = Translator.from_run(run, run.load_model(), config)
    translated = translator.translate(tf.constant(expected["sources"]))
    ours = [text.decode() for text in translated["translation"].numpy()]
    theirs = [text.replace("<unk>", "⁇") for text in expected["greedy"]]
    # SentencePiece puts spaces around what is unknown.
    assert [t.replace(" ⁇ ", "⁇") for t in ours] == theirs


def test_a_run_says_what_it_was_made_of(import_of):
    run = import_of("opennmt")
    imported = run.manifest["imported"]
    assert imported["kind"] == "OpenNMT-tf"
    assert {file["name"] for file in imported["files"]} == {
        "config.yml",
        "model_description.py",
        "ckpt-300.index",
        "ckpt-300.data-00000-of-00001",
        "source.vocab",
        "target.vocab",
    }
    model = run.config.model
    assert (model.norm, model.num_heads) == ("pre", 4)
    assert run.source_tokenizer.kind == "space"
    other = import_of("opennmt_shared").config.model
    assert (other.norm, other.tied_embeddings) == ("post", "all")
    assert other.activation == "gelu"


def description(old, new):
    return lambda f: replace(f / "run" / "model_description.py", old, new)


def settings(section=None, **values):
    """Gives settings, or a section of them, other values."""

    def damage(folder):
        path = folder / "config.yml"
        whole = yaml.safe_load(path.read_text())
        (whole[section] if section else whole).update(values)
        path.write_text(yaml.safe_dump(whole))

    return damage


def data(**values):
    return settings("data", **values)


def cut(name, size):
    """Leaves so many bytes of a file, or such a share of them."""

    def damage(folder):
        path = next(folder.glob(name))
        content = path.read_bytes()
        left = size if type(size) is int else int(len(content) * size)
        path.write_bytes(content[:left])

    return damage


def add(name, text):
    def damage(folder):
        with (folder / name).open("a") as file:
            file.write(text)

    return damage


# In the place of the number of heads.
ARGUMENTS = {
    "num_heads=HEADS": "num_heads takes an integer",
    "num_heads=5": "num_heads",
    "**SIZES": "is 'SIZES', .*Accepted: arguments one by one",
    f"num_heads=0x{'f' * 5000}": "num_heads",
    "maximum_relative_position=20": "maximum_relative_position is 20",
    "position_encoder_class=None": "position_encoder_class is None",
    "ffn_activation=tf.nn.tanh": "activation must be one of .* 'tanh'",
}


@pytest.mark.medium
@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        *(
            (description("num_heads=4", text), reason)
            for text, reason in ARGUMENTS.items()
        ),
        (
            description("models.Transformer(", "models.LuongAttention("),
            "0 models that are understood",
        ),
        (description("def model", "def (model"), "not a model of OpenNMT-tf"),
        (cut("run/*.py", 0), "0 models"),
        (cut("run/*.index", 100), "damaged, or not a checkpoint"),
        (cut("run/*.data*", 1000), "damaged, or not a checkpoint"),
        (cut("run/*.data*", 0.5), "damaged, or not a checkpoint"),
        (lambda folder: os.mkfifo(folder / "run/ckpt-1.index"), "neither a fi"),
        (lambda folder: os.mkfifo(folder / "run/ckpt-9.index"), "neither a fi"),
        (add("config.yml", "x: " + "[" * 60000), "config.yml: damaged"),
        (add("config.yml", "#" * 70000), "config.yml: too large"),
        (cut("*.vocab", 100), "vocabulary"),
        (cut("*.vocab", 10), "begins with"),
        (data(target_vocabulary=None), "target_vocabulary is None"),
        (data(source_vocabulary="../x"), "outside the folder"),
        (data(source_vocabulary="a\0b"), "is .a.x00b., no path"),
        (data(target_vocabulary="no.vocab"), "no.vocab"),
        (settings(model_dir="nowhere"), "no ckpt-N.index"),
        (
            data(source_tokenization={"type": "CharacterTokenizer"}),
            "source_tokenization is .*Accepted",
        ),
        (
            data(target_sequence_controls={"start": True}),
            "target_sequence_controls",
        ),
    ],
)
def test_what_is_damaged_or_unknown_is_refused(damage, reason, refuses):
    refuses("opennmt", damage, reason)


def test_a_description_is_never_run(import_changed, tmp_path):
    text = f"\nopen({str(tmp_path / 'x')!r}, 'w')"
    import_changed("opennmt", add("run/model_description.py", text))
    assert not (tmp_path / "x").exists()


def test_other_positions_are_refused(refuses):
    reason = "Accepted: tensor2tensor"
    refuses("opennmt", lambda _: None, reason, positions="sinusoidal")


@pytest.mark.parametrize(
    ("call", "heads"),
    [
        ("models.TransformerBase()", 8),
        ("models.TransformerBaseSharedEmbeddings()", 8),
        ('models.get_model_from_catalog("TransformerTiny")', 2),
        ('opennmt.models.catalog.get_model_from_catalog("TransformerBase")', 8),
        ("models.Transformer()", 8),
    ],
)
def test_models_that_say_nothing_have_the_usual_values(call, heads, opennmt):
    path = opennmt / "run" / "model_description.py"
    path.write_text(f"import opennmt\nmodel = lambda: {call}\n")
    model = read_opennmt(opennmt)
    assert model.sizes["num_heads"] == heads
    assert model.activation == "relu"
    assert model.section["dropout"] == 0.1


def test_arguments_of_a_sequence_are_refused(refuses):
    change = description("models.Transformer(", "models.Transformer(*INPUTS, ")
    refuses("opennmt", change, "Accepted: arguments one by one")


def test_a_search_is_that_of_the_file(opennmt):
    values = {"minimum_decoding_length": 2, "maximum_decoding_length": 9}
    settings("params", **values, sampling_topk=5, decoding_noise=0)(opennmt)
    model = read_opennmt(opennmt)
    assert model.decoding["min_length"] == 2
    assert model.decoding["max_length"] == 9
    assert model.left_out == ("sampling_topk=5",)


def test_a_search_that_the_file_leaves_open_is_auto_configs(opennmt):
    assert not read_opennmt(opennmt).decoding["replace_unknown"]
    unknown = "replace_unknown_target: true"
    replace(opennmt / "config.yml", "beam_width: 1", unknown)
    decoding = read_opennmt(opennmt).decoding
    assert decoding["beam_size"] == 4
    assert decoding["replace_unknown"] is True


@pytest.mark.medium
@pytest.mark.parametrize(
    ("given", "taken"), [("0.25", 0.25), ("RATE", 0.1), ("0", 0), ("0.0", 0)]
)
def test_dropout_is_that_of_the_description(given, taken, import_changed):
    change = description("dropout=0.1", f"dropout={given}")
    run = import_changed("opennmt", change)
    assert run.config.model.dropout == taken


def test_a_source_may_have_a_start_and_an_end(import_changed):
    change = data(source_sequence_controls={"start": True, "end": True})
    model = import_changed("opennmt", change).config.model
    assert model.source_start
    assert model.source_end
