"""Settings of Sphinx for the site of these pages, which `make docs` builds.

A reader's browser fetches nothing from other places.
"""
# ruff: noqa: INP001 - a script, not a package

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

from pygments.lexers.shell import BashLexer  # noqa: E402
from sphinx.highlighting import lexers  # noqa: E402

import nbtext  # noqa: E402 - found by the line before

project = "nbtext"
release = nbtext.__version__
copyright = "the authors of nbtext, MIT licence"  # noqa: A001 - Sphinx's name
language = "en"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "formulas",
    "reference",
    "rooms",
]
nitpicky = True
suppress_warnings = ["ref.python"]  # two rooms may each have a class of one short name
nitpick_ignore_regex = [("py:.*", ".*")]
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_inline", "deflist"]  # for the page of reference.py

html_theme = "furo"
html_static_path = ["style"]
html_css_files = ["site.css"]
html_js_files = ["copy.js"]
html_title = f"nbtext {release}"
html_copy_source = False
html_use_index = html_domain_indices = False  # of four thousand functions
html_show_sphinx = False
pygments_style = "friendly"
pygments_dark_style = "monokai"

default_role = "literal"
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
# Otherwise the source of a module links to the names that other modules import from it.
viewcode_follow_imported_members = False
toc_object_entries = (
    False  # the entries of four thousand functions make each page slow to build and to read
)

lexers["crontab"] = BashLexer()
