"""Formulas as MathML, which browsers draw themselves: no script, no font."""

from docutils.nodes import SkipNode
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import ExtensionError


def _inline(writer, node):
    writer.body.append(_converted(node, as_block=False))
    raise SkipNode


def _block(writer, node):
    formula = _converted(node, as_block=True)
    # Wide formulas scroll on their own, not with the page.
    writer.body.append(f'<div class="formula">{formula}</div>\n')
    raise SkipNode


def _converted(node, as_block):
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        raise ExtensionError(
            f"{node.source}, line {node.line}: {error} in {node.astext()!r}"
        ) from None


def setup(app):
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True}
