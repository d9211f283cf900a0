import importlib
import inspect
import pathlib

import pytest

import keras_transformer
from keras_transformer import plots, serving

SOURCES = pathlib.Path(keras_transformer.__file__).parent
# Folders whose modules need an optional package.
NEEDING = {
    "jax": SOURCES / "ops" / "jax",
    "pyspark": SOURCES / "data" / "spark",
}


@pytest.mark.parametrize(
    ("package", "name"),
    [
        (package, name)
        for package in (keras_transformer, plots, serving)
        for name in dir(package)
    ],
)
def test_every_public_name_is_there(package, name):
    assert getattr(package, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="'nothing'"):
        keras_transformer.nothing  # noqa: B018


def import_all(paths):
    for path in paths:
        parts = path.relative_to(SOURCES.parent).with_suffix("").parts
        if parts[-1] not in ("__init__", "__main__"):
            importlib.import_module(".".join(parts))


@pytest.mark.parametrize("package", NEEDING)
def test_modules_of_an_optional_package_can_be_imported(package):
    pytest.importorskip(package, reason=f"needs {package}, an extra")
    import_all(NEEDING[package].glob("*.py"))


def test_a_package_that_is_called_describes_the_function():
    export = keras_transformer.export
    assert "warmup_texts: source sentences" in inspect.getdoc(export)
    assert "warmup_texts" in inspect.signature(export).parameters
