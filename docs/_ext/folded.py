"""Admonitions of the class `dropdown` are folded: `<details>` of HTML.

    ````{admonition} Answer
    :class: dropdown

    Seen after a click.
    ````

Furo has no such class of its own. No script is needed, and a keyboard opens
them as well.
"""

from html import escape

from docutils import nodes


def _open(writer, node):
    if "dropdown" not in node["classes"]:
        # The writer's own, which this function stands in for.
        type(writer).visit_admonition(writer, node)
        return
    title = node.pop(0)
    writer.body.append(writer.starttag(node, "details", CLASS="admonition"))
    writer.body.append(f"<summary>{escape(title.astext())}</summary>\n")


def _close(writer, node):
    if "dropdown" not in node["classes"]:
        type(writer).depart_admonition(writer, node)
        return
    writer.body.append("</details>\n")


def setup(app):
    app.add_node(nodes.admonition, override=True, html=(_open, _close))
    return {"parallel_read_safe": True}
