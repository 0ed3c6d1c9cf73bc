"""Permissions in a view: how long a decision holds, what a call would do, a bypass, and the audit trail."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from view.conftest import Viewed

from agentkit import Agent, Call, Reply, tool
from agentkit.errors import ToolError
from agentkit.hooks import deny, hook
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.view.cards import card

View = Callable[..., Viewed]


def diff(path: str, text: str) -> str:
    """Return what a call of `write` would do."""
    if path == "missing/notes.md":
        raise ToolError("there is no such folder")
    return f"--- a/{path}\n+++ b/{path}\n-old\n+{text}"


@tool(effect="irreversible", preview=diff)
def write(path: str, text: str) -> str:
    """Write a file."""
    return "written"


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a settings file of this test alone."""
    monkeypatch.setenv("AGENTKIT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def asked(view: View, path: str = "notes.md", **options: Any) -> Viewed:
    """Return a view of a run that has come to a call of `write`."""
    call = Call("write", {"path": path, "text": "new"}, "c")
    model = Scripted([Reply("", (call,)), "done"], abilities=Abilities(tools=True))
    viewed = view(Agent(model, [write], journal="memory", **options).start("Go.", paused=True))
    viewed.settle("play")
    return viewed


def waiting(viewed: Viewed) -> Any:
    viewed.until(lambda: viewed.screen.head["status"] == "waiting")
    (pending,) = viewed.screen.head["pending"]
    return pending


@pytest.mark.parametrize(
    ("remember", "held", "in_file"),
    [(False, {}, False), (True, {"write": True}, False), ("always", {"write": True}, True)],
)
def test_a_decision_holds_once_for_this_run_or_always(
    view: View, own_home: Path, remember: Any, held: Any, in_file: bool
) -> None:
    viewed = asked(view, permissions="ask")
    step = waiting(viewed)
    assert "in mode ask" in step["why"]
    viewed.execute("approve", which=step["which"], remember=remember)
    assert viewed.run.guards.remembered == held
    assert (own_home / "permissions.toml").exists() == in_file


@pytest.mark.parametrize("remember", ["never", "Always", 2])
def test_a_page_cannot_make_a_decision_hold_in_another_way(view: View, own_home: Path, remember: Any) -> None:
    viewed = asked(view, permissions="ask")
    with pytest.raises(LookupError, match="remember"):
        viewed.execute("approve", which=waiting(viewed)["which"], remember=remember)
    assert viewed.run.waiting and not (own_home / "permissions.toml").exists()


def test_what_a_call_would_do_is_shown_while_it_waits(view: View) -> None:
    viewed = asked(view, permissions="ask")
    step = waiting(viewed)
    assert step["has_preview"] is True
    assert viewed.execute("preview", which=step["which"])["text"].splitlines()[2:] == ["-old", "+new"]
    with pytest.raises(LookupError, match="no longer waiting"):
        viewed.execute("preview", which="another")


def test_a_preview_that_fails_says_why_and_the_call_still_waits(view: View) -> None:
    viewed = asked(view, "missing/notes.md", permissions="ask")
    with pytest.raises(LookupError, match="no such folder"):
        viewed.execute("preview", which=waiting(viewed)["which"])
    assert viewed.run.waiting


def test_a_bypass_is_said_at_once_and_until_it_ends(view: View) -> None:
    viewed = asked(view, permissions="ask")
    assert viewed.screen.head["bypassed"] is False
    viewed.run.guard(permissions="bypass-all-permissions")
    viewed.until(lambda: viewed.screen.head["bypassed"])
    viewed.run.guard(permissions="ask")
    viewed.until(lambda: not viewed.screen.head["bypassed"])


def test_the_audit_trail_of_the_run_is_shown_with_what_is_wrong_with_it(view: View, tmp_path: Path) -> None:
    log = tmp_path / "audit.jsonl"
    viewed = asked(view, permissions="ask", audit=log)
    assert viewed.screen.head["audit"] == str(log)
    trail = viewed.execute("audit")
    assert [line["kind"] for line in trail["lines"]] == ["started", "asked"]
    assert (
        trail["lines"][1]["text"] == "write(path='notes.md', text='new')" and "in mode ask" in trail["lines"][1]["why"]
    )
    assert (trail["total"], trail["problems"]) == (2, [])
    log.write_bytes(log.read_bytes().replace(b"notes.md", b"other.md"))
    assert viewed.execute("audit")["problems"] == ["line 2 was changed"]


def test_a_run_without_an_audit_log_says_so(view: View) -> None:
    viewed = asked(view, permissions="ask")
    assert viewed.screen.head["audit"] == ""
    with pytest.raises(LookupError, match="no audit log"):
        viewed.execute("audit")


@pytest.mark.parametrize("refused", ["permissions", "hook"])
def test_why_a_call_was_not_run_is_said_once(view: View, refused: str) -> None:
    @hook("before", tool="write")
    def careful(call: Call) -> Any:
        return deny("nothing is written")

    rules = {"deny": ["write"]} if refused == "permissions" else "deny"
    viewed = asked(view, permissions=rules, hooks=[careful] if refused == "hook" else [])
    viewed.until(lambda: viewed.run.result is not None)
    why = "rule 1 of the agent: deny write" if refused == "permissions" else "hook 'careful': nothing is written"
    entry = viewed.run.entries[2]
    assert why in entry.reason and why in entry.result.text
    assert str(viewed.run[2]).count(why) == 1
    assert card(entry, 2)["reason"] == ""
