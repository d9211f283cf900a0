"""Links of Chinese pages to English ones, which are another build's.

`[speed](../../en/guides/speed.md)` works where the files are read, as on
GitHub; in the site it becomes a link to `../../en/guides/speed.html`.
"""

import posixpath

from docutils import nodes
from sphinx import addnodes


def _resolve(app, doctree):
    """Replaces references to documents outside of the language's folder."""
    folder = posixpath.dirname(app.env.docname)
    for node in list(doctree.findall(addnodes.pending_xref)):
        target = node["reftarget"]
        if node.get("refdomain") == "doc" and target.startswith("../"):
            address = posixpath.relpath(f"{target}.html", folder or ".")
            reference = nodes.reference(
                "", "", *node.children, internal=True, refuri=address
            )
            node.replace_self(reference)


def setup(app):
    app.connect("doctree-read", _resolve)
    return {"parallel_read_safe": True}
