"""What tests of the pages share: the parts of the site, and a browser."""

import importlib

import pytest

from tests import chromium
from tests.docs.pages import DOCS, ROOT

browser = chromium.browser


@pytest.fixture
def part(monkeypatch):
    """Imports a module of `docs/_ext` or `scripts/tools`, given Sphinx."""
    pytest.importorskip("sphinx", reason="needs the extra [docs]")
    for folder in (DOCS / "_ext", ROOT / "scripts/tools"):
        monkeypatch.syspath_prepend(folder)
    return importlib.import_module
