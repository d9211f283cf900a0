import numpy as np
import pytest
import tensorflow as tf

from keras_transformer.contract import layout
from keras_transformer.errors import InputError
from keras_transformer.exporting import session
from keras_transformer.exporting.saved_translator import SavedTranslator
from keras_transformer.system.files import read_json, write_json
from tests.exporting import small_export
from tests.exporting.conftest import TEXTS
from tests.toy_runs import write_versions


def test_translates_as_the_live_model(translator, report):
    expected = read_json(report.path / layout.REFERENCE)["outputs"][layout.BEAM]
    found = translator.translate([*TEXTS, ""], details=True)
    best = [translation.hypotheses[0] for translation in found]
    assert [one.text for one in best] == expected[layout.TRANSLATION]
    np.testing.assert_allclose(
        [one.score for one in best], expected[layout.SCORE], atol=1e-4
    )


def test_a_text_has_its_line_ends(translator):
    one, two = translator.translate(TEXTS[:2])
    text = f"{TEXTS[0]}\n{TEXTS[1]}\r\n"
    assert translator.translate(text) == f"{one}\n{two}\r\n"
    # Those of a file's lines are removed.
    assert translator.translate([f"{TEXTS[0]}\n"]) == [one]


@pytest.mark.parametrize(("chosen", "threads"), [(0, 1), (3, 3)])
def test_operations_have_one_thread_or_as_many_as_were_chosen(
    tmp_path, monkeypatch, chosen, threads
):
    given = []
    begin = session.SavedModelSession.__init__

    def noted(self, folder, intra_op_threads):
        given.append(intra_op_threads)
        begin(self, folder, intra_op_threads)

    monkeypatch.setattr(session.SavedModelSession, "__init__", noted)
    threading = tf.config.threading
    name = "get_intra_op_parallelism_threads"
    monkeypatch.setattr(threading, name, lambda: chosen)
    SavedTranslator(small_export.write(tmp_path / "1"))
    assert given == [threads]


@pytest.mark.parametrize("name", ["model[1]", "model *"])
def test_a_path_that_reads_as_a_pattern(tmp_path, name):
    folder = small_export.write(tmp_path / "1").rename(tmp_path / name)
    assert SavedTranslator(folder).translate("Hi.") == ""


def test_what_is_no_text_is_refused(translator):
    with pytest.raises(InputError, match=r"list of texts.*\['Hi\.'\]"):
        translator.score("Hi.", ["a", "b", "c"])
    with pytest.raises(InputError, match="Received: 1 texts, 3 translations"):
        translator.score(["a"], ["b", "c", "d"])
    for texts in (b"Hi.", ["Hi.", b"Hi."]):
        with pytest.raises(InputError, match="not bytes.*decode"):
            translator.translate(texts)


@pytest.mark.medium
def test_given_translations_are_scored(translator):
    scores = translator.score(["Where is the dog?"] * 2, ["狗在哪里？", ""])
    assert scores["tokens"].tolist() == [6, 1]
    assert (scores["log_probability"] < 0).all()
    np.testing.assert_allclose(
        scores["score"] * scores["tokens"],
        scores["log_probability"],
        rtol=1e-4,
    )


def test_an_export_of_another_format_is_refused(tmp_path):
    folder = write_versions(tmp_path, 1) / "1"
    (folder / layout.DESCRIPTION).parent.mkdir()
    for version in (0, 2, None, "1"):
        write_json(folder / layout.DESCRIPTION, {"format_version": version})
        with pytest.raises(InputError, match="format version .*Accepted: 1,"):
            SavedTranslator(folder)


def test_other_signatures_are_refused(tmp_path):
    folder = small_export.write(tmp_path / "1")
    with pytest.raises(InputError, match="no signature 'xla'. It has: "):
        SavedTranslator(folder, signature="xla")


@pytest.mark.parametrize(
    ("name", "left_out"), [("text", "truncated"), ("words", None)]
)
def test_tensors_of_other_names_are_refused(tmp_path, name, left_out):
    def answer(text):
        outputs = dict.fromkeys(layout.SIGNATURES[layout.BEAM].outputs, text)
        outputs.pop(left_out, None)
        return outputs

    spec = tf.TensorSpec([None], tf.string, name=name)
    function = tf.function(answer, input_signature=[spec], autograph=False)
    tf.saved_model.save(tf.Module(), str(tmp_path), signatures=function)
    with pytest.raises(InputError, match="doesn't translate text"):
        SavedTranslator(tmp_path)


def test_text_that_utf8_cannot_hold_is_translated(translator):
    assert isinstance(translator.translate("a dog \udcff"), str)


def test_folder_without_a_saved_model_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "versions" / "4").mkdir(parents=True)
    for name, message in (
        ("none", "none doesn't exist"),
        ("file", "file is a file"),
        ("versions", "versions/4: no SavedModel"),
    ):
        with pytest.raises(InputError, match=message):
            SavedTranslator(tmp_path / name)


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
def test_damaged_file_is_refused(tmp_path, name, damage):
    folder = small_export.write(tmp_path / "2")
    path = folder / name
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
        SavedTranslator(folder)
    assert "\n" not in str(caught.value)
