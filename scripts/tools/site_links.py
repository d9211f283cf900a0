"""What is wrong with the links of a built site."""

import html.parser
import pathlib
import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

# Attributes through which a page loads or leads somewhere.
_LEADING = ("href", "src", "srcset", "action", "data", "poster")
_OUTSIDE_IN_STYLE = re.compile(r"(?:url\(|@import)\s*['\"]?((?:https?:)?//\S+)")


class _Page(html.parser.HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in _LEADING and value:
                self.links.append(value)
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)


def problems(folder: pathlib.Path) -> list[str]:
    """Links that lead nowhere or out of the site.

    Args:
        folder: the built site.

    Returns:
        A line for each: the page, and the link.
    """
    folder = folder.resolve()
    pages = {path: _Page(path) for path in sorted(folder.rglob("*.html"))}
    broken = []
    for path, page in pages.items():
        for link in page.links:
            if problem := _problem(path, link, pages):
                broken.append(f"{path.relative_to(folder)}: {link}: {problem}")
    return broken + list(_styles(folder))


def _problem(path, link, pages):
    parts = urlsplit(link)
    if parts.scheme == "data":
        return None
    if parts.scheme or parts.netloc:
        return "leads out of the site"
    target = path
    if parts.path:
        target = (path.parent / unquote(parts.path)).resolve()
    if not target.is_file():
        return "no such file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return "no such anchor in the page"
    return None


def _styles(folder) -> Iterator[str]:
    for path in sorted(folder.rglob("*.css")):
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(folder)
        for address in _OUTSIDE_IN_STYLE.findall(text):
            yield f"{name}: {address}: leads out of the site"
