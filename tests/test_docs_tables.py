"""The tables of options and events in docs/ are those of the program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentkit.agent.options import descriptions
from agentkit.trace.events import KINDS

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.parametrize(("page", "facts"), [("options.md", descriptions()), ("events.md", KINDS)])
def test_a_table_lists_what_the_program_has(page: str, facts: dict[str, str]) -> None:
    rows = re.findall(r"^\| `(\w+)` \|(.*)\|$", (DOCS / page).read_text(), re.MULTILINE)
    assert {name: text.strip() for name, text in rows} == facts
    assert [name for name, _ in rows] == list(facts)
