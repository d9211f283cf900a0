"""Imported M2M100 and NLLB against transformers with the same files.

`scripts/fixtures/m2m100.py` made them.
"""

import dataclasses
import itertools
import json

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.cli.main import main
from keras_transformer.errors import InputError
from keras_transformer.importing.hugging_face import read_hugging_face
from keras_transformer.importing.run import import_run
from keras_transformer.importing.vocabulary import new_order
from keras_transformer.inference.incremental import IncrementalTransformer
from keras_transformer.training.run import Run
from keras_transformer.translation.translator import Translator
from tests.importing.conftest import FIXTURES

KINDS = pytest.mark.parametrize("kind", ["m2m100", "nllb"])
TAGS = {"m2m100": ("en", "zh"), "nllb": ("eng_Latn", "zho_Hans")}
LONGEST = 59  # transformers' limit of 60, less its start


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs by their kinds."""
    base = tmp_path_factory.mktemp("runs")
    runs = {}
    for kind, (source, target) in TAGS.items():
        import_run(
            FIXTURES / kind,
            base / kind,
            source_language=source,
            target_language=target,
        )
        runs[kind] = Run.load(base / kind)
    return runs


class References:
    """What transformers makes of sentences, in this package's ids."""

    def __init__(self, kind):
        folder = FIXTURES / kind
        model = read_hugging_face(folder)
        sides = zip(
            model.vocabularies, model.paddings, model.starts, strict=True
        )
        self.order = [new_order(*side) for side in sides][1]
        ours = {old: new for new, old in enumerate(self.order) if new != 2}
        self._ours = np.array([ours[i] for i in range(len(ours))])
        values = json.loads((folder / "references.json").read_text("utf-8"))
        # transformers' tokenizer of NLLB leaves several spaces as they are,
        # if its model has no table of normalisation. Real ones have one.
        kept = [
            kind == "m2m100" or "  " not in text for text in values["sources"]
        ]
        values = {
            name: list(itertools.compress(rows, kept))
            for name, rows in values.items()
        }
        self.texts = {side: values[f"{side}s"] for side in ("source", "target")}
        self.ids = {
            side: [self.translated(row)[:-1] for row in values[f"{side}_ids"]]
            for side in ("source", "target")
        }
        self.greedy = [self.translated(row["ids"]) for row in values["greedy"]]
        arrays = np.load(folder / "logits.npz")
        started = [
            np.pad(
                self._ours[arrays[side]], ((0, 0), (1, 0)), constant_values=2
            )
            for side in ("source", "target")
        ]
        self.inputs = started[0], started[1][:, :-1]
        self.logits = arrays["logits"][..., self.order]

    def translated(self, ids):
        return self._ours[np.array(ids, int)].tolist()


@pytest.fixture(scope="module")
def references():
    return {kind: References(kind) for kind in TAGS}


@KINDS
@pytest.mark.parametrize("side", ["source", "target"])
def test_ids_are_those_of_transformers(kind, side, runs, references):
    reference = references[kind]
    tokenizer = getattr(runs[kind], f"{side}_tokenizer")
    ids = tokenizer.tokenize(reference.texts[side]).to_list()
    assert ids == reference.ids[side]
    assert any(1 in row for row in ids)


@KINDS
def test_logits_are_those_of_transformers(kind, runs, references):
    reference, model = references[kind], runs[kind].load_model()
    inputs = [tf.constant(ids, tf.int32) for ids in reference.inputs]
    names = ("source_ids", "target_ids")
    whole = model(dict(zip(names, inputs, strict=True)), training=False)
    steps, _ = IncrementalTransformer(model).predict(*inputs)
    real = reference.inputs[1] != 0
    but_start = np.arange(len(reference.order)) != 2
    expected = reference.logits[real][:, but_start]
    for logits in (whole, steps):
        np.testing.assert_allclose(
            np.array(logits)[real][:, but_start], expected, atol=1e-4
        )


