"""Names and classes that are imported when they are needed."""

import gc
import importlib.util
import inspect
import sys

import keras
import pytest

import keras_transformer
from keras_transformer.lazy import quick_imports
from tests.processes import run_python
from tests.test_public_names import NEEDING, SOURCES, import_all

PACKAGE = "keras_transformer"


@pytest.fixture
def module(tmp_path, monkeypatch):
    """The name of a module that can be imported, and isn't."""
    name = "a_module_of_this_test"
    (tmp_path / f"{name}.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    before = list(sys.meta_path)
    yield name
    sys.modules.pop(name, None)
    sys.meta_path[:] = before


@pytest.mark.medium
@pytest.mark.parametrize(
    "code",
    [
        "import keras_transformer, keras",
        "import keras, keras_transformer",
        "import importlib.util, keras_transformer\n"
        "importlib.util.find_spec('keras')\nimport keras",
    ],
)
def test_keras_gets_the_classes_whichever_is_imported_first(code):
    code += (
        "\nimport inspect, sys"
        "\nprint('keras_transformer>EncoderLayer' in "
        "keras.saving.get_custom_objects(), inspect.getsource(keras) != '', "
        "[f for f in sys.meta_path if 'keras_tr' in type(f).__module__])"
    )
    assert run_python("-c", code).stdout == "True True []\n"


@pytest.mark.skipif(
    importlib.util.find_spec("tf_keras") is not None,
    reason="tf_keras is installed",
)
def test_legacy_keras_that_is_not_there_is_not_asked_for(monkeypatch):
    monkeypatch.setenv("TF_USE_LEGACY_KERAS", "1")
    code = "import os, keras_transformer; print(len(os.environ), *os.environ)"
    assert "TF_USE_LEGACY_KERAS" not in run_python("-c", code).stdout


PREPARING = """
import sys
import keras_transformer as kt
with open("a.en-de.tsv", "w") as file:
    file.writelines(f"one {n}\\teins {n}\\n" for n in range(40))
kt.prepare("a.en-de.tsv", "data", workers=2)
print("of the user", file=sys.stderr)
"""


@pytest.mark.medium
def test_nothing_but_the_users_is_on_the_screen(tmp_path, monkeypatch):
    """Neither TensorFlow's start here nor that of workers."""
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    said = run_python("-c", PREPARING, folder=tmp_path)
    assert said.stdout == ""
    assert said.stderr == "of the user\n"


def test_what_is_not_used_is_not_imported(module):
    with quick_imports(module, "keras"):
        assert not gc.isenabled()
        with pytest.raises(ImportError, match=module):
            importlib.import_module(module)
        assert importlib.util.find_spec(module) is None
        assert importlib.import_module("keras") is keras
    assert gc.isenabled()
    assert module not in sys.modules
    assert importlib.import_module(module).value == 1
    with pytest.raises(ZeroDivisionError), quick_imports(module):
        1 / 0  # noqa: B018
    assert gc.isenabled()
    assert sys.modules[module].value == 1


def test_keras_knows_every_class_that_files_may_name():
    optional = {
        path for folder in NEEDING.values() for path in folder.glob("*.py")
    }
    import_all(set(SOURCES.rglob("*.py")) - optional)
    registered = {
        name.removeprefix(f"{PACKAGE}>"): one
        for name, one in keras.saving.get_custom_objects().items()
        if name.startswith(f"{PACKAGE}>")
    }
    # Stand-ins are no classes.
    assert all(inspect.isclass(one) for one in registered.values())
    assert {
        name: one.__module__.removeprefix(f"{PACKAGE}.")
        for name, one in registered.items()
    } == keras_transformer._REGISTERED


@pytest.mark.medium
def test_a_compiled_model_loads_in_a_fresh_process(tmp_path):
    """Also with what it was trained by."""
    from keras_transformer.config import Config
    from keras_transformer.training.compiling import compile_model
    from tests.toy_models import small_transformer

    model = small_transformer(num_encoder_layers=1, num_decoder_layers=1)
    compile_model(model, Config().training, 16)
    path = tmp_path / "model.keras"
    model.save(path)
    code = (
        "import keras_transformer, keras\n"
        f"model = keras.models.load_model({str(path)!r})\n"
        "print(type(model.optimizer).__name__, type(model.loss).__name__)"
    )
    said = run_python("-c", code).stdout
    assert said.split() == ["DenseAdam", "SmoothedCrossEntropy"]
