import json
import shutil

import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.contract import layout
from keras_transformer.errors import InputError
from keras_transformer.exporting.saved_translator import (
    SavedTranslator,
)
from keras_transformer.exporting.session import SavedModelSession
from keras_transformer.system.files import read_json, write_json


@pytest.fixture(scope="module")
def translator(report):
    return SavedTranslator(report.path.parent)


@pytest.fixture
def copy(report, tmp_path):
    """An export that may be damaged."""
    return shutil.copytree(report.path, tmp_path / "2")


def test_translates_as_the_live_model(translator, report, texts):
    reference = json.loads((report.path / layout.REFERENCE).read_text("utf-8"))
    expected = reference["outputs"][layout.BEAM]
    found = translator.translate([*texts, ""], details=True)
    best = [translation.hypotheses[0] for translation in found]
    assert [one.text for one in best] == expected[layout.TRANSLATION]
    np.testing.assert_allclose(
        [one.score for one in best], expected[layout.SCORE], atol=1e-4
    )


@pytest.mark.parametrize(("chosen", "threads"), [(0, 1), (3, 3)])
def test_operations_have_one_thread_or_as_many_as_were_chosen(
    report, monkeypatch, chosen, threads
):
    given = []

    class Session(SavedModelSession):
        def __init__(self, folder, intra_op_threads):
            given.append(intra_op_threads)
            super().__init__(folder, intra_op_threads)

    monkeypatch.setattr(
        "keras_transformer.exporting.session.SavedModelSession", Session
    )
    monkeypatch.setattr(
        tf.config.threading,
        "get_intra_op_parallelism_threads",
        lambda: chosen,
    )
    SavedTranslator(report.path)
    assert given == [threads]


@pytest.mark.parametrize("folder", ["model[1]", "model *"])
def test_a_path_that_reads_as_a_pattern(translator, report, tmp_path, folder):
    path = shutil.copytree(report.path, tmp_path / folder / "2")
    expected = translator.translate("Hi.", details=True)
    assert SavedTranslator(path).translate("Hi.", details=True) == expected


def test_one_text_is_not_taken_for_its_letters(translator):
    with pytest.raises(InputError, match=r"list of texts.*\['Hi\.'\]"):
        translator.score("Hi.", ["a", "b", "c"])


def test_bytes_are_to_be_decoded(translator):
    for texts in (b"Hi.", ["Hi.", b"Hi."]):
        with pytest.raises(InputError, match="not bytes.*decode"):
            translator.translate(texts)


def test_best_of_many_is_the_translation(translator, texts):
    alone = translator.translate(texts, details=True)
    four = translator.translate(texts, n_best=4, details=True)
    for one, several in zip(alone, four, strict=True):
        (best,), hypotheses = one.hypotheses, several.hypotheses
        assert best.text == hypotheses[0].text
        scores = [hypothesis.score for hypothesis in hypotheses]
        assert scores[0] == pytest.approx(best.score, abs=1e-4)
        assert scores == sorted(scores, reverse=True)
    with pytest.raises(InputError, match="1 to 4, the beam size"):
        translator.translate(texts, n_best=5)


def test_given_translations_are_scored(translator):
    scores = translator.score(["Where is the dog?"] * 2, ["狗在哪里？", ""])
    assert scores["tokens"].tolist() == [6, 1]
    assert (scores["log_probability"] < 0).all()
    np.testing.assert_allclose(
        scores["score"] * scores["tokens"],
        scores["log_probability"],
        rtol=1e-4,
    )


def test_cut_texts_are_told(translator):
    scores = translator.score(
        ["dog " * 40, "Where is the dog?"] * 2,
        ["狗", "狗" * 40] * 2,
    )
    assert scores["truncated"].tolist() == [True, False] * 2
    assert scores["translation_truncated"].tolist() == [False, True] * 2


def test_texts_too_long_for_the_model_are_split_and_not_cut(translator):
    texts = ["A dog.", "dog " * 40, "dog " * 50]
    for n_best in (None, 2):
        found = translator.translate(texts, n_best, details=True)
        assert not any(one.truncated for one in found)


def test_an_export_of_another_format_is_refused(report, tmp_path):
    folder = shutil.copytree(report.path, tmp_path / "1")
    path = folder / layout.DESCRIPTION
    for version in (0, 2, None, "1"):
        description = read_json(report.path / layout.DESCRIPTION)
        write_json(path, description | {"format_version": version})
        with pytest.raises(InputError, match="format version .*Accepted: 1,"):
            SavedTranslator(folder)


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("text", ("translation", "score")),
        ("words", ("translation", "score", "truncated")),
    ],
    ids=["output", "input"],
)
def test_other_signatures_are_refused(served, report, tmp_path, name, kept):
    with pytest.raises(InputError, match="no signature 'xla'. It has: "):
        SavedTranslator(report.path, signature="xla")

    # As an export's, but for one name.
    def part(text):
        outputs = served.functions[layout.BEAM](text=text)
        return {output: outputs[output] for output in kept}

    spec = tf.TensorSpec([None], tf.string, name=name)
    module = tf.Module()
    module.tokenizers = [
        served.module.source_tokenizer,
        served.module.target_tokenizer,
    ]
    module.weights = served.module.weights
    function = tf.function(part, input_signature=[spec], autograph=False)
    tf.saved_model.save(module, str(tmp_path), signatures=function)
    with pytest.raises(InputError, match="doesn't translate text"):
        SavedTranslator(tmp_path)


def test_text_that_utf8_cannot_hold_is_translated(translator):
    assert isinstance(translator.translate("a dog \udcff"), str)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none", "none doesn't exist"),
        ("file", "file is a file"),
        ("empty", "empty: no SavedModel"),
        ("versions", "versions/4: no SavedModel"),
    ],
)
def test_folder_without_a_saved_model_is_named(tmp_path, name, message):
    (tmp_path / "file").write_text("")
    (tmp_path / "empty").mkdir()
    (tmp_path / "versions" / "4").mkdir(parents=True)
    with pytest.raises(InputError, match=message) as caught:
        SavedTranslator(tmp_path / name)
    assert "\n" not in str(caught.value)


_INDEX = f"{layout.VARIABLES}.index"
_DATA = f"{layout.VARIABLES}.data-00000-of-00001"


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        (layout.SAVED_MODEL, "cut"),
        (layout.SAVED_MODEL, "changed"),
        *((_INDEX, damage) for damage in ("cut", "changed", "removed")),
        *((_DATA, damage) for damage in ("cut", "changed", "removed")),
    ],
)
def test_damaged_file_is_refused(copy, name, damage):
    path = copy / name
    content = bytearray(path.read_bytes())
    path.unlink()
    if damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "changed":
        # Other bytes, whatever is there: a bias may be all zeros. The graph
        # has no checksum: what its constants are, nothing can tell.
        begin = 0 if name == layout.SAVED_MODEL else len(content) // 2
        for index in range(begin, begin + 64):
            content[index] ^= 0xFF
        path.write_bytes(content)
    with pytest.raises(InputError, match="2: damaged SavedModel") as caught:
        SavedTranslator(copy)
    assert "\n" not in str(caught.value)
