"""Tables in Markdown, and what measured them in words."""


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
