"""Chapters of the tutorial as Jupyter notebooks, of the files of their pages.

A block of Python becomes a cell, with the output that the page shows; what
stands between becomes Markdown, pictures included. They are written beside the
pages, one for each and an archive of all.
"""

import base64
import re
import shutil
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from typing import NamedTuple

import nbformat
from nbformat import v4

FOLDER = "notebooks"
ARCHIVE = "chapters"
_CHAPTERS = "tutorial"

_FENCE = re.compile(r"(`{3,})\s*(.*?)\s*$")
_IMAGE = re.compile(r"!\[([^]]*)\]\(([^)]+\.svg)\)")
_CHAPTER = re.compile(r"\]\((\d\d-[\w-]+)\.md(?:#[\w-]*)?\)")
_DOC = re.compile(r"{doc}`([\w./-]+)`")
# Of other pages, which don't lie beside a notebook, the words are left.
_PAGE = re.compile(r"\[([^]]*)\]\((?!\w+:)[^)]+\.md(?:#[\w-]*)?\)")

_INSTALL = {
    "en": """\
This is a chapter of the tutorial of `keras_transformer` as a notebook. To run
it, install the package and Jupyter in the folder of the project, with Python
3.11, 3.12 or 3.13, and open this file:

```sh
python -m pip install . jupyterlab
jupyter lab
```

The next cell goes to an empty folder, as some chapters write files.""",
    "zh": """\
这是 `keras_transformer` 教程的一章，以笔记本的形式提供。运行前，请用 Python \
3.11、3.12 或 3.13，在项目的文件夹里安装本软件包和 Jupyter，然后打开这个文件：

```sh
python -m pip install . jupyterlab
jupyter lab
```

有些章节会写文件，所以下一个单元格会进入一个空文件夹。""",
}
_SETUP = """\
import os
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.chdir(tempfile.mkdtemp())"""
_LABELS = {
    "en": ("Notebook", "All chapters as notebooks"),
    "zh": ("笔记本", "全部章节的笔记本"),
}


class Pages(NamedTuple):
    """What a chapter speaks of.

    Attributes:
        picture: gives the SVG of a picture, by its name or by the path that
            the chapter has.
        title: gives the title of a page, by the path that the chapter has.
    """

    picture: Callable[[str], str]
    title: Callable[[str], str]


def notebook(text: str, language: str, pages: Pages) -> nbformat.NotebookNode:
    """A chapter as a notebook.

    Args:
        text: of the chapter's file, in Markdown as MyST reads it.
        language: "en" or "zh".
        pages: what the chapter speaks of.

    Raises:
        ValueError: a directive that notebooks know nothing of.
    """
    cells = [
        v4.new_markdown_cell(_INSTALL[language]),
        v4.new_code_cell(_SETUP, metadata={"tags": ["setup"]}),
        *_cells(text.splitlines(), pages),
    ]
    for number, cell in enumerate(cells):
        # Not those of nbformat, which are other ones each time.
        cell["id"] = f"cell-{number}"
    return v4.new_notebook(
        cells=cells,
        metadata={
            "kernelspec": {
                "name": "python3",
                "display_name": "Python 3",
                "language": "python",
            },
            "language_info": {"name": "python"},
        },
    )


def _cells(lines, pages) -> Iterator[nbformat.NotebookNode]:
    """The cells of a page, or of an answer in it."""
    written, code = [], None
    for fence, block in _blocks(lines):
        kind, argument = _directive(fence)
        if fence == "python":
            yield from _markdown(written)
            written, code = [], v4.new_code_cell("\n".join(block))
            yield code
            continue
        if fence == "text" and code and not any(written):
            output = "\n".join([*block, ""])
            code["outputs"] = [
                v4.new_output("stream", name="stdout", text=output)
            ]
        elif kind == "admonition":
            yield from _markdown(written)
            written = []
            yield from _answer(argument, block, pages)
        elif kind == "picture":
            options, caption = _options(block)
            image = _image(options["alt"], pages.picture(argument))
            written += [image, "", f"*{' '.join(filter(None, caption))}*"]
        elif kind:
            raise ValueError(f"no notebook has a {kind}")
        elif fence is None:
            written += _text("\n".join(block), pages).split("\n")
            if not any(written):
                continue  # An output may follow, which belongs to the code.
        else:
            written += [f"```{fence}", *block, "```"]
        code = None
    yield from _markdown(written)


