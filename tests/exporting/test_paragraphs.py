"""An export takes texts of any number of sentences."""

import dataclasses

import pytest

from keras_transformer.contract import layout
from keras_transformer.exporting.saved_translator import SavedTranslator
from keras_transformer.exporting.session import SavedModelSession
from keras_transformer.exporting.writer.signatures import TracedSignatures

ONE, TWO = "Where is the dog?", "The dog isn't here."
TEXT = f"{ONE} {TWO}\r\n\r\n - {TWO} \n"


@pytest.fixture(scope="module")
def session(report):
    return SavedModelSession(report.path, 1)


@pytest.fixture(scope="module")
def kept_export(run, model, tmp_path_factory):
    """The same model, whose export takes each text for a sentence."""
    decoding = dataclasses.replace(run.config.decoding, sentences="keep")
    tokenizers = run.source_tokenizer, run.target_tokenizer
    base = tmp_path_factory.mktemp("kept")
    TracedSignatures(model, *tokenizers, decoding, data=run.config.data).save(
        base / "1"
    )
    return base


def answers(session, signature, *texts):
    inputs = {layout.TEXT: [text.encode() for text in texts]}
    return session.run(signature, inputs)


@pytest.mark.parametrize("signature", [layout.BEAM, layout.GREEDY])
def test_a_text_is_its_translated_sentences(session, signature):
    alone = answers(session, signature, ONE, TWO)
    outputs = answers(session, signature, TEXT, "", ONE)
    one, two = (text.decode() for text in alone[layout.TRANSLATION])
    # Chinese puts no space between sentences; line ends are as they were.
    assert [text.decode() for text in outputs[layout.TRANSLATION]] == [
        f"{one}{two}\r\n\r\n - {two} \n",
        "",
        one,
    ]
    assert outputs[layout.SENTENCES].tolist() == [3, 0, 1]
    first, second = alone[layout.SCORE].tolist()
    expected = [(first + 2 * second) / 3, 0, first]
    assert outputs[layout.SCORE].tolist() == pytest.approx(expected, abs=1e-4)


def test_nbest_joins_translations_of_a_rank(session):
    alone = answers(session, layout.NBEST, ONE, TWO)
    outputs = answers(session, layout.NBEST, f"{ONE} {TWO}")
    ranks = zip(*alone[layout.TRANSLATIONS].tolist(), strict=True)
    assert outputs[layout.TRANSLATIONS][0].tolist() == [
        b"".join(rank) for rank in ranks
    ]
    assert outputs[layout.SENTENCES].tolist() == [2]


def test_a_long_text_loses_nothing(session):
    outputs = answers(session, layout.GREEDY, f"{ONE} " * 200, "dog, " * 300)
    assert outputs[layout.SENTENCES].tolist()[0] == 200
    assert outputs[layout.SENTENCES].tolist()[1] > 10
    one = answers(session, layout.GREEDY, ONE)[layout.TRANSLATION][0]
    assert outputs[layout.TRANSLATION][0].startswith(one * 200)


def test_in_python_a_text_has_its_line_ends(report):
    translator = SavedTranslator(report.path)
    one, two = translator.translate([ONE, TWO])
    assert translator.translate(f"{ONE}\n{TWO}\r\n") == f"{one}\n{two}\r\n"
    # Those of a file's lines are removed.
    assert translator.translate([f"{ONE}\n"]) == [one]


def test_an_export_that_keeps_texts_splits_none(kept_export):
    session = SavedModelSession(kept_export / "1", 1)
    outputs = answers(session, layout.BEAM, f"{ONE} {TWO}", "dog " * 40, "")
    assert outputs[layout.SENTENCES].tolist() == [1, 1, 0]
    assert outputs[layout.TRUNCATED].tolist()[1:] == [True, False]
    with pytest.warns(UserWarning, match="truncated text"):
        SavedTranslator(kept_export).translate(["dog " * 40])
