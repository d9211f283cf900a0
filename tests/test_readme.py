"""What README shows is what happens, and its figures are those of the docs."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
BLOCK = re.compile(r"```(\w+)\n(.*?)```", re.DOTALL)
# A row of the table of figures: what, the figures, the page that has them.
FIGURES = re.compile(
    r"^\| .+ \| ([\d.,]+(?:, [\d.,]+)*) \| \[\w+\]\((.+)\) \|$", re.MULTILINE
)


def text_of(path):
    return path.read_text(encoding="utf-8")


def blocks(language):
    found = BLOCK.findall(text_of(README))
    return [body for kind, body in found if kind == language]


@pytest.mark.parametrize("code", blocks("python"))
def test_python_blocks_print_what_their_comments_say(code, capsys):
    exec(compile(code, str(README), "exec"), {})
    expected = re.findall(r"print\(.*\)  # (.*)", code)
    assert capsys.readouterr().out.splitlines() == expected


# Figures.


def section(link):
    """The text of a page below the heading that a link names, without code."""
    path, _, anchor = link.partition("#")
    level, lines = 0, []
    for line in BLOCK.sub("", text_of(ROOT / path)).splitlines():
        heading = re.match(r"(#+) (.+)", line)
        if heading and level and len(heading[1]) <= level:
            break
        if heading and not level and slug(heading[2]) == anchor:
            level = len(heading[1])
        elif level:
            lines.append(line)
    assert lines, f"{path} has no heading for #{anchor}"
    return "\n".join(lines)


def slug(heading):
    """A heading's anchor, as GitHub makes it."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize(("figures", "link"), FIGURES.findall(text_of(README)))
def test_figures_stand_on_the_page_that_is_linked(figures, link):
    for figure in figures.split(", "):
        assert stands_in(figure, section(link)), (figure, link)


def stands_in(figure, text):
    """Whether a number stands in a text, and not as a part of another."""
    return re.search(rf"(?<![\d.,]){re.escape(figure)}(?![\d]|[.,]\d)", text)
