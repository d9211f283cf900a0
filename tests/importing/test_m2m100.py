"""Imported M2M100 and NLLB against transformers with the same files.

`scripts/fixtures/m2m100.py` made them.
"""

import dataclasses

import pytest
import tensorflow as tf

from keras_transformer.cli.main import main
from keras_transformer.errors import InputError
from keras_transformer.importing.run import import_run
from keras_transformer.training.run import Run
from keras_transformer.translation.translator import Translator
from tests.importing.conftest import FIXTURES, LONGEST, change, search

KINDS = pytest.mark.parametrize("kind", ["m2m100", "nllb"])
TAGS = {"m2m100": ("en", "zh"), "nllb": ("eng_Latn", "zho_Hans")}


def languages(kind):
    source, target = TAGS[kind]
    return {"source_language": source, "target_language": target}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Runs by their kinds."""
    base = tmp_path_factory.mktemp("runs")
    runs = {}
    for kind in TAGS:
        import_run(FIXTURES / kind, base / kind, **languages(kind))
        runs[kind] = Run.load(base / kind)
    return runs


@KINDS
@pytest.mark.parametrize("side", ["source", "target"])
def test_ids_are_those_of_transformers(kind, side, runs, references):
    references[kind].assert_ids(runs[kind], side)


@KINDS
def test_logits_are_those_of_transformers(kind, runs, references):
    references[kind].assert_logits(runs[kind])


@pytest.mark.medium
@KINDS
def test_greedy_translations_are_those_of_transformers(kind, runs, references):
    run, reference = runs[kind], references[kind]
    found, _ = search(run, reference.sources, 1)
    same = 0
    for ids, row in zip(found, reference.searches["greedy"], strict=True):
        expected = reference.translated(row["ids"])[1:]
        same += ids == expected
        # There the limit ends a sentence by </s>.
        assert ids == expected or len(expected) >= LONGEST
    assert same >= 40, same
    texts = run.target_tokenizer.detokenize(tf.ragged.constant(found))
    assert all(b">>" not in line for line in texts.numpy())


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
    main(["import", str(FIXTURES / kind), "--out", out, *arguments])
    printed = capsys.readouterr().out
    assert ("not for commercial use" in printed) == (kind == "nllb")
    assert f">>{target}<<" in printed


@pytest.fixture
def folder(copy):
    """A folder of M2M100's to be damaged."""
    return copy("m2m100")


def given(**values):
    return lambda folder: change(folder, **values)


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (given(scale_embedding=False), "scale_embedding"),
        (given(tie_word_embeddings=False), "tie_word"),
        (given(vocab_size=10), "vocab_size is 10"),
        (given(vocab_size=10**9), "vocab_size is 10000"),
        (given(decoder_start_token_id=0), "decoder_start"),
        (given(name="vocab.json", extra=[1]), "vocab.json: .* ids"),
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
        import_run(folder, tmp_path / "run", **languages("m2m100"))
    assert "\n" not in str(caught.value)


def test_a_language_without_a_token_is_refused(folder, tmp_path):
    with pytest.raises(InputError, match=">>xx<< is no language code"):
        import_run(
            folder, tmp_path / "r", source_language="en", target_language="xx"
        )
