"""Lazy imports, and faster imports of large packages."""

import ast
import contextlib
import gc
import importlib
import importlib.util
import os
import pathlib
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from typing import Any


def public_names(
    package: str, file: str
) -> tuple[Callable, Callable[[], list[str]], list[str]]:
    """`__getattr__`, `__dir__` and `__all__` of a package that imports lazily.

    Its names are those that its stub `__init__.pyi` imports, from the modules
    that define them: checkers and editors read the same file. `__all__` leaves
    out the packages among them. Sources: PEP 562; Scientific Python's SPEC 1,
    `lazy_loader.attach_stub`.

    Args:
        package: its `__name__`.
        file: its `__file__`.
    """
    stub = pathlib.Path(file).with_suffix(".pyi").read_text("utf-8")
    modules = {
        alias.name: node.module
        for node in ast.parse(stub).body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }

    def __getattr__(name):
        if name not in modules:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}"
            )
        if modules[name] == package:
            return importlib.import_module(f"{package}.{name}")
        return getattr(importlib.import_module(modules[name]), name)

    names = sorted(modules)
    not_packages = [name for name in names if modules[name] != package]
    return __getattr__, lambda: names, not_packages


def register_with_keras(package: str, classes: Mapping[str, str]) -> None:
    """Lets Keras load files that name a package's classes.

    Keras imports no module that a file names, for safety, so a program has to
    import the classes before it loads a file. Registered here are stand-ins
    that import a class when Keras asks for it: now, or once Keras is imported.

    Args:
        package: its `__name__`, under which its classes are registered.
        classes: for each class, the module in the package that registers it.
    """

    def register():
        registered = sys.modules["keras"].saving.get_custom_objects()
        for name, module in classes.items():
            stand_in = _Deferred(f"{package}.{module}", name)
            registered.setdefault(f"{package}>{name}", stand_in)

    @contextlib.contextmanager
    def registering():
        yield
        register()

    if "keras" in sys.modules:
        register()
    else:
        sys.meta_path.insert(0, _Finder("keras", registering))


def hush_tensorflow() -> None:
    """Suppresses what TensorFlow's C++ code prints when it is imported.

    In this process and in those that it starts, unless the environment has
    `TF_CPP_MIN_LOG_LEVEL=0`.
    """
    # Other libraries set this, and TensorFlow Text then fails without tf_keras.
    if importlib.util.find_spec("tf_keras") is None:
        os.environ.pop("TF_USE_LEGACY_KERAS", None)
    level = os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if level != "0" and "tensorflow" not in sys.modules:
        sys.meta_path.insert(0, _Finder("tensorflow", _quiet_stderr))


@contextlib.contextmanager
def _quiet_stderr():
    """Discards what is written to stderr, also by C++, unless it fails."""
    try:
        kept = os.dup(2)
    except OSError:  # It is closed.
        yield
        return
    with tempfile.TemporaryFile() as said:
        os.dup2(said.fileno(), 2)
        try:
            yield
        except BaseException:
            said.seek(0)
            os.write(kept, said.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


@contextlib.contextmanager
def quick_imports(*without: str) -> Iterator[None]:
    """Makes imports of large packages in the block faster.

    Garbage collection is off, as it would scan ever more objects and free none.
    And packages that others only import because they are installed are hidden.

    Args:
        without: names of packages to hide. Importing them fails inside the
            block, unless they were imported before it.
    """
    hidden = [name for name in without if name not in sys.modules]
    collects = gc.isenabled()
    gc.disable()
    # Importing a module that is None in `sys.modules` is an ImportError.
    modules: dict[str, Any] = dict.fromkeys(hidden)
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]
        if collects:
            gc.enable()


class _Deferred:
    """Stands for a class; imports it when any attribute is asked for."""

    def __init__(self, module, name):
        self._where = module, name

    def __getattr__(self, attribute):
        # Copying or printing it doesn't need the class.
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        module, name = self._where
        return getattr(
            getattr(importlib.import_module(module), name), attribute
        )


class _Finder:
    """Finds a module as other finders do, and loads it in a context."""

    def __init__(self, name, context):
        self._name = name
        self._context = context
        self._searching = False

    def find_spec(self, name, path=None, target=None):
        if name != self._name or self._searching:
            return None
        self._searching = True
        try:
            spec = importlib.util.find_spec(name)
        finally:
            self._searching = False
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            execute = loader.exec_module

            def exec_module(module):
                with self._context():
                    execute(module)
                    sys.meta_path.remove(self)

            loader.exec_module = exec_module
        return spec
