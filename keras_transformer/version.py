"""The versions of the package and of libraries that results depend on."""

import importlib.metadata
import platform

__version__ = "0.1.0"

# Distributions that ids, weights and graphs depend on.
_DISTRIBUTIONS = (
    "tensorflow",
    "keras",
    "tensorflow-text",
    "sentencepiece",
    "opencc-python-reimplemented",
    "numpy",
)


def versions() -> dict[str, str | None]:
    """The versions of the package, Python and the libraries it depends on.

    None for a library that isn't installed under this distribution's name.
    """
    installed: dict[str, str | None] = {
        "keras_transformer": __version__,
        "python": platform.python_version(),
    }
    for name in _DISTRIBUTIONS:
        try:
            installed[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            installed[name] = None
    return installed
