"""The page of an engine shows its source, whole and as it is."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ENGINES = [path for path in sorted((ROOT / "agentkit" / "engines").glob("*.py")) if path.stem != "__init__"]


@pytest.mark.parametrize("engine", ENGINES, ids=lambda path: path.stem)
def test_the_page_of_an_engine_holds_its_source(engine: Path) -> None:
    page = (ROOT / "docs" / f"{engine.stem}.md").read_text(encoding="utf-8")
    assert f"```python\n{engine.read_text(encoding='utf-8')}```" in page, f"docs/{engine.stem}.md lags behind {engine.name}"
