"""`export --format keras`, and loading what it wrote."""

import json
import os
import shutil

import keras
import numpy as np
import pytest

from keras_transformer.errors import InputError
from keras_transformer.exporting.writer.keras_file import write_companions
from keras_transformer.importing.run import import_run
from keras_transformer.training.run import Run
from tests.built_once import built_once
from tests.cli.conftest import call, each_configurable
from tests.importing.conftest import FIXTURES
from tests.on_jax import run_on_jax
from tests.processes import run_python
from tests.toy_runs import write_run

LOAD = """
assert not [m for m in sys.modules if m.startswith("keras_transformer.layers")]
model = keras.models.load_model(PATH)
print(type(model).__module__, model.compiled)
"""
WITHOUT = """
import sys, keras
try:
    keras.models.load_model(PATH)
except TypeError as error:
    print(str(error).partition(".")[0])
import keras_transformer
"""


def export_words(run, out):
    return ["export", "--format=keras", "--run", run, "--out", out]


@pytest.fixture(scope="module")
def exported(tmp_path_factory, toy):
    def build(folder):
        call(*export_words(toy, folder))

    return built_once(tmp_path_factory, "keras_export", build)


def assert_same_logits(loaded, run):
    """On longer sentences than those that the export has compared."""
    sizes = (
        run.source_tokenizer.vocabulary_size,
        run.target_tokenizer.vocabulary_size,
    )
    random = np.random.default_rng(5)
    ids = [random.integers(0, size, (2, 20)) for size in sizes]
    inputs = dict(zip(("source_ids", "target_ids"), ids, strict=True))
    expected = run.load_model()(inputs).numpy()
    assert expected.std() > 0.01
    np.testing.assert_allclose(
        loaded(inputs), expected, rtol=0, atol=1e-6 * np.abs(expected).max()
    )


@pytest.mark.medium
@each_configurable
def test_loads_with_the_logits_of_the_run(variant, tmp_path, succeed):
    run, out = tmp_path / "run", tmp_path / "out"
    write_run(run, variant, threads=2)
    said = succeed(*export_words(run, out), "--json").out
    assert json.loads(said.splitlines()[-1])["path"] == str(out)
    loaded = keras.models.load_model(out / "model.keras")
    assert_same_logits(loaded, Run.load(run))
    assert len(loaded.weights) == len(Run.load(run).build_model().weights)


@pytest.mark.medium
def test_a_run_in_bfloat16_has_a_file_in_float32(tmp_path):
    run, out = tmp_path / "run", tmp_path / "out"
    write_run(run, "pre, tied", precision="mixed_bfloat16")
    call(*export_words(run, out))
    # Whatever the process that loads it computes in.
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        loaded = keras.models.load_model(out / "model.keras")
    finally:
        keras.config.set_dtype_policy("float32")
    layers = [layer for layer in loaded.layers if layer.weights]
    assert {layer.compute_dtype for layer in layers} == {"float32"}
    write_run(tmp_path / "same", "pre, tied")
    assert_same_logits(loaded, Run.load(tmp_path / "same"))


@pytest.mark.medium
@pytest.mark.parametrize("kind", ["separate", "m2m100"])
def test_imported_models_and_their_origin(kind, folders, tmp_path):
    run, out = tmp_path / "run", tmp_path / "out"
    languages = {"source_language": "en", "target_language": "zh"}
    import_run(folders.get(kind, FIXTURES / kind), run, **languages)
    call(*export_words(run, out))
    loaded = keras.models.load_model(out / "model.keras")
    assert_same_logits(loaded, Run.load(run))
    description = json.loads((out / "keras_transformer.json").read_text())
    assert description["languages"] == {"source": "en", "target": "zh"}
    assert description["imported"]["files"]
    copied = {path.name for path in (run / "imported").glob("*")}
    assert copied == {path.name for path in (out / "imported").glob("*")}


