#!/usr/bin/env python3
"""Takes the picture of the server's page for README.

    keras-transformer serve saved_models/en-zh
    .venv/bin/python scripts/tools/page_picture.py http://127.0.0.1:8501/ \\
        --text "I like tea." --out docs/pictures/server-page.png

Needs Playwright, of the extra [dev], and an installed Chromium.
"""

import argparse
import pathlib
import shutil
import sys

# By which an installed Chromium may be called.
BROWSERS = "chromium", "chromium-browser", "google-chrome"
_SIZE = {"width": 900, "height": 680}
_WAIT_MS = 60_000


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("address")
    parser.add_argument("--text", required=True, help="what is translated")
    parser.add_argument("--out", required=True, type=pathlib.Path)
    options = parser.parse_args(arguments)
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        print(f"none of {', '.join(BROWSERS)} is installed", file=sys.stderr)
        return 2
    take(browser, options.address, options.text, options.out)
    return 0


def take(browser: str, address: str, text: str, out: pathlib.Path) -> None:
    """Has the page translate a text and writes what it looks like."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=browser)
        page = launched.new_page(viewport=_SIZE)
        page.set_default_timeout(_WAIT_MS)
        page.goto(address)
        page.locator("#source").fill(text)
        page.locator("#source").press("Control+Enter")
        page.locator("#translation p, #translation li").first.wait_for()
        # The alternatives and the alignment come after the translation.
        page.wait_for_load_state("networkidle")
        out.write_bytes(page.screenshot(animations="disabled"))
        launched.close()


if __name__ == "__main__":
    sys.exit(main())
