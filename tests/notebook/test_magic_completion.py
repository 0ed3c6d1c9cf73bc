"""What Tab offers after `%agent`, asked of a real kernel as a notebook asks it."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("%agent -m ec", "echo"),
        ("%agent -m mo", "model"),
        ("%agent -e re", "react"),
        ("%agent -t un", "units"),
        ("%agent -t math,pr", "math,price"),
        ("%agent -n 3 --w", "--wait"),
        ("%agent inj", "inject"),
        ("%agent step --ov", "--over"),
        ("%agent edit 2 --rea", "--reason"),
        ("%agent engines mul", "multi_hop"),
        ("%agent help exp", "export"),
        ("%agent step -r agent_", "agent_run"),
        ("%%agent -m off", "offline"),
    ],
)
def test_tab_offers_what_may_stand_there(notebook: Any, typed: str, offered: str) -> None:
    notebook.run("%agent -m model --pause Hello")
    assert any(match.endswith(offered.split(",")[-1]) for match in notebook.completes(typed))


def test_tab_offers_the_ids_of_runs(notebook: Any) -> None:
    notebook.run("%agent -m model --pause Hello")
    name = notebook.value("agent_run.id")
    assert name in notebook.completes(f"%agent resume {name[:4]}")


def test_tab_offers_no_command_within_a_task(notebook: Any) -> None:
    assert "inject" not in notebook.completes("%agent please inj")
