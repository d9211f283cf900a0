"""Pages of Markdown: their fences and headings, run and compared."""

import contextlib
import dataclasses
import io
import math
import os
import pathlib
import re
import shlex

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Where a `% slow` line stands, the rest of the page waits for `-m slow`.
SLOW = "% slow"

_FENCE = re.compile(r"(`{3,})\s*(.*?)\s*$")
_HEADING = re.compile(r"(#+) (.+)")
# A number of its own, not the 1 of `layer_1`.
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d*)?(?:e[+-]?\d+)?(?![\w])")
# What takes a page its time, and what tests that are to be fast do instead.
_EPOCHS = re.compile(r"\bepochs=\d+")
_SMALLER = (
    (_EPOCHS, "epochs=1, steps_per_epoch=2"),
    (re.compile(r"coder_layers=\d+"), "coder_layers=1"),
)


@dataclasses.dataclass(frozen=True)
class Fence:
    """A fenced block: its language, its lines, where they begin.

    `follows` is the fence that stands directly before it, or None.
    """

    language: str
    text: str
    line: int
    slow: bool
    follows: "Fence | None" = None


@dataclasses.dataclass(frozen=True)
class Example:
    """Python code, and what it prints; None: the page doesn't say."""

    code: Fence
    output: Fence | None


def markdown_files(folder=DOCS) -> list[pathlib.Path]:
    """Every page under `folder`, apart from what a build has made."""
    return sorted(
        path
        for path in folder.rglob("*.md")
        if not any(part.startswith("_") for part in path.parts)
    )


def fences(path) -> list[Fence]:
    """The fences of a page in order, also those inside a directive."""
    found, slow, previous = [], False, None
    lines = path.read_text(encoding="utf-8").splitlines()
    i = 0
    while i < len(lines):
        opening = _FENCE.match(lines[i])
        slow = slow or lines[i].strip() == SLOW
        # A directive of four backticks holds fences: it is looked into.
        if not opening or _is_container(opening):
            previous = None if lines[i].strip() else previous
            i += 1
            continue
        end = _closing(lines, i, opening[1], path)
        text = "".join(f"{line}\n" for line in lines[i + 1 : end])
        previous = Fence(opening[2], text, i + 2, slow, previous)
        found.append(previous)
        i = end + 1
    return found


def _is_container(opening):
    # Also the line that closes it, which has no language.
    return len(opening[1]) > 3


def _closing(lines, start, ticks, path):
    for i in range(start + 1, len(lines)):
        if lines[i].strip() == ticks:
            return i
    raise ValueError(f"{path}, line {start + 1}: a fence that isn't closed")


def examples(path) -> list[Example]:
    """Every Python fence with the text fence that follows it directly."""
    found = fences(path)
    outputs = {
        fence.follows.line: fence
        for fence in found
        if fence.language == "text" and fence.follows
    }
    return [
        Example(fence, outputs.get(fence.line))
        for fence in found
        if fence.language == "python"
    ]


def command_lines(path) -> list[str]:
    """The command lines of `sh` fences, continued lines joined."""
    texts = [f.text for f in fences(path) if f.language == "sh"]
    lines = "".join(texts).replace("\\\n", " ").splitlines()
    return [line for line in lines if shlex.split(line, comments=True)]


def words_of(line) -> list[str]:
    """The words of the last command of a pipe, redirections left out.

    Of `sbatch` those of what Slurm is to run, which stands in quotes.
    """
    command = re.split(r" [<>] ", line.split("| ")[-1])[0]
    words = shlex.split(command, comments=True)
    return shlex.split(words[-1]) if words[:1] == ["sbatch"] else words


def commands_of(program, path) -> list[list[str]]:
    """The words of each command of a program that a page shows."""
    every = map(words_of, command_lines(path))
    return [words[1:] for words in every if words[:1] == [program]]


def headings(path) -> list[tuple[int, str]]:
    """Level and text of every heading, those inside fences left out."""
    text = path.read_text(encoding="utf-8")
    outside = re.sub(r"^(`{3,}).*?^\1$", "", text, flags=re.M | re.S)
    found = map(_HEADING.fullmatch, outside.splitlines())
    return [(len(match[1]), match[2]) for match in found if match]


def run(path, folder, slow=False, few_steps=False, tolerance=1e-3) -> int:
    """Runs the examples of a page in one namespace, in `folder`.

    Args:
        path: the page.
        folder: the working folder meanwhile.
        slow: whether what stands after `% slow` runs too.
        few_steps: whether models are smaller, and train for two steps. Numbers
            that are printed from there on aren't compared.
        tolerance: by what part fractions may differ from those shown.

    Returns:
        How many examples ran.

    Raises:
        AssertionError: one doesn't print what the page shows.
    """
    namespace, count, untrained = {"__name__": "__main__"}, 0, False
    before = pathlib.Path.cwd()
    os.chdir(folder)
    try:
        for example in examples(path):
            if example.code.slow and not slow:
                break
            if few_steps and _EPOCHS.search(example.code.text):
                untrained = True
            printed = _run_one(path, example, namespace, few_steps)
            shown = example.output and example.output.text
            if shown and not (untrained and _NUMBER.search(shown)):
                where = f"{path}, line {example.output.line}"
                assert_same_output(printed, shown, where, tolerance)
            count += 1
    finally:
        os.chdir(before)
    return count


def _run_one(path, example, namespace, few_steps):
    """Runs an example; what it prints."""
    text = example.code.text
    for pattern, instead in _SMALLER if few_steps else ():
        text = pattern.sub(instead, text)
    # As many empty lines before it as in the page: tracebacks name the line.
    source = "\n" * (example.code.line - 1) + text
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(source, str(path), "exec"), namespace)
    return printed.getvalue()


def assert_same_output(printed, shown, where, tolerance=1e-3):
    """Same lines: same words, same whole numbers, fractions about the same."""
    same = _comparable(printed) == _comparable(shown) and all(
        math.isclose(ours, theirs, rel_tol=tolerance, abs_tol=1e-3)
        for ours, theirs in zip(
            _fractions(printed), _fractions(shown), strict=True
        )
    )
    assert same, f"{where}: the code prints\n{printed}\nthe page shows\n{shown}"


def _comparable(text):
    lines = [line.strip() for line in text.strip("\n").splitlines()]
    return [
        # White space beside a number depends on the signs around it.
        [part.split() for part in _NUMBER.split(line)]
        + [word for word in _NUMBER.findall(line) if not _is_fraction(word)]
        for line in lines
    ]


def _fractions(text):
    return [float(word) for word in _NUMBER.findall(text) if _is_fraction(word)]


def _is_fraction(word):
    return "." in word or "e" in word
