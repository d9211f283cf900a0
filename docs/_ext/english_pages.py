"""Links of Chinese pages to English ones, which are another build's.

`[speed](../../en/guides/speed.md)` works where the files are read, as on
GitHub; in the site it becomes a link to `../../en/guides/speed.html`.
"""

import os
from pathlib import Path

from docutils import nodes
from sphinx import addnodes


def _resolve(app, doctree):
    """Replaces references to documents outside of the language's folder."""
    page = Path(app.env.doc2path(app.env.docname)).parent
    for node in list(doctree.findall(addnodes.pending_xref)):
        if node.get("refdomain") != "doc":
            continue
        # MyST gives the absolute path of a document that isn't in this build.
        target = Path(node["reftarget"])
        if target.is_absolute() and target.with_suffix(".md").is_file():
            address = f"{os.path.relpath(target, page)}.html"
            reference = nodes.reference(
                "", "", *node.children, internal=True, refuri=address
            )
            node.replace_self(reference)


def setup(app):
    app.connect("doctree-read", _resolve)
    return {"parallel_read_safe": True}
