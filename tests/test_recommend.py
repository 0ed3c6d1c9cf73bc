"""The table that says which engine fits which task."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentkit.engines.recommend import TABLE, recommend
from agentkit.engines.registry import ENGINES
from agentkit.errors import Unknown

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize(
    ("signal", "engine"),
    [
        ("no_tools", "chain_of_thought"),
        ("tools", "react"),
        ("sub_goals", "plan_and_execute"),
        ("correctness", "reflexion"),
        ("multi_hop", "self_ask"),
        ("facts", "critic"),
        ("strategies", "tree_of_thoughts"),
    ],
)
def test_each_signal_has_its_engine(signal: str, engine: str) -> None:
    assert [choice.engine for choice in recommend(signal)] == [engine]


def test_several_signals_give_several_engines_in_order_and_none_gives_react() -> None:
    assert [choice.engine for choice in recommend("facts", "multi_hop", "facts")] == ["critic", "self_ask"]
    assert [choice.engine for choice in recommend()] == ["react"]


def test_an_unknown_signal_suggests_the_nearest() -> None:
    with pytest.raises(Unknown, match="did you mean 'facts'"):
        recommend("fact")


def test_an_engine_is_available_if_the_registry_has_it() -> None:
    assert {choice.engine for choice in TABLE if choice.available} == ENGINES.keys() & {
        choice.engine for choice in TABLE
    }


def test_the_guide_shows_the_same_table() -> None:
    lines = (ROOT / "docs/magics.md").read_text(encoding="utf-8").split("\n")
    rows = [[cell.strip(" `") for cell in line.strip("| ").split("|")] for line in lines if line.startswith("| `")]
    shown = [row for row in rows if row[0] in {choice.signal for choice in TABLE}]
    assert shown == [[choice.signal, choice.task, choice.engine, choice.why] for choice in TABLE]
