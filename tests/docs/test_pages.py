"""Every page runs and prints what it shows; its translation agrees."""

import re
import shlex
import subprocess
import sys

import pytest

from keras_transformer.cli.main import build_parser
from tests.docs.pages import (
    DOCS,
    ROOT,
    command_lines,
    examples,
    fences,
    headings,
    markdown_files,
    run,
    words_of,
)
from tests.processes import run_python

PAGES = [
    *(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")),
    *markdown_files(),
]
# Chinese pages have the same code and outputs, which a test below holds them
# to: it runs once.
# That of the guide to serving needs a server: tests/cli/test_serving_guide.py;
# that of the guide to other programs a run: test_other_programs_guide.py there;
# that of the guide to tags and terms one, too: test_guides.py there.
NEEDING = (
    DOCS / "serving.md",
    DOCS / "en" / "guides" / "other-programs.md",
    DOCS / "en" / "guides" / "tags-and-terms.md",
)
WITH_CODE = [
    page
    for page in PAGES
    if examples(page)
    and DOCS / "zh" not in page.parents
    and page not in NEEDING
    # Those are run by test_examples.py, with few steps of training.
    and page.parent.name != "examples"
]
TUTORIAL = sorted((DOCS / "en" / "tutorial").glob("*.md"))


def name(page):
    return str(page.relative_to(ROOT))


@pytest.mark.medium
@pytest.mark.parametrize("page", WITH_CODE, ids=name)
def test_code_prints_what_the_page_shows(page, tmp_path):
    fast = [one for one in examples(page) if not one.code.slow]
    assert run(page, tmp_path) == len(fast)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page for page in WITH_CODE if any(e.code.slow for e in examples(page))],
    ids=name,
)
def test_code_that_trains_prints_what_the_page_shows(page, tmp_path):
    assert run(page, tmp_path, slow=True) == len(examples(page))


# Commands.


SHOWN = [
    (page, line)
    for page in PAGES
    for line in command_lines(page)
    if words_of(line)[:1] == ["keras-transformer"]
]


@pytest.mark.parametrize(
    ("page", "line"), SHOWN, ids=[f"{name(p)}: {c}" for p, c in SHOWN]
)
def test_commands_have_the_options_that_are_shown(page, line):
    words = words_of(line)[1:]
    assert build_parser().parse_args(words).command == words[0]


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """A folder in which the demo was made, smaller than the real one."""
    folder = tmp_path_factory.mktemp("demo")
    small = ["demo", "--sentences", "2000", "--epochs", "1"]
    run_python("-m", "keras_transformer", *small, folder=folder)
    return folder


def is_run(line):
    # What serves doesn't end, and the demo was made already.
    words = words_of(line)
    return words[:1] == ["keras-transformer"] and words[1:2] not in (
        ["demo"],
        ["serve"],
    )


# Chinese pages have the same commands, and a run can't be made twice.
@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [page for page in TUTORIAL if any(map(is_run, command_lines(page)))],
    ids=name,
)
def test_commands_of_the_tutorial_run_beside_the_demo(page, demo):
    program = f"{shlex.quote(sys.executable)} -m keras_transformer "
    for line in filter(is_run, command_lines(page)):
        line = line.replace("keras-transformer ", program)
        result = subprocess.run(
            ["bash", "-c", line], cwd=demo, capture_output=True, text=True
        )
        assert result.returncode == 0, f"{line}\n{result.stderr}"


# Languages.


# Not every page is translated; what is has an English page.
@pytest.mark.parametrize(
    "chinese", markdown_files(DOCS / "zh"), ids=lambda page: page.stem
)
def test_languages_have_the_same_headings_and_code(chinese):
    english = DOCS / "en" / chinese.relative_to(DOCS / "zh")
    levels = [[level for level, _ in headings(p)] for p in (english, chinese)]
    assert levels[0] == levels[1]
    assert runnable(english) == runnable(chinese)


def runnable(page):
    blocks = [
        (e.code.text, e.code.slow, e.output and e.output.text)
        for e in examples(page)
    ]
    return blocks, [f.text for f in fences(page) if f.language == "sh"]


# Form.


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_to_files_resolve(page):
    text = re.sub(
        r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S
    )
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    for target in targets:
        if not re.match(r"\w+:", target) and not target.startswith("#"):
            assert (page.parent / target.split("#")[0]).exists(), target
