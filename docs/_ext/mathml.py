"""Formulas as MathML, which browsers draw themselves: no script, no font."""

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform

_OPENING = "([（“"
_CLOSING = ",.;:!?)]，。；：！？、）”"


class Unbroken(SphinxPostTransform):
    """Keeps formulas in a line and the punctuation beside them together.

    Browsers take a formula for a box and break the line on either side of
    it, even before a full stop.
    """

    default_priority = 500
    formats = ("html",)

    def run(self, **options):
        for formula in list(self.document.findall(nodes.math)):
            keep_together(formula)


def keep_together(formula):
    """Puts a formula and the punctuation beside it into one element."""
    parent = formula.parent
    place = parent.index(formula)
    before, after = parent[:place], parent[place + 1 :]
    whole = nodes.inline("", "", formula, classes=["unbroken"])
    if before and isinstance(before[-1], nodes.Text):
        text = before.pop()
        rest = text.rstrip(_OPENING)
        before.append(nodes.Text(rest))
        whole.insert(0, nodes.Text(text[len(rest) :]))
    if after and isinstance(after[0], nodes.Text):
        text = after.pop(0)
        rest = text.lstrip(_CLOSING)
        after.insert(0, nodes.Text(rest))
        whole.append(nodes.Text(text[: len(text) - len(rest)]))
    parent.children = []
    parent.extend([*before, whole, *after])


def _inline(writer, node):
    writer.body.append(_converted(node, as_block=False))
    raise nodes.SkipNode


def _block(writer, node):
    formula = _converted(node, as_block=True)
    # Wide formulas scroll on their own, not with the page.
    writer.body.append(f'<div class="formula">{formula}</div>\n')
    raise nodes.SkipNode


def _converted(node, as_block):
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        raise ExtensionError(
            f"{node.source}, line {node.line}: {error} in {node.astext()!r}"
        ) from None


def setup(app):
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.add_post_transform(Unbroken)
    return {"parallel_read_safe": True}
