"""A browser for tests of pages."""

import shutil

import pytest

from scripts.tools.page_picture import BROWSERS

# What a busy machine needs; a test that passes doesn't wait for it.
PATIENCE_MS = 30_000


@pytest.fixture(scope="module")
def browser():
    """A Chromium that is installed; it can reach this machine only."""
    reason = "needs the extra [dev]: no playwright"
    api = pytest.importorskip("playwright.sync_api", reason=reason)
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None:
        pytest.skip(
            "needs a browser: no chromium on the PATH (on Debian: apt-get "
            "install chromium)"
        )
    outside = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    # Its event loop would be in the way of other modules' tests, so it ends
    # with the module.
    api.expect.set_options(timeout=PATIENCE_MS)
    with api.sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=path, args=[outside]
        )
        yield launched
        launched.close()


def expect(locator):
    """Playwright's, imported where there is a browser."""
    from playwright.sync_api import expect

    return expect(locator)
