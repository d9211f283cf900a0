"""The directive `public NAME`: a public name, from its docstring."""

import dataclasses
import inspect

from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

import keras_transformer
from keras_transformer.text.tokenizer import Tokenizer

# What autodoc would take from Keras' layers says nothing about ours.
_LEFT_OUT = "build, call, compute_output_shape, compute_output_spec, get_config"


class PublicName(SphinxDirective):
    """Documentation of `keras_transformer.NAME`, under that name.

    Its content, the name and the first line of the docstring, is for those who
    read the page's file, as on GitHub.
    """

    required_arguments = 1
    has_content = True

    def run(self):
        name = self.arguments[0]
        thing = getattr(keras_transformer, name)
        signature = _names(thing) if dataclasses.is_dataclass(thing) else ""
        path = f"keras_transformer.{name}"
        if inspect.ismodule(thing):  # a function, too
            function = inspect.unwrap(thing)
            path = f"{function.__module__}.{function.__name__}"
        lines = [f".. auto{_kind(thing)}:: {path}{signature}"]
        if inspect.isclass(thing):
            lines += ["   :members:", f"   :exclude-members: {_LEFT_OUT}"]
            if issubclass(thing, Tokenizer):
                lines += ["   :inherited-members: Module"]
        source, _ = self.get_source_info()
        self.content = StringList(["```{eval-rst}", *lines, "```"], source)
        return self.parse_content_to_nodes()


def _names(thing):
    """The fields alone: a page of its own has defaults and meanings."""
    names = [field.name for field in dataclasses.fields(thing)]
    return f"({', '.join(names)})"


def _kind(thing):
    if not inspect.isclass(thing):
        return "function"
    return "exception" if issubclass(thing, Exception) else "class"


def setup(app):
    app.add_directive("public", PublicName)
    return {"parallel_read_safe": True}
