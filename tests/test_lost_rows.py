"""A run whose last rows are lost opens paused, with the reason, and can go on after a person has seen it."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from agentkit import Agent, Call, Reply, load, tool
from agentkit.errors import JournalDamaged
from agentkit.journal import open_journal
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    return f"rain in {city}"


SCRIPT = [Reply("I look.", (Call("look", {"city": city}, city),)) for city in ("Rome", "Oslo")] + ["rain"]


def agent(path: Path, script: list[Any] = SCRIPT) -> Agent:
    return Agent(Scripted(script, abilities=Abilities(tools=True)), [look], journal=str(path))


def stopped(path: Path) -> str:
    """Run half of the script, close the run, and return its id."""
    run = agent(path).start("rain?", paused=True)
    for _ in range(4):
        run.step()
    run.close()
    return run.id


def lose(path: Path, after: int) -> None:
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("DELETE FROM rows WHERE id & 0xffffffff > ?", (after,))
    db.execute("UPDATE trees SET sealed_row = 0")
    db.close()


def test_it_is_paused_with_the_reason_and_goes_on_when_it_is_driven(tmp_path: Path) -> None:
    id = stopped(tmp_path / "runs.db")
    journal: Any = open_journal(tmp_path / "runs.db")
    journal.close()
    lose(tmp_path / "runs.db", 4)
    run = agent(tmp_path / "runs.db", SCRIPT[1:]).resume(id)
    assert run.status == "paused" and "are missing: it ends with row 4" in run.hold
    assert "are missing: it ends with row 4" in repr(run)
    assert [event.data["text"] for event in run.events() if event.kind == "warning"] == [run.hold]
    run.play().wait(10)
    assert run.answer == "rain" and run.hold == ""
    copy = load(run.to_json(), agent(tmp_path / "other.db"))
    assert [note.data["after"] for note in copy.rows() if note.kind == "lost"] == [4]
    run.close()
    again = agent(tmp_path / "runs.db").resume(id)
    assert again.status == "done" and again.hold == ""


def test_one_without_its_first_entry_cannot_be_opened_and_says_what_is_missing(tmp_path: Path) -> None:
    id = stopped(tmp_path / "runs.db")
    journal: Any = open_journal(tmp_path / "runs.db")
    journal.close()
    lose(tmp_path / "runs.db", 0)
    for _ in range(2):
        with pytest.raises(JournalDamaged, match="cannot be opened without its first entry"):
            agent(tmp_path / "runs.db").resume(id)


def test_an_irreversible_call_is_asked_about_if_the_lost_rows_may_contain_it(tmp_path: Path) -> None:
    paid: list[int] = []

    @tool(effect="irreversible")
    def pay(amount: int) -> str:
        """Pay an amount."""
        paid.append(amount)
        return "paid"

    def paying(*script: Any) -> Agent:
        model = Scripted([*script], abilities=Abilities(tools=True))
        return Agent(model, [pay, look], journal=str(tmp_path / "runs.db"))

    first = Reply("I pay.", (Call("pay", {"amount": 5}, "p"),))
    run = paying(SCRIPT[0], first, "done").start("pay", paused=True)
    run.drive()
    run.close()
    journal: Any = open_journal(tmp_path / "runs.db")
    journal.close()
    lose(tmp_path / "runs.db", 4)
    run = paying(first, "done").resume(run.id)
    run.drive()
    assert paid == [5] and "are missing" in run.waiting[0][1].why and "pay may have been called there" in str(run)
    run.reject("It was paid.")
    assert run.drive().answer == "done" and paid == [5]