def _answer(title, block, pages):
    """The cells of a folded answer. Markdown folds by itself, code by what
    Jupyter knows of a cell.
    """
    _, block = _options(block)
    first = True
    for cell in _cells(block, pages):
        if cell["cell_type"] == "markdown":
            cell["source"] = (
                f"<details><summary>{title}</summary>\n\n{cell['source']}\n\n"
                "</details>"
            )
        else:
            if first:
                yield v4.new_markdown_cell(f"**{title}**")
            hidden = {"source_hidden": True, "outputs_hidden": True}
            cell["metadata"] = {"tags": ["answer"], "jupyter": hidden}
        first = False
        yield cell


def _blocks(lines) -> Iterator[tuple[str | None, list[str]]]:
    """The text as blocks: what a fence says, None outside, and the lines."""
    outside, i = [], 0
    while i < len(lines):
        opening = _FENCE.match(lines[i])
        if not opening:
            # A comment of MyST's, such as the mark of slow code.
            if not lines[i].startswith("% "):
                outside.append(lines[i])
            i += 1
            continue
        if outside:
            yield None, outside
            outside = []
        end = lines.index(opening[1], i + 1)
        yield opening[2], lines[i + 1 : end]
        i = end + 1
    if outside:
        yield None, outside


def _directive(fence):
    """Name and argument of a directive; None, "" of any other block."""
    match = re.fullmatch(r"\{([\w-]+)\}\s*(.*)", fence or "")
    return match.groups() if match else (None, "")


def _options(block):
    """The options of a directive by name, and the lines after them."""
    options = {}
    while block and (match := re.match(r":([\w-]+):\s*(.*)", block[0])):
        options[match[1]] = match[2]
        block = block[1:]
    return options, block


def _text(text, pages):
    text = _IMAGE.sub(lambda m: _image(m[1], pages.picture(m[2])), text)
    text = _DOC.sub(lambda m: f"[{pages.title(m[1])}]({m[1]}.md)", text)
    return _PAGE.sub(r"\1", _CHAPTER.sub(r"](\1.ipynb)", text))


def _image(alt, svg):
    """Of HTML: not everyone's Markdown has an SVG in an address."""
    data = base64.b64encode(svg.encode()).decode()
    return f'<img alt="{escape(alt)}" src="data:image/svg+xml;base64,{data}">'


def _markdown(lines):
    source = "\n".join(lines).strip("\n")
    if source:
        yield v4.new_markdown_cell(source)


# The build.


def _write(app, exception):
    """Writes the notebooks of all chapters, and the archive of them."""
    if exception is not None or app.builder.format != "html":
        return
    language = app.config.language[:2]
    source, out = Path(app.srcdir, _CHAPTERS), Path(app.outdir, FOLDER)
    out.mkdir(exist_ok=True)
    chapters = sorted(source.glob("*.md"))

    def picture(name):
        path = source / name
        if not path.suffix:
            # Not before it has to draw: what it needs is large.
            import pictures

            path = pictures.picture(name, language)
        return path.read_text(encoding="utf-8")

    def title(name):
        path = source / f"{name}.md"
        return path.read_text(encoding="utf-8").split("\n", 1)[0].lstrip("# ")

    pages = Pages(picture, title)
    for chapter in chapters:
        made = notebook(chapter.read_text("utf-8"), language, pages)
        nbformat.validate(made)
        nbformat.write(made, out / f"{chapter.stem}.ipynb")
    archive = shutil.make_archive(str(out.parent / ARCHIVE), "zip", out)
    Path(archive).replace(out / f"{ARCHIVE}.zip")


def _offer(app, pagename, templatename, context, doctree):
    """Has a page's template offer what there is to download."""
    label, all_label = _LABELS[app.config.language[:2]]
    folder, _, name = pagename.rpartition("/")
    if folder == _CHAPTERS:
        context["notebook"] = f"{FOLDER}/{name}.ipynb", label
    elif pagename == app.config.root_doc:
        context["notebook"] = f"{FOLDER}/{ARCHIVE}.zip", all_label


def setup(app):
    app.connect("html-page-context", _offer)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}
