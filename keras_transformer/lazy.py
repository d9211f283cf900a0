"""What is imported when it is first needed, and how that is soon done."""

import contextlib
import gc
import importlib
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from importlib.abc import Loader
from types import ModuleType
from typing import Any, cast


def importer(
    package: str, public: Mapping[str, str], packages: Collection[str] = ()
) -> Callable:
    """The `__getattr__` of a package (PEP 562).

    Args:
        package: its `__name__`.
        public: for each name, the module in the package that defines it.
        packages: names of packages in it.
    """

    def __getattr__(name):
        if name in packages:
            return importlib.import_module(f"{package}.{name}")
        if name not in public:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}"
            )
        module = importlib.import_module(f"{package}.{public[name]}")
        return getattr(module, name)

    return __getattr__


def register_with_keras(package: str, classes: Mapping[str, str]) -> None:
    """Lets Keras load files that name a package's classes.

    Keras imports no module that a file names, for safety, so whoever loads one
    has to import its classes first. Registered here are stand-ins that import
    a class when Keras asks for it. Neither the classes nor Keras are imported
    for that: where Keras isn't there yet, it is waited for.

    Args:
        package: its `__name__`, under which its classes are registered.
        classes: for each class, the module in the package that registers it.
    """

    def register(keras):
        registered = keras.saving.get_custom_objects()
        for name, module in classes.items():
            stand_in = _Deferred(f"{package}.{module}", name)
            registered.setdefault(f"{package}>{name}", stand_in)

    after_import("keras", register)


def make_callable(package: str, name: str, module: str) -> None:
    """Lets a package be called where a function has its name.

    A package is an attribute of the one that it lies in, in the place of
    everything else of that name.

    Args:
        package: `__name__` of the outer package.
        name: of the inner package and of the function.
        module: in the outer package, that defines the function.
    """

    class CallablePackage(ModuleType):
        @property
        def __wrapped__(self):  # whose signature and docstring are shown
            return getattr(importlib.import_module(f"{package}.{module}"), name)

        # Which `help` and notebooks print; of modules it can be set.
        @property
        def __doc__(self):  # type: ignore[override]  # As said.
            return self.__wrapped__.__doc__

        def __call__(self, *args, **kwargs):
            return self.__wrapped__(*args, **kwargs)

    def change(inner):
        inner.__class__ = CallablePackage

    after_import(f"{package}.{name}", change)


def after_import(name: str, function: Callable[[ModuleType], None]) -> None:
    """Calls a function when a module has been imported, or now if it is.

    Args:
        name: of the module, in full.
        function: gets the module.
    """
    if name in sys.modules:
        function(sys.modules[name])
    else:
        sys.meta_path.insert(0, _Watcher(name, function))


@contextlib.contextmanager
def quick_imports(*without: str) -> Iterator[None]:
    """Makes imports in the block quicker, where they are of large packages.

    Python looks for cycles among ever more objects, of which none is garbage.
    And packages that nobody uses are imported because they are installed.

    Args:
        without: such packages. They are not to be had in the block, unless
            they were imported before; behind it they are.
    """
    hidden = [name for name in without if name not in sys.modules]
    collects = gc.isenabled()
    gc.disable()
    # To import what is None is an ImportError.
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
        # What copies or prints it needs no class.
        if attribute.startswith("_"):
            raise AttributeError(attribute)
        module, name = self._where
        return getattr(
            getattr(importlib.import_module(module), name), attribute
        )


class _Watcher:
    """Finder of one module, by the other finders; sees when it is imported."""

    def __init__(self, name, function):
        self._name = name
        self._function = function
        self._asks = False

    def find_spec(self, name, path=None, target=None):
        # Another watcher of the module, which this one asks, asks back.
        if name != self._name or self._asks:
            return None
        self._asks = True
        try:
            others = [finder for finder in sys.meta_path if finder is not self]
            specs = (finder.find_spec(name, path, target) for finder in others)
            spec = next(filter(None, specs), None)
        finally:
            self._asks = False
        if spec is not None and spec.loader is not None:
            spec.loader = cast(Loader, _WatchedLoader(spec.loader, self))
        return spec

    def imported(self, module):
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self._function(module)


class _WatchedLoader:
    """Another loader, but for telling a `_Watcher` what it has loaded."""

    def __init__(self, loader, watcher):
        self._loader = loader
        self._watcher = watcher

    def __getattr__(self, attribute):
        return getattr(self._loader, attribute)

    def exec_module(self, module):
        # As if nobody had watched.
        module.__loader__ = module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._watcher.imported(module)
