"""How Sphinx builds the site: `make docs`.

The sources begin at the root of the repository, so that a link such as `../notebooks/00_quickstart.ipynb` is the same
on the site and on a code host. Neither the build nor the site loads anything from the network.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the reference is that of these sources, also if another copy is installed

project = "agentkit"
author = "The agentkit authors"
project_copyright = author
release = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton", "sphinx_external_toc"]
external_toc_path = "docs/_toc.yml"
include_patterns = ["docs/**", "notebooks/*.ipynb", "CONTRIBUTING.md", "CHANGELOG.md"]
exclude_patterns = ["docs/_build", "**/.*", "**/node_modules", "agentkit", "tests", "widgets"]  # not searched for pages

# Pages and notebooks. A notebook is shown with the outputs that are stored in it: nbval executes it.
nb_execution_mode = "off"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # they would be loaded from a CDN
nb_mime_priority_overrides = [("*", "text/html", 0)]
myst_heading_anchors = 4

# The reference. A name in backticks becomes a link if it is documented.
default_role = "py:obj"
smartquotes = False  # most quotation marks are those of Python
autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True

html_theme = "pydata_sphinx_theme"
html_title = "agentkit"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_favicon = "_static/favicon.svg"
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_theme_options = {
    "logo": {"text": f"agentkit {release}"},
    "header_links_before_dropdown": 5,
    "navbar_persistent": ["search-button"],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", from_markdown)
    app.connect("html-page-context", without_empty_headers)


def from_markdown(_app: Any, what: str, _name: str, _value: Any, _options: Any, lines: list[str]) -> None:
    """Write a docstring as reStructuredText. That of a module is left out: its page says what the module is for."""
    text = "" if what == "module" else "\n".join(lines)
    lines[:] = re.sub(r"(?<!`)`([^`]+)`(?!`)", code, text).splitlines()


def code(found: re.Match[str]) -> str:
    """Write what is in backticks: a name as a link, anything else as it is; letters may follow, as in `Tool`s."""
    ticks = "`" if re.fullmatch(r"[\w.]+(\(\))?", found[1]) else "``"
    return f"{ticks}{found[1]}{ticks}\\ "


def without_empty_headers(_app: Any, _page: str, _template: str, context: dict[str, Any], _tree: Any) -> None:
    """Remove the headers that Markdown demands of each table, where they are empty: they confuse screen readers."""
    body = re.sub(rf"<thead>\s*<tr[^>]*>\s*(?:{EMPTY}\s*)+</tr>\s*</thead>", "", context.get("body", ""))
    context["body"] = re.sub(EMPTY, "<td></td>", body)


EMPTY = r"<th[^>]*><p></p></th>"
