"""Annotations: what a type checker learns of the package, and how.

The checker itself runs in `.ci/run`, over the package and `typed_use.py`.
"""

import ast
import importlib
import pathlib

import pytest

import keras_transformer

SOURCES = pathlib.Path(keras_transformer.__file__).parent
ROOT = SOURCES.parent
# Packages whose names are imported when they are needed.
LAZY = [
    "keras_transformer",
    "keras_transformer.plots",
    "keras_transformer.serving",
]
# Packages that are functions, too, and where these are.
CALLABLE = {"keras_transformer": {"export": "keras_transformer.api.exporting"}}


def trees():
    for path in sorted(SOURCES.rglob("*.py")):
        yield path, ast.parse(path.read_text("utf-8"))


def imports_of_checkers(tree):
    """Modules by the names that are imported if TYPE_CHECKING."""
    return {
        alias.asname or alias.name: node.module
        for block in tree.body
        if isinstance(block, ast.If)
        and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in block.body
        for alias in node.names
    }


def test_every_lazy_package_is_known_here():
    lazy = [
        path.parent
        for path, tree in trees()
        if any(
            isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == "__getattr__"
            for node in ast.walk(tree)
        )
    ]
    names = [".".join(path.relative_to(ROOT).parts) for path in lazy]
    assert sorted(names) == sorted(LAZY)


@pytest.mark.parametrize("name", LAZY)
def test_checkers_read_what_the_lazy_table_imports(name):
    package = importlib.import_module(name)
    tree = ast.parse(pathlib.Path(package.__file__).read_text("utf-8"))
    table = {
        public: f"{name}.{module}" for public, module in package._PUBLIC.items()
    }
    packages = dict.fromkeys(getattr(package, "_PACKAGES", ()), name)
    functions = CALLABLE.get(name, {})
    # Of both, what is callable counts.
    assert imports_of_checkers(tree) == table | packages | functions
    version = {"__version__"} & set(package.__all__)
    assert sorted(package.__all__) == sorted({*table, *functions, *version})


def is_public(name):
    magic = name.startswith("__") and name.endswith("__")
    return magic or not name.startswith("_")


def public_functions(node, of=""):
    """Functions and methods that others may call, with their names."""
    for child in node.body:
        if not hasattr(child, "name") or not is_public(child.name):
            continue
        if isinstance(child, ast.ClassDef):
            yield from public_functions(child, f"{of}{child.name}.")
        else:
            yield f"{of}{child.name}", child


def lacking(function, is_method):
    """What of a function has no annotation."""
    of = function.args
    parameters = [*of.posonlyargs, *of.args]
    static = any(
        ast.unparse(one) == "staticmethod" for one in function.decorator_list
    )
    if is_method and not static:
        parameters = parameters[1:]
    parameters += [*of.kwonlyargs, *filter(None, (of.vararg, of.kwarg))]
    yield from (one.arg for one in parameters if one.annotation is None)
    if function.returns is None:
        yield "its result"


def test_every_public_function_is_annotated():
    bare = [
        f"{path.relative_to(ROOT)}:{function.lineno}: {name}: {what}"
        for path, tree in trees()
        for name, function in public_functions(tree)
        for what in lacking(function, is_method="." in name)
    ]
    assert bare == []
