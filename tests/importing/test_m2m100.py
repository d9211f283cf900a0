"""Imported M2M100 and NLLB: languages are tokens of both sides.

`scripts/fixtures/m2m100.py` made them.
"""

import pytest
import tensorflow as tf

from keras_transformer.cli.main import main
from keras_transformer.translation.translator import Translator
from tests.importing.conftest import FIXTURES, TAGS

KINDS = pytest.mark.parametrize("kind", TAGS)


def translator_of(run):
    return Translator.from_run(run, run.load_model(), run.config.decoding)


def test_a_beginning_that_was_asked_for_follows_the_code(import_of):
    run = import_of("m2m100")
    translator = translator_of(run)
    source = translator.prepare(tf.constant(["I go.", "I go."]))
    prefixes = translator.target_ids(tf.constant(["我", ""]), end=False)
    ids = translator.search(source, 1, prefixes).ids.numpy()[:, 0]
    code = run.target_tokenizer.first_id()
    assert ids[0, :2].tolist() == prefixes[0, :2].numpy().tolist()
    assert ids[:, 0].tolist() == [code, code]


@KINDS
def test_what_looks_like_a_code_and_is_none_is_text(kind, import_of):
    run = import_of(kind)
    translator = translator_of(run)
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


def test_a_language_without_a_token_is_refused(refuses):
    reason = ">>xx<< is no language code"
    refuses("m2m100", lambda folder: None, reason, target_language="xx")
