"""How Sphinx builds the site: `make docs`.

The sources begin at the root of the repository, so that a link such as `../notebooks/00_quickstart.ipynb` is the same on
the site and on a code host. Neither the build nor the site loads anything from the network.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the reference is that of these sources, also if another copy is installed

project = "agentkit"
author = "The agentkit authors"
project_copyright = author

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton", "sphinx_external_toc"]
external_toc_path = "docs/_toc.yml"
include_patterns = ["docs/**", "notebooks/*.ipynb", "CONTRIBUTING.md", "CHANGELOG.md"]
exclude_patterns = ["docs/_build", "**/.*", "**/node_modules", "agentkit", "tests", "widgets"]  # not searched for pages

# Pages and notebooks. A notebook is shown with the outputs that are stored in it: nbval executes it.
nb_execution_mode = "off"
nb_ipywidgets_js: dict[str, dict[str, str]] = {}  # they would be loaded from a CDN
nb_mime_priority_overrides = [("*", "text/html", 0)]
myst_heading_anchors = 4

# The reference. What a docstring puts in backticks becomes a link if it is the name of something documented.
default_role = "py:obj"
autodoc_default_options = {"members": True, "show-inheritance": True}
autodoc_member_order = "bysource"
python_use_unqualified_type_names = True
maximum_signature_line_length = 80

html_theme = "pydata_sphinx_theme"
html_title = "agentkit"
html_copy_source = False
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_theme_options = {
    "logo": {"text": "agentkit"},
    "header_links_before_dropdown": 5,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def setup(app: Any) -> None:
    """Leave out the docstrings of modules: the page that shows a module says what it is for."""
    app.connect("autodoc-process-docstring", lambda _app, what, _name, _object, _options, lines: what == "module" and lines.clear())
