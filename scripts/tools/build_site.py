"""Builds the site of both languages; `build_site.sh` sets up what it needs.

python scripts/tools/build_site.py FOLDER
"""

import pathlib
import shutil
import subprocess
import sys

import site_links

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
# Sphinx' names of the languages, by folder.
LANGUAGES = {"en": "en", "zh": "zh_CN"}


def main(out: pathlib.Path) -> int:
    """Builds into `out` and returns the exit status."""
    for left in (DOCS / "_build" / "pictures", DOCS / "_build" / "small", out):
        shutil.rmtree(left, ignore_errors=True)
    for folder, language in LANGUAGES.items():
        status = subprocess.run(
            [sys.executable, "-m", "sphinx", "-b", "html", "-q"]
            + ["-W", "--keep-going", "-E", "-c", str(DOCS)]
            + ["-d", str(DOCS / "_build" / "doctrees" / folder)]
            + ["-D", f"language={language}"]
            + [str(DOCS / folder), str(out / folder)]
        ).returncode
        if status:
            return status
    shutil.copy(DOCS / "_templates" / "languages.html", out / "index.html")
    problems = site_links.problems(out)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(out / "index.html")
    return 2 if problems else 0


if __name__ == "__main__":
    sys.exit(main(pathlib.Path(sys.argv[1])))
