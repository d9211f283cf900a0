"""Public names of a package that are imported on first use (PEP 562)."""

import importlib
from collections.abc import Callable, Mapping


def importer(package: str, public: Mapping[str, str]) -> Callable:
    """The `__getattr__` of a package.

    Args:
        package: its `__name__`.
        public: for each name, the module in the package that defines it.
    """

    def __getattr__(name):
        if name not in public:
            raise AttributeError(
                f"module {package!r} has no attribute {name!r}"
            )
        module = importlib.import_module(f"{package}.{public[name]}")
        return getattr(module, name)

    return __getattr__