@pytest.mark.medium
def test_another_process_loads_it_with_the_package_imported(exported):
    path = repr(str(exported / "model.keras"))
    loaded = "keras_transformer.models.transformer False"
    unknown = "Could not locate class 'Transformer'"
    before = "import keras_transformer, keras, sys"
    for code, said in ((WITHOUT, [unknown, loaded]), (before, [loaded])):
        done = run_python("-c", (code + LOAD).replace("PATH", path))
        assert done.stdout.splitlines() == said


def test_describes_itself(exported, succeed):
    said = succeed("info", exported).out
    assert "export for Keras" in said
    assert "apache-2.0" in said


@pytest.mark.filterwarnings("ignore:.*not copied")
@pytest.mark.parametrize("linked", ["a file", "the folder"])
def test_no_private_file_is_copied(toy, tmp_path, linked):
    copy, out, home = (tmp_path / name for name in ("run", "out", "home"))
    for folder in (out, home):
        folder.mkdir()
    (home / "NOTICE").write_text("private")
    copied = Run.load(shutil.copytree(toy, copy))
    notices = copy / "imported"
    shutil.rmtree(notices)
    if linked == "a file":
        notices.mkdir()
        (notices / "README.md").write_text("own")
        (notices / "NOTICE").symlink_to(home / "NOTICE")
        (notices / "more").symlink_to(home)
    else:
        notices.symlink_to(home)
    write_companions(out, copied)
    texts = [path.read_text() for path in out.glob("imported/*")]
    assert texts == (["own"] if linked == "a file" else [])


def test_a_notice_without_end_is_refused(toy, tmp_path):
    copied = Run.load(shutil.copytree(toy, tmp_path / "run"))
    notice = tmp_path / "run" / "imported" / "NOTICE"
    notice.touch()
    os.truncate(notice, 1 << 40)
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="NOTICE: too large"):
        write_companions(tmp_path / "out", copied)


def test_folders_that_cannot_be_are_refused(toy, exported, tmp_path, refuses):
    out = tmp_path / "out"
    refuses(*export_words(toy, exported), says=[exported, "isn't empty"])
    file = tmp_path / "en.keras"
    refuses(*export_words(toy, file), says=["such as", "model."])
    missing = export_words(tmp_path / "none", out)
    refuses(*missing, says=["not a run folder"])
    (tmp_path / "text").write_text("aaa\n")
    words = ["--ctranslate2", exported, "--input", tmp_path / "text"]
    says = ["not of keras_transformer.ctranslate2"]
    refuses("translate", *words, says=says)


@pytest.mark.medium
def test_a_model_that_loads_otherwise_is_not_published(
    toy, tmp_path, monkeypatch, refuses
):
    load = keras.models.load_model

    def other(path):
        model = load(path)
        model.weights[0].assign(model.weights[0] * 1.01)
        return model

    monkeypatch.setattr(keras.models, "load_model", other)
    says = ["logits differ", "nothing was published"]
    refuses(*export_words(toy, tmp_path / "out"), says=says)
    assert not list(tmp_path.iterdir())


ON_JAX = """
import sys, keras_transformer, keras, numpy as np
folder = sys.argv[1]
model = keras.models.load_model(f"{folder}/model.keras")
reference = dict(np.load(sys.argv[2]))
expected = reference.pop("logits")
logits = np.asarray(model(reference))
print(keras.backend.backend(), np.abs(logits - expected).max())
"""


@pytest.mark.slow
def test_loads_on_jax(exported, tmp_path):
    ids = np.array([[2, 5, 6, 3], [2, 7, 3, 0]])
    inputs = {"source_ids": ids, "target_ids": ids}
    logits = keras.models.load_model(exported / "model.keras")(inputs).numpy()
    np.savez(tmp_path / "reference.npz", **inputs, logits=logits)
    reference = tmp_path / "reference.npz"
    result = run_on_jax("-c", ON_JAX, exported, reference)
    backend, difference = result.stdout.split()
    assert backend == "jax", result.stderr
    assert float(difference) < 1e-5, result.stderr
