"""The pictures of the lessons are readable in any theme, and inert."""

from __future__ import annotations

import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

FOLDER = Path(__file__).parents[2] / "notebooks" / "images"
PICTURES = runpy.run_path(str(FOLDER / "draw.py"))["PICTURES"]


@pytest.mark.parametrize("name", PICTURES)
def test_a_picture_has_a_title_and_a_background_of_its_own_and_nothing_that_runs_or_loads(name: str) -> None:
    root = ElementTree.fromstring(PICTURES[name])
    tags = [element.tag.rpartition("}")[2] for element in root.iter()]
    background = next(element for element in root if element.tag.endswith("rect"))
    assert len(root[0].text or "") > 20 and tags[1] == "title"
    assert (background.get("width"), background.get("height")) == (root.get("width"), root.get("height"))
    assert {"script", "style", "image", "foreignObject"}.isdisjoint(tags)
