"""What the Tab key completes after `%agent`, in a real kernel."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize(
    ("typed", "completion"),
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
def test_tab_completes_options_commands_and_values(notebook: Any, typed: str, completion: str) -> None:
    notebook.run("%agent -m model --pause Hello")
    assert any(match.endswith(completion.split(",")[-1]) for match in notebook.completes(typed))


def test_tab_completes_the_ids_of_runs(notebook: Any) -> None:
    notebook.run("%agent -m model --pause Hello")
    id = notebook.value("agent_run.id")
    assert id in notebook.completes(f"%agent resume {id[:4]}")


def test_tab_completes_no_commands_within_a_task(notebook: Any) -> None:
    assert "inject" not in notebook.completes("%agent please inj")
