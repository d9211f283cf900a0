"""The text of all pages as a script, for the excerpts of the search.

Sphinx's own fetch the pages that are found, which a browser refuses where the
site is opened as files. `search_excerpts.js` cuts them out of this script's
`SEARCH_TEXTS`: by page its text, and where in it each anchor stands.
"""

import json
from pathlib import Path

from docutils import nodes

NAME = "search_texts.js"
# Formulas in LaTeX, and what isn't seen.
_LEFT_OUT = (nodes.Inline, nodes.Invisible, nodes.math_block, nodes.raw)


def text_and_anchors(document: nodes.Node) -> tuple[str, dict[str, int]]:
    """What is written in a page, in one line, and the offsets of its anchors.

    Args:
        document: of docutils, or a part of one.
    """
    blocks, anchors, length = [], {}, 0
    for node in document.findall(nodes.Element):
        for anchor in node.attributes.get("ids", ()):
            anchors[anchor] = length
        if isinstance(node, nodes.TextElement) and not (
            isinstance(node, _LEFT_OUT)
            # Its text is that of the whole.
            or isinstance(node.parent, nodes.TextElement)
        ):
            blocks.append(" ".join(node.astext().split()))
            length += len(blocks[-1]) + 1
    return " ".join(blocks), anchors


def _collect(app, pagename, templatename, context, doctree):
    if doctree is not None:
        app.search_texts[pagename] = text_and_anchors(doctree)


def _write(app, exception):
    if exception is None and app.builder.format == "html":
        texts = json.dumps(app.search_texts, ensure_ascii=False)
        path = Path(app.outdir, "_static", NAME)
        path.write_text(f"const SEARCH_TEXTS = {texts};\n", encoding="utf-8")


def setup(app):
    app.search_texts = {}
    app.connect("html-page-context", _collect)
    app.connect("build-finished", _write)
    # Pages are written in one process, which knows them all in the end.
    return {"parallel_read_safe": True, "parallel_write_safe": False}
