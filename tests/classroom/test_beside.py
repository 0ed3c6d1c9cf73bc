"""Pseudocode beside source, and the boxes in the lessons."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from agentkit.classroom import beside

ROOT = Path(__file__).parents[2]
LESSONS = {
    path: nbformat.read(path, as_version=4)
    for path in sorted((ROOT / "notebooks").glob("*.ipynb"))
    if "beside(box" in path.read_text()
}


def doubled(text: str) -> str:
    """Return <it> twice."""
    return text + text


def test_pseudocode_and_source_are_two_columns_of_text() -> None:
    shown = beside("\n    double(text):\n        return text & text\n", doubled)
    assert repr(shown) == (
        "double(text):\n    return text & text\n\n"
        'def doubled(text: str) -> str:\n    """Return <it> twice."""\n    return text + text'
    )
    html = shown._repr_html_()
    assert html.count("<pre") == 2 and "text &amp; text" in html and "&lt;it&gt;" in html


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_a_lesson_shows_the_pseudocode_of_the_page_about_its_engine(path: Path) -> None:
    code = "\n".join(cell.source for cell in LESSONS[path].cells if cell.cell_type == "code")
    box = re.search(r'box = """\n(.*?)"""', code, re.DOTALL)[1]
    page = ROOT / "docs" / f"{path.stem.split('_', 1)[1]}.md"
    assert f"```text\n{box}```" in page.read_text()
