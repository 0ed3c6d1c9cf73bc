"""What is on the disk when: nothing is performed, and no run rests, before everything that was recorded is synced."""

from __future__ import annotations

import pytest

from agentkit import Agent, Call, Reply, tool
from agentkit.errors import JournalError
from agentkit.journal.entries import Note
from agentkit.journal.heads import Heads
from agentkit.journal.sqlite import SqliteJournal
from agentkit.models import Scripted
from agentkit.models.base import Abilities


class Watched(SqliteJournal):
    """A journal that knows which rows were written without being synced, and how often it has synced."""

    def __init__(self, path):
        super().__init__(path)
        self.unsynced: list[str] = []
        self.syncs = 0
        self.fails = False

    def append(self, row, *, sync=True):
        number = super().append(row, sync=sync)
        self.unsynced = [] if sync else [*self.unsynced, row.kind]
        self.syncs += sync
        return number

    def sync(self, run):
        if self.fails:
            raise JournalError("the disk reports an error")
        super().sync(run)
        self.unsynced = []
        self.syncs += 1


@pytest.fixture
def journal(tmp_path):
    journal = Watched(tmp_path / "runs.db")
    yield journal
    journal.close()


def agent(journal, seen, effect=None, engine="react"):
    @tool(effect=effect)
    def pay(amount: int) -> str:
        """Pay."""
        seen.append(list(journal.unsynced))
        return f"paid {amount}"

    class Model(Scripted):
        def __call__(self, request):
            seen.append(list(journal.unsynced))
            return super().__call__(request)

    replies = [Reply(f"I pay {n}.", (Call("pay", {"amount": n}, f"c{n}"),)) for n in (1, 2)]
    return Agent(Model([*replies, "Paid."], abilities=Abilities(tools=True)), [pay], journal=journal, engine=engine)


@pytest.mark.parametrize("effect", [None, "irreversible", "idempotent", "pure"])
def test_whenever_a_model_or_a_tool_is_called_everything_recorded_is_on_the_disk(journal, effect):
    seen = []
    assert agent(journal, seen, effect).run("Pay.").answer == "Paid."
    assert seen == [[]] * 5 and journal.unsynced == []


def test_whenever_a_run_rests_everything_recorded_is_on_the_disk(journal):
    run = agent(journal, []).start("Pay.", paused=True)
    while run.answer is None:
        run.step()
        assert journal.unsynced == []
    run = agent(journal, []).start("Pay.", paused=True)
    run.guard(approve=True)
    run.drive()
    assert run.status == "waiting" and journal.unsynced == []


def test_a_thought_is_synced_together_with_the_call_that_follows_it(journal):
    run = agent(journal, []).start("Pay.", paused=True)
    before = journal.syncs
    run.drive()
    assert (
        journal.syncs - before == 2 * 2 + 2
    )  # for each call its beginning and its result, and the two rows of the end


def test_synced_rows_are_in_the_head(journal):
    run = agent(journal, []).start("Pay.", paused=True)
    run.step()
    assert Heads(journal.path).peek(run.id) == journal.count(run.id) == 2


def test_a_run_whose_thought_cannot_be_synced_is_held_until_it_can(journal):
    run = agent(journal, []).start("Pay.", paused=True)
    journal.fails = True
    run.step()
    assert "not saved yet" in run.hold and journal.unsynced == ["think"]
    journal.fails = False
    assert run.drive().answer == "Paid." and journal.unsynced == []


def test_rows_without_sync_reach_the_head_with_sync(journal):
    run = agent(journal, []).start("Pay.", paused=True)
    journal.append(Note("status", {}, run=run.id), sync=False)
    assert Heads(journal.path).peek(run.id) == 1
    journal.sync(run.id)
    assert Heads(journal.path).peek(run.id) == 2
