"""The page of an engine shows a picture, its pseudocode, and its complete and current source."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentkit.engines.registry import ENGINES

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", ENGINES)
def test_the_page_of_an_engine_shows_its_source(name: str) -> None:
    page = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    source = (ROOT / "agentkit" / "engines" / f"{name}.py").read_text(encoding="utf-8")
    assert f"```python\n{source}```" in page, f"docs/{name}.md does not show the source as it is"


@pytest.mark.parametrize("name", ENGINES)
def test_the_page_of_an_engine_shows_a_picture_and_its_pseudocode_before_its_source(name: str) -> None:
    before = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8").partition("## Source")[0]
    assert "![" in before and "```text\n" in before