@pytest.mark.medium
@KINDS
def test_greedy_translations_are_those_of_transformers(kind, runs, references):
    run, reference = runs[kind], references[kind]
    config = dataclasses.replace(
        run.config.decoding,
        beam_size=1,
        max_length_ratio=0.0,
        max_length_offset=LONGEST,
    )
    translator = Translator.from_run(run, run.load_model(), config)
    text = tf.constant(reference.texts["source"])
    result = translator.search(translator.prepare(text), num_hypotheses=1)
    same = 0
    for ids, expected in zip(
        result.ids.numpy()[:, 0].tolist(), reference.greedy, strict=True
    ):
        ours = [i for i in ids if i]
        same += ours == expected[1:]
        # There the limit ends a sentence by </s>.
        assert ours == expected[1:] or len(expected) > LONGEST
    assert same >= 40, same
    texts = translator.translate(text)["translation"].numpy()
    assert all(b">>" not in line for line in texts)


def test_a_beginning_that_was_asked_for_follows_the_code(runs):
    run = runs["m2m100"]
    translator = Translator.from_run(run, run.load_model(), run.config.decoding)
    source = translator.prepare(tf.constant(["I go.", "I go."]))
    prefixes = translator.target_ids(tf.constant(["我", ""]), end=False)
    ids = translator.search(source, 1, prefixes).ids.numpy()[:, 0]
    code = run.target_tokenizer.first_id()
    assert ids[0, :2].tolist() == prefixes[0, :2].numpy().tolist()
    assert ids[:, 0].tolist() == [code, code]


def test_the_source_may_have_another_language(runs):
    run = runs["m2m100"]
    config = dataclasses.replace(run.config.decoding, source_prefix=">>de<<")
    translator = Translator.from_run(run, run.load_model(), config)
    ids = translator.prepare(tf.constant(["I go."])).ids.numpy()[0]
    assert run.source_tokenizer.tokens()[ids[1]] == "▁>>de<<"


@KINDS
def test_what_looks_like_a_code_and_is_none_is_text(kind, runs):
    run = runs[kind]
    translator = Translator.from_run(run, run.load_model(), run.config.decoding)
    text = tf.constant(["I go.", ">>xx<< I go."])
    plain, other = translator.prepare(text).ids.numpy()[:, 1]
    assert plain == other == run.source_tokenizer.first_id()
    # What a translation begins with, likewise.
    plain, other = translator.target_ids(text, end=False).numpy()[:, 0]
    assert plain == other == run.target_tokenizer.first_id()


@KINDS
def test_the_command_tells_the_licence(kind, tmp_path, capsys):
    source, target = TAGS[kind]
    arguments = ["--source-language", source, "--target-language", target]
    out = str(tmp_path / "run")
    main(["import", "--from", str(FIXTURES / kind), "--out", out, *arguments])
    printed = capsys.readouterr().out
    assert ("not for commercial use" in printed) == (kind == "nllb")
    assert f">>{target}<<" in printed


@pytest.fixture
def folder(tmp_path):
    """A folder of M2M100's to be damaged."""
    folder = tmp_path / "m2m100"
    folder.mkdir()
    for path in (FIXTURES / "m2m100").iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def change(name, **values):
    def damage(folder):
        path = folder / name
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return damage


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (change("config.json", scale_embedding=False), "scale_embedding"),
        (change("config.json", tie_word_embeddings=False), "tie_word"),
        (change("config.json", vocab_size=10), "vocab_size is 10"),
        (change("config.json", vocab_size=10**9), "vocab_size is 10000"),
        (change("config.json", decoder_start_token_id=0), "decoder_start"),
        (change("vocab.json", extra=[1]), "vocab.json: .* ids"),
        (
            lambda folder: (folder / "sentencepiece.bpe.model").unlink(),
            "sentencepiece.bpe.model",
        ),
        (lambda folder: (folder / "vocab.json").unlink(), "tokenizer.json"),
        (
            lambda folder: (
                (folder / "tokenizer.json").write_text("{}")
                and (folder / "vocab.json").unlink()
            ),
            "no vocabulary",
        ),
    ],
)
def test_what_is_damaged_or_unknown_is_refused(
    damage, reason, folder, tmp_path
):
    damage(folder)
    with pytest.raises(InputError, match=reason) as caught:
        import_run(
            folder,
            tmp_path / "run",
            source_language="en",
            target_language="zh",
        )
    assert "\n" not in str(caught.value)


def test_a_language_without_a_token_is_refused(folder, tmp_path):
    with pytest.raises(InputError, match=">>xx<< is no language code"):
        import_run(
            folder, tmp_path / "r", source_language="en", target_language="xx"
        )
