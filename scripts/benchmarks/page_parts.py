"""Parts of pages that scripts write, between two marks."""

import pathlib


def marks(script: str) -> tuple[str, str]:
    """The lines before and after what a script writes."""
    return (
        f"<!-- Written by {script}. -->",
        "<!-- End of what it wrote. -->",
    )


def replace(path: pathlib.Path, script: str, text: str):
    """Puts a text between a script's marks, in place of the old one.

    Raises:
        ValueError: the page has no such marks.
    """
    first, last = marks(script)
    page = path.read_text(encoding="utf-8")
    before, begin, rest = page.partition(first)
    _, end, after = rest.partition(last)
    if not begin or not end:
        raise ValueError(f"{path}: not between {first} and {last}")
    content = f"{before}{begin}\n\n{text.strip()}\n\n{end}{after}"
    path.write_text(content, encoding="utf-8")


def table(columns, rows) -> str:
    """A table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(
        "| " + " | ".join(str(cell) for cell in line) + " |" for line in lines
    )


def said(environment: dict) -> str:
    """The machine and the versions, in words."""
    return ", ".join(
        f"{name} {environment[name]}" for name in sorted(environment)
    )


def machine_said(environment: dict) -> str:
    """Cores and processor, in words."""
    count = environment["cores"]
    plural = "" if count == 1 else "s"
    return f"{count} core{plural} ({environment['processor']})"
