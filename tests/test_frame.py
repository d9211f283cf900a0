"""What stands around the code: how to contribute, cite and report."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

import keras_transformer

ROOT = Path(__file__).resolve().parents[1]
TEMPLATES = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_citation_has_what_its_format_wants():
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0"
    assert citation["type"] == "software"
    assert citation["title"] == "keras_transformer"
    assert citation["version"] == keras_transformer.__version__
    assert citation["license"] == "Apache-2.0"
    assert citation["message"]
    assert citation["abstract"]
    for entry in (citation, *citation["references"]):
        for author in entry["authors"]:
            assert set(author) in ({"name"}, {"family-names", "given-names"})
    for reference in citation["references"]:
        assert {"type", "title", "authors"} <= set(reference)


def test_paths_that_contributing_names_exist():
    code = re.findall(r"`([\w./-]+)`", text_of("CONTRIBUTING.md"))
    paths = [word for word in code if "/" in word and "NAME" not in word]
    assert len(paths) > 20
    for path in paths:
        bases = ROOT, ROOT / "keras_transformer", ROOT / "tests"
        assert any((base / path).exists() for base in bases), path


def test_names_that_contributing_gives_exist():
    """Each stands in one of the files that the same step names."""
    steps = re.split(r"\n\d\. |\n## ", text_of("CONTRIBUTING.md"))
    named = 0
    for step in steps:
        files = [
            base / path
            for path in re.findall(r"`([\w./-]+\.py)`", step)
            for base in (ROOT, ROOT / "keras_transformer", ROOT / "tests")
            if (base / path).is_file()
        ]
        text = "".join(path.read_text(encoding="utf-8") for path in files)
        for name in re.findall(r"`([A-Z]{4,}|_[a-z]\w+)`", step):
            if name != "NAME":
                assert name in text, (name, step)
                named += 1
    assert named >= 6


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: path.stem)
def test_issue_template_is_well_formed(path):
    template = yaml.safe_load(path.read_text(encoding="utf-8"))
    if path.stem == "config":
        assert set(template) == {"blank_issues_enabled"}
        return
    assert {"name", "description", "body"} <= set(template)
    identities = [part["id"] for part in template["body"] if "id" in part]
    assert len(identities) == len(set(identities)) > 0
    for part in template["body"]:
        assert part["type"] in ("textarea", "markdown")
        shown = "value" if part["type"] == "markdown" else "label"
        assert part["attributes"][shown]


def test_templates_name_options_and_pages_that_exist():
    text = "".join(path.read_text(encoding="utf-8") for path in TEMPLATES)
    pages = re.findall(r"`(docs/[\w/.-]+)`", text)
    assert pages
    assert all((ROOT / page).is_file() for page in pages)


def test_pre_commit_runs_what_ci_runs():
    settings = yaml.safe_load(text_of(".pre-commit-config.yaml"))
    (repository,) = settings["repos"]
    assert repository["repo"] == "local"
    script = text_of(".ci/run")
    entries = {hook["id"]: hook["entry"] for hook in repository["hooks"]}
    for name in ("ruff-check", "ruff-format", "lint-imports"):
        assert f"\n{entries[name]} || failed=1\n" in script
    tests = re.findall(r"tests/\w+\.py", entries["project"])
    assert tests
    assert all((ROOT / path).is_file() for path in tests)


def test_reference_values_are_small_and_described():
    folder = ROOT / "tests" / "reference"
    described = text_of("tests/reference/README.md")
    files = [path for path in folder.iterdir() if path.name != "README.md"]
    assert len(files) >= 4
    for path in files:
        assert path.stat().st_size < 200_000, path.name
        assert f"`{path.name}`" in described, path.name


def test_coverage_has_a_floor_that_ci_holds():
    tool = tomllib.loads(text_of("pyproject.toml"))["tool"]["coverage"]
    assert tool["report"]["fail_under"] >= 95
    assert all((ROOT / folder).is_dir() for folder in tool["run"]["source"])
    (step,) = re.findall(
        r"^scripts/test\.sh (--cov .+?) \|\| failed=1$",
        text_of(".ci/run"),
        flags=re.MULTILINE | re.DOTALL,
    )
    paths = re.findall(r"tests/[\w/.]+", step)
    assert paths
    assert all((ROOT / path).exists() for path in paths)
    assert "--no-cov" not in step
    assert "fail-under" not in step
