"""Sphinx settings of both languages; `scripts/build_site.sh` builds them.

One language is one build, so that each has its own search index, its own
words around the pages, and a `lang` attribute that readers' programs heed.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# What `--help` prints is as wide on every terminal.
os.environ["COLUMNS"] = "80"
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

import keras_transformer  # noqa: E402

project = "keras_transformer"
version = release = keras_transformer.__version__
author = "the keras_transformer authors"
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "chinese_search",
    "dark_pictures",
    "english_pages",
    "folded",
    "mathml",
    "notebooks",
    "options",
    "pictures",
    "public_names",
    "search_texts",
]

myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3

# Docstrings are written with single backticks around code.
default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_use_ivar = True
napoleon_custom_sections = [("Call arguments", "params_style")]

html_math_renderer = "mathml"
html_title = project
html_theme = "furo"
html_static_path = [str(HERE / "_static")]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
# Ours are in search_texts: a page that is a file can't fetch others.
html_show_search_summary = False
locale_dirs = [str(HERE / "_locale")]
templates_path = [str(HERE / "_templates")]
html_show_sourcelink = False
html_copy_source = False
html_context = {
    "other_language": {"en": ("zh", "中文"), "zh": ("en", "English")},
    # The Chinese pages: each is a translation of an English one.
    "translated": {
        path.relative_to(HERE / "zh").with_suffix("").as_posix()
        for path in (HERE / "zh").rglob("*.md")
    },
}
