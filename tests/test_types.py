"""Annotations: what a type checker learns of the package, and how.

The checker itself runs in `.ci/run`, over the package and `typed_use.py`.
"""

import ast
import pathlib

import keras_transformer

SOURCES = pathlib.Path(keras_transformer.__file__).parent
ROOT = SOURCES.parent


def trees():
    for path in sorted(SOURCES.rglob("*.py")):
        yield path, ast.parse(path.read_text("utf-8"))


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
