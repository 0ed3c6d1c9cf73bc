"""Permissions: which calls are made, asked about or never made, why, and where that is said."""

from __future__ import annotations

import enum
import json
import os
from pathlib import Path
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from agentkit import Act, Agent, Answer, Call, Reply, Run, load, tool
from agentkit.errors import Unknown, UsageError
from agentkit.gates import permission_file
from agentkit.gates.permissions import BYPASS, Permissions, Rule
from agentkit.journal.memory import MemoryJournal
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.run import permits
from agentkit.tools.toolset import ToolSet

made: list[str] = []


@tool(effect="pure")
def read(path: str = "notes.md", lines: int = 1) -> str:
    """Read a file."""
    made.append("read")
    return f"the text of {path}"


@tool(effect="idempotent")
def save(path: str, text: str = "") -> str:
    """Save a file."""
    made.append("save")
    return "saved"


@tool(effect="irreversible")
def pay(amount: int, to: str = "Ada") -> str:
    """Pay an amount."""
    made.append("pay")
    return "paid"


@tool
def shell(command: str) -> str:
    """Run a command."""
    made.append("shell")
    return "done"


TOOLS = [read, save, pay, shell]
ARGUMENTS: dict[str, dict[str, Any]] = {
    "read": {},
    "save": {"path": "a.txt"},
    "pay": {"amount": 5},
    "shell": {"command": "ls"},
}


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Use a settings file of this test alone."""
    made.clear()
    monkeypatch.setenv("AGENTKIT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def agent(permissions: Any, *calls: Call, journal: Any = None, **options: Any) -> Agent:
    replies = [Reply("", (call,)) for call in calls]
    model = Scripted([*replies, "done"], abilities=Abilities(tools=True))
    return Agent(model, TOOLS, permissions=permissions, journal=journal, **options)


def call(name: str, arguments: dict[str, Any] | None = None) -> Call:
    return Call(name, ARGUMENTS[name] if arguments is None else arguments, "c1")


def played(permissions: Any, *calls: Call, **options: Any) -> Run:
    """Return a run that has made its calls as far as nobody has to be asked."""
    run = agent(permissions, *calls, **options).start("Go.", paused=True)
    run.drive(30)
    return run


def outcome(run: Run) -> str:
    """Return what happened to the first call of a run."""
    if run.waiting:
        return "ask"
    return "allow" if run[2].author == "tool" else "deny"


# -- modes -------------------------------------------------------------------------------------------------------------

MODES = {
    "ask": {"read": "allow", "save": "ask", "pay": "ask", "shell": "ask"},
    "allow": {"read": "deny", "save": "deny", "pay": "deny", "shell": "deny"},
    "deny": {"read": "allow", "save": "allow", "pay": "ask", "shell": "allow"},
    "plan": {"read": "allow", "save": "deny", "pay": "deny", "shell": "deny"},
    BYPASS: {"read": "allow", "save": "allow", "pay": "allow", "shell": "allow"},
}


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.parametrize("mode", MODES)
def test_each_mode_decides_about_each_effect_and_says_why(mode: str, name: str) -> None:
    run = played(mode, call(name))
    assert outcome(run) == MODES[mode][name]
    assert made == ([name] if outcome(run) == "allow" else [])
    if run.waiting:
        assert f"in mode {mode}" in run.waiting[0][1].why
        run.reject("no")
        assert f"in mode {mode}" in run[2].reason
    elif outcome(run) == "deny":
        assert f"in mode {mode}" in run[2].reason and f"in mode {mode}" in run[2].result.text
    else:
        assert f"mode {mode}" in run[2].reason


@pytest.mark.parametrize("name", ARGUMENTS)
def test_without_permissions_nothing_is_asked_and_no_gate_is_armed(name: str) -> None:
    run = played(None, call(name))
    assert (outcome(run), made, run[2].reason) == ("allow", [name], "")
    assert run.guards.permissions.tables == () and "permissions" not in run.guards.to_json()
    assert {gate.__name__ for gate in run.state.gates["act"]}.isdisjoint({"approval", "rejection"})


@pytest.mark.parametrize("word", ["bypass", "BYPASS", "bypass-all", "bypass_all_permissions", "Bypass-All-Permissions"])
def test_bypass_must_be_said_in_full(word: str) -> None:
    with pytest.raises(UsageError, match='write the mode in full: "bypass-all-permissions"'):
        agent(word)


@pytest.mark.parametrize(
    ("bad", "text"),
    [
        ("aks", "did you mean 'ask'"),
        (7, "permissions must be a str"),
        ({"mode": 7}, "unknown mode"),
        ({"mood": "ask"}, "did you mean 'mode'"),
        ({"alow": ["read"]}, "did you mean 'allow'"),
        ({"rules": [{"alow": "read"}]}, "rule 1: unknown key 'alow' of a rule; did you mean 'allow'"),
        ({"rules": [{"allow": "read"}, {"why": "because"}]}, "rule 2: a rule needs exactly one of"),
        ({"rules": [{"allow": "read", "deny": "pay"}]}, "not allow and deny"),
        ({"rules": [{"allow": ""}]}, "must be a text"),
        ({"rules": [{"allow": "pay", "arguments": {"amount": 5}}]}, "a table of patterns"),
        ({"rules": [{"allow": "pay", "arguments": "5"}]}, "a table of patterns"),
        ({"rules": "allow"}, "must be a list of tables"),
        ({"rules": ["allow"]}, "rule 1: a rule must be a table"),
        ({"deny": "pay"}, "must be a list of the names"),
        ({"deny": ["pya"]}, "unknown tool in the permissions 'pya'; did you mean 'pay'"),
        ({"rules": [{"deny": "pay", "arguments": {"amuont": "5"}}]}, "'amuont' of pay; did you mean 'amount'"),
    ],
)
def test_a_mistake_in_a_rule_is_named(bad: Any, text: str) -> None:
    with pytest.raises(UsageError, match=text):
        agent(bad)


# -- rules -------------------------------------------------------------------------------------------------------------

Rules = list[dict[str, Any]]


@pytest.mark.parametrize(
    ("rules", "name", "arguments", "expected"),
    [
        ([{"allow": "pay"}], "pay", {"amount": 1}, "allow"),
        ([{"allow": "p*"}], "pay", {"amount": 1}, "allow"),
        ([{"allow": "P*"}], "pay", {"amount": 1}, "ask"),
        ([{"allow": "pay"}, {"deny": "pay"}], "pay", {"amount": 1}, "deny"),
        ([{"allow": "pay"}, {"ask": "pay"}], "pay", {"amount": 1}, "allow"),
        ([{"ask": "read"}, {"allow": "*"}], "read", {}, "ask"),
        ([{"allow": "pay", "arguments": {"amount": "5"}}], "pay", {"amount": 5}, "allow"),
        ([{"allow": "pay", "arguments": {"amount": "5"}}], "pay", {"amount": "5"}, "allow"),
        ([{"allow": "pay", "arguments": {"amount": "5"}}], "pay", {"amount": 50}, "ask"),
        ([{"allow": "pay", "arguments": {"amount": "?"}}], "pay", {"amount": 5}, "allow"),
        ([{"allow": "pay", "arguments": {"amount": "5", "to": "Bob"}}], "pay", {"amount": 5}, "ask"),
        ([{"allow": "pay", "arguments": {"amount": "5", "to": "Ada"}}], "pay", {"amount": 5}, "allow"),
        ([{"deny": "pay", "arguments": {"to": "Ada"}}], "pay", {"amount": 5}, "deny"),
        ([{"deny": "shell", "arguments": {"command": "*rm *"}}], "shell", {"command": "ls\nrm -r x"}, "deny"),
        ([{"allow": "shell", "arguments": {"command": "git *"}}], "shell", {"command": "git log"}, "allow"),
        ([{"allow": "shell", "arguments": {"command": "git *"}}], "shell", {"command": "GIT log"}, "ask"),
    ],
)
def test_the_first_rule_that_fits_decides_but_one_that_denies_comes_first(
    rules: Rules, name: str, arguments: dict[str, Any], expected: str
) -> None:
    run = played({"rules": rules}, call(name, arguments))
    assert outcome(run) == expected
    assert made == ([name] if expected == "allow" else [])


def test_rules_see_the_arguments_with_which_the_tool_would_run() -> None:
    rules = {"rules": [{"deny": "read", "arguments": {"lines": "7"}}]}
    corrected = played(rules, call("read", {"lines": "7"}))  # a text that is read as a number
    assert (outcome(corrected), made) == ("deny", [])


def test_a_rule_knows_a_tool_by_its_own_name_however_a_step_spells_it() -> None:
    permissions = Permissions.of({"deny": ["pay"]})
    run = played("ask", call("read"))
    for spelled in ("pay", "Pay", "functions.pay", "**pay**"):
        found = run.performer.tools.find(spelled)
        assert permissions.judge(Call(spelled, {"amount": 1}), found).outcome == "deny"


class Colour(enum.Enum):
    """A colour."""

    RED = "red"


class Target(BaseModel):
    """What a tool is about, whose field the model knows by another name."""

    place: str = Field(alias="where")


@tool(effect="irreversible")
def paint(colour: Colour, colours: list[Colour], data: bytes, target: Target) -> str:
    """Paint something."""
    return "painted"


@tool(effect="irreversible")
def reach(target: Target) -> str:
    """Reach something."""
    return "reached"


@tool(effect="irreversible")
def send(text: Annotated[str, Field(alias="body")]) -> str:
    """Send a text."""
    return "sent"


PAINTED = {"colour": "red", "colours": ["red"], "data": "abc", "target": {"where": "secret"}}


@pytest.mark.parametrize(
    ("of", "arguments", "name", "pattern"),
    [
        (paint, PAINTED, "colour", "red"),
        (paint, PAINTED, "colours", "red"),
        (paint, PAINTED, "data", "abc"),
        (paint, PAINTED, "target", '{"where": "secret"}'),
        (reach, {"where": "secret"}, "where", "secret"),
        (reach, {"target": {"where": "secret"}}, "where", "secret"),
        (send, {"body": "secret"}, "body", "secret"),
    ],
)
def test_a_rule_sees_an_argument_as_the_model_writes_it(of: Any, arguments: Any, name: str, pattern: str) -> None:
    rules = Permissions.of({"mode": BYPASS, "rules": [{"deny": of.name, "arguments": {name: pattern}}]})
    rules.check(ToolSet([of]))
    assert rules.judge(Call(of.name, arguments), of).outcome == "deny"
    assert rules.judge(Call(of.name, json.loads(json.dumps(arguments).replace("secret", "x"))), of).outcome == (
        "allow" if pattern.count("secret") else "deny"
    )


@pytest.mark.parametrize("name", ["pay", "PAY", "functions.pay"])
def test_what_a_person_has_to_approve_or_has_rejected_is_the_tool_however_a_step_spells_it(name: str) -> None:
    def twice(chat: Any, tools: Any) -> Any:
        yield Act(Call(name, {"amount": 1}, "1"))
        yield Act(Call("pay", {"amount": 2}, "2"))
        return Answer("done", chat)

    def started(**options: Any) -> Run:
        run = Agent(Scripted([]), TOOLS, engine=twice, journal=None, **options).start("Go.", paused=True)
        run.drive(30)
        return run

    run = started(approve=["pay"])
    assert run.waiting and not made
    run.reject("no", remember=True)
    run.drive(30)
    assert run.guards.remembered == {"pay": False} and run.status == "done" and not made
    run = started(permissions="ask")
    run.approve(remember=True).drive(30)
    assert run.status == "done" and made == ["pay", "pay"]


def test_a_call_that_cannot_be_made_is_not_asked_about() -> None:
    run = played("ask", call("pay", {"amout": 5}))
    assert not run.waiting and "was not run" in run[2].result.text and not made


def test_the_lists_of_names_come_after_the_rules() -> None:
    given = {"mode": "allow", "rules": [{"ask": "read", "arguments": {"path": "*.key"}}], "allow": ["read"]}
    assert outcome(played(given, call("read", {"path": "a.md"}))) == "allow"
    assert outcome(played(given, call("read", {"path": "a.key"}))) == "ask"
    assert outcome(played(given, call("pay"))) == "deny"


# -- paths -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with a link that leads out of it, and work in it."""
    work = tmp_path / "work"
    (work / "in").mkdir(parents=True)
    (work / "in" / "a.txt").write_text("a")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret").write_text("s")
    (work / "in" / "link").symlink_to(tmp_path / "out")
    (work / "alias").symlink_to(work / "in")
    monkeypatch.chdir(work)
    monkeypatch.setenv("HOME", str(tmp_path))
    return work


INSIDE = ["in", "in/a.txt", "./in/a.txt", "in/../in/a.txt", "alias/a.txt", "in/new/file", "in//a.txt"]
OUTSIDE = [
    *("/etc/passwd", "in/../../out/secret", "in/link/secret", "in/link", "alias/link/secret", "..", "."),
    *("inside/a.txt", "in/../alias/../../out/secret", "/proc/self/cwd/../out/secret", "~/out/secret", "in.txt", ""),
]


@pytest.mark.parametrize("path", [*INSIDE, "/proc/self/cwd/in/a.txt"])
def test_a_path_is_resolved_before_it_is_compared_with_a_folder(folder: Path, path: str) -> None:
    allowed = {"mode": "allow", "rules": [{"allow": "save", "paths": {"path": "in"}}]}
    assert outcome(played(allowed, call("save", {"path": path}))) == "allow"
    denied = {"mode": "deny", "rules": [{"deny": "save", "paths": {"path": str(folder / "in")}}]}
    assert outcome(played(denied, call("save", {"path": path}))) == "deny"


@pytest.mark.parametrize("path", OUTSIDE)
def test_no_spelling_of_a_path_leads_out_of_an_allowed_folder(folder: Path, path: str) -> None:
    allowed = {"mode": "allow", "rules": [{"allow": "save", "paths": {"path": "in"}}]}
    assert outcome(played(allowed, call("save", {"path": path}))) == "deny"
    assert not made


def test_a_tilde_counts_as_both_things_that_a_tool_may_make_of_it(folder: Path) -> None:
    (folder / "~").mkdir()
    at_home = {"mode": "allow", "rules": [{"allow": "save", "paths": {"path": "~/out"}}]}
    assert outcome(played(at_home, call("save", {"path": "~/out/x"}))) == "deny"  # a tool may mean a folder named ~
    for denied in ("~/out", "./~"):
        rules = {"mode": "deny", "rules": [{"deny": "save", "paths": {"path": str(Path(denied).absolute())}}]}
        if denied == "~/out":
            rules["rules"][0]["paths"] = {"path": denied}  # type: ignore[index]
        assert outcome(played(rules, call("save", {"path": "~/out/x"}))) == "deny"


def test_a_path_may_have_wildcards_and_begin_in_another_folder(folder: Path) -> None:
    rule = {"allow": "save", "paths": {"path": "*.txt"}, "relative_to": str(folder / "in")}
    assert outcome(played({"mode": "allow", "rules": [rule]}, call("save", {"path": "b.txt"}))) == "allow"
    assert outcome(played({"mode": "allow", "rules": [rule]}, call("save", {"path": "../b.txt"}))) == "deny"
    assert outcome(played({"mode": "allow", "rules": [rule]}, call("save", {"path": "b.md"}))) == "deny"


def test_a_value_that_is_no_path_is_asked_about_in_every_mode(folder: Path) -> None:
    rules = {"mode": "deny", "rules": [{"deny": "save", "paths": {"path": "in"}}]}
    run = played(rules, call("save", {"path": "in\0"}))
    assert run.waiting and "is not a path" in run.waiting[0][1].why and not made


@pytest.mark.parametrize("path", ["in\0", "in\ud800"])
def test_a_value_that_is_no_path_does_not_hide_a_call_from_a_rule_that_denies(folder: Path, path: str) -> None:
    rules = [{"allow": "save", "paths": {"path": "in"}}, {"deny": "save"}]
    run = played({"rules": rules}, call("save", {"path": path}))
    assert outcome(run) == "deny" and "rule 2 of the agent" in run[2].reason and not made


def test_a_link_that_changes_while_a_person_thinks_is_judged_again(folder: Path) -> None:
    rules = [{"deny": "save", "paths": {"path": "../out"}}, {"ask": "save"}]
    run = played({"rules": rules}, call("save", {"path": "alias/new"}))
    assert run.waiting
    (folder / "alias").unlink()
    (folder / "alias").symlink_to(folder.parent / "out")
    run.approve().drive(30)
    assert run[2].author == "gate" and "deny save" in run[2].reason and not made


@tool(effect="irreversible")
def remove(paths: list[str]) -> str:
    """Remove files."""
    made.append("remove")
    return "removed"


@pytest.mark.parametrize(
    ("paths", "allowed", "denied"),
    [
        (["in/a.txt"], "allow", "deny"),
        (["in/a.txt", "/etc/passwd"], "deny", "deny"),
        (["/etc/passwd"], "deny", "ask"),
        ([], "deny", "ask"),
    ],
)
def test_a_list_is_allowed_only_if_all_of_it_is_and_denied_if_a_part_is(
    folder: Path, paths: list[str], allowed: str, denied: str
) -> None:
    one = Permissions.of({"mode": "allow", "rules": [{"allow": "remove", "paths": {"paths": "in"}}]})
    other = Permissions.of({"mode": "deny", "rules": [{"deny": "remove", "paths": {"paths": "in"}}]})
    asked = Call("remove", {"paths": paths})
    assert (one.judge(asked, remove).outcome, other.judge(asked, remove).outcome) == (allowed, denied)


# -- once, for this run, always ----------------------------------------------------------------------------------------


def test_an_approval_holds_once_for_this_run_or_always(own_home: Path) -> None:
    calls = [call("pay"), Call("pay", {"amount": 6}, "c2"), Call("pay", {"amount": 7}, "c3")]
    run = played("ask", *calls)
    run.approve().drive(30)
    assert (made, run.status) == (["pay"], "waiting")
    run.approve(remember=True).drive(30)
    assert (made, run.status) == (["pay"] * 3, "done")
    assert "approved by a person (in mode ask" in run[2].reason and "always allowed in this run" in run[6].reason
    assert outcome(played("ask", call("pay"))) == "ask"  # another run
    assert not (own_home / "permissions.toml").exists()
    played("ask", call("pay")).approve(remember="always").drive(30)
    assert 'allow = "pay"' in (own_home / "permissions.toml").read_text()
    later = played("ask", call("pay"))
    assert outcome(later) == "allow" and later[2].reason == "allowed: rule 1 of the person: allow pay"


def test_a_rejection_that_holds_always_is_a_rule_that_denies(own_home: Path) -> None:
    played("ask", call("pay")).reject("too much", remember="always")
    run = played(BYPASS, call("pay"))
    assert outcome(run) == "deny" and "rule 1 of the person: deny pay" in run[2].result.text and not made


def test_always_holds_for_what_the_agent_asks_to_approve(own_home: Path) -> None:
    played(None, call("pay"), approve=["pay"]).approve(remember="always").drive(30)
    assert outcome(played(None, call("pay"), approve=["pay"])) == "allow"
    assert outcome(played(None, call("save"), approve=["save"])) == "ask"


def test_always_comes_before_the_other_rules_of_the_person(own_home: Path) -> None:
    own_home.mkdir()
    (own_home / "permissions.toml").write_text('mode = "ask"\n\n# careful\n[[rules]]\nask = "*"\n')
    run = played(None, call("read"))
    run.approve(remember="always").drive(30)
    text = (own_home / "permissions.toml").read_text()
    assert text == 'mode = "ask"\n\n[[rules]]\nallow = "read"\n\n# careful\n[[rules]]\nask = "*"\n'
    assert outcome(played(None, call("read"))) == "allow"


@pytest.mark.parametrize("word", ["Always", "run", 1.5, None, "yes"])
def test_how_long_a_decision_holds_is_one_of_three_things(word: Any) -> None:
    run = played("ask", call("pay"))
    with pytest.raises(UsageError, match="remember must be"):
        run.approve(remember=word)
    assert run.waiting and not made


def test_nobody_there_is_told_to_the_model_with_the_reason(caplog: pytest.LogCaptureFixture) -> None:
    result = agent("ask", call("pay")).run("Go.")
    assert result.denied and "(in mode ask, a tool that is irreversible" in result.run[2].result.text and not made


# -- permissions are part of the run -----------------------------------------------------------------------------------


def test_a_denial_is_not_overruled_by_an_approval() -> None:
    run = played({"rules": [{"deny": "pay", "arguments": {"to": "Bob"}}]}, call("pay"))
    run.approve(arguments={"amount": 5, "to": "Bob"}).drive(30)
    assert run[2].author == "gate" and "deny pay if to is like 'Bob'" in run[2].reason and not made


def test_bypass_bypasses_neither_an_approval_of_the_agent_nor_the_ledger() -> None:
    assert outcome(played(BYPASS, call("pay"), approve=["pay"])) == "ask"
    made.clear()
    run = played(BYPASS, call("pay"), journal=MemoryJournal())
    assert made == ["pay"]
    run.rewind(1)
    run.drive(30)
    assert run.status == "waiting" and "was performed at" in run.waiting[0][1].why and made == ["pay"]
    fork = run.fork(1)
    fork.drive(30)
    assert fork.status == "waiting" and made == ["pay"]


def test_a_denied_call_is_not_asked_about_although_it_would_repeat_one() -> None:
    run = played(BYPASS, call("pay"), journal=MemoryJournal())
    run.rewind(1)
    run.guard(permissions={"deny": ["pay"]})
    run.drive(30)
    assert run[2].author == "gate" and made == ["pay"]


def test_permissions_hold_where_the_run_is_opened_again(tmp_path: Path) -> None:
    rules = {"mode": "ask", "rules": [{"deny": "pay"}]}
    run = agent(rules, call("pay"), journal=tmp_path / "runs.db").start("Go.", paused=True)
    run.close()
    again = agent(None, call("pay"), call("save"), journal=tmp_path / "runs.db").resume(run.id)
    again.drive(30)
    assert again[2].author == "gate" and again.waiting and not made
    assert again.guards.permissions == run.guards.permissions


@pytest.mark.slow
def test_an_agent_that_opens_a_run_can_only_add_to_its_permissions(tmp_path: Path) -> None:
    def opened(recorded: Any, opener: Any) -> Run:
        run = agent(recorded, journal=tmp_path / "runs.db").start("Go.", paused=True)
        run.close()
        return agent(opener, call("pay"), journal=tmp_path / "runs.db").resume(run.id)

    for recorded, opener in (("ask", BYPASS), ("ask", {"allow": ["pay"]}), (BYPASS, "ask"), (None, {"ask": ["pay"]})):
        run = opened(recorded, opener)
        run.drive(30)
        assert run.waiting, (recorded, opener)
        run.close()
    run = opened({"allow": ["pay"]}, {"ask": ["pay"]})
    run.drive(30)
    assert run.waiting and "opener" in repr(run.guards) and not made
    again = agent({"ask": ["pay"]}, journal=tmp_path / "runs.db").resume(run.id)
    assert again.guards.permissions == run.guards.permissions  # nothing is added twice


def test_a_file_can_deny_but_not_allow(tmp_path: Path) -> None:
    rules = {"mode": BYPASS, "rules": [{"allow": "pay"}, {"ask": "save"}, {"deny": "shell"}]}
    run = agent(rules, journal="memory").start("Go.", paused=True)
    other = load(run.to_json(), agent("ask", call("pay"), call("shell"), journal="memory"))
    texts = [row[2] for row in other.guards.permissions.rows]
    assert "ask save" in texts and "deny shell" in texts and "allow pay" not in texts
    assert not other.guards.permissions.is_bypassed
    other.drive(30)
    assert other.waiting and not made


def test_what_the_person_denies_stays_when_the_permissions_of_a_loaded_run_are_replaced(own_home: Path) -> None:
    recorded = agent("ask", journal="memory").start("Go.", paused=True).to_json()
    permission_file.add(Rule("deny", "pay"))
    run = load(recorded, agent("plan", call("pay"), journal="memory"))
    for mode in ("plan", BYPASS):
        run.guard(permissions=mode)
    run.drive(30)
    assert outcome(run) == "deny" and "deny pay" in run[2].reason and not made


def test_permissions_change_in_the_middle_of_a_run_with_a_row_that_says_who_did_it() -> None:
    run = played("ask", call("pay"), call("save"), journal=MemoryJournal())
    assert run.waiting
    run.guard(permissions=BYPASS, author="Ada", reason="a test")
    assert run.guards.permissions.is_bypassed
    run.drive(30)
    assert made == ["pay", "save"] and run.status == "done"
    (event,) = [event for event in run.events() if event.kind == "guarded"]
    assert (event.data["author"], event.data["reason"]) == ("Ada", "a test")


def test_permissions_of_the_person_stay_when_those_of_the_agent_are_replaced(own_home: Path) -> None:
    own_home.mkdir()
    (own_home / "permissions.toml").write_text('[[rules]]\ndeny = "pay"\n')
    run = played("ask", call("pay"))
    assert outcome(run) == "deny"
    for changes in ({"permissions": BYPASS}, {"permissions": None}):
        assert run.guard(**changes).guards.permissions.judge(call("pay"), pay).outcome == "deny"
    assert run.fork(1, permissions=BYPASS).guards.permissions.judge(call("pay"), pay).outcome == "deny"


def test_the_strictest_of_several_modes_counts(own_home: Path) -> None:
    own_home.mkdir()
    for mine in MODES:
        (own_home / "permissions.toml").write_text(f'mode = "{mine}"\n')
        for other in MODES:
            for name in ARGUMENTS:
                run = played(other, call(name))
                expected = max(MODES[mine][name], MODES[other][name], key=["allow", "ask", "deny"].index)
                assert outcome(run) == expected, (mine, other, name)


def test_replay_asks_nothing_and_no_file_is_read_for_what_is_recorded(own_home: Path, tmp_path: Path) -> None:
    run = agent(BYPASS, call("pay"), journal=tmp_path / "runs.db").start("Go.")
    run.wait(30)
    own_home.mkdir(exist_ok=True)
    (own_home / "permissions.toml").write_text("a mistake")
    looked = agent(None, journal=tmp_path / "runs.db").look(run.id)
    assert [entry.author for entry in looked.entries] == [entry.author for entry in run.entries]
    assert made == ["pay"]


# -- the settings file -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ('mode = "ask"\n[[rules]]\ndeny = "pay"\n\n[[rules]]\nalow = "read"\n', 6, "did you mean 'allow'"),
        ('[[rules]]\ndeny = "pay"\nargumnets = { to = "Bob" }\n', 3, "did you mean 'arguments'"),
        ('# a comment\n\nmod = "ask"\n', 3, "did you mean 'mode'"),
        ('mode = "aks"\n', 1, "did you mean 'ask'"),
        ('mode = "bypass"\n', 1, "write the mode in full"),
        ('deny = ["pay"]\n\n[[rules]]\nwhy = "x"\n\n[[rules]]\nallow = "y"\n', 3, "exactly one of"),
        ('[[rules]]\nallow = "pay"\n[rules.arguments]\namount = 5\n', 4, "a table of patterns"),
        ('[[rules]]\nwhy = """\n[[rules]]\nalow = 1\n"""\nalow = "x"\n', 6, "did you mean 'allow'"),
        ("[[rules]\n", 1, "line 1"),
        ('mode = "ask"\nmode = "deny"\n', 2, "line 2"),
    ],
)
def test_a_settings_file_with_a_mistake_is_refused_whole_with_the_line(
    own_home: Path, text: str, line: int, problem: str
) -> None:
    own_home.mkdir()
    (own_home / "permissions.toml").write_text(text)
    with pytest.raises(UsageError, match=problem) as caught:
        agent(None, call("read")).run("Go.")
    assert f"line {line}" in str(caught.value) and "no run starts" in str(caught.value) and not made
    with pytest.raises(UsageError, match=problem):
        permission_file.add(Permissions.of({"allow": ["read"]}).tables[0].rules[0])
    assert (own_home / "permissions.toml").read_text() == text


def test_a_settings_file_that_cannot_be_read_stops_every_run(own_home: Path) -> None:
    (own_home / "permissions.toml").mkdir(parents=True)
    with pytest.raises(UsageError, match="no run starts"):
        agent(None, call("read")).run("Go.")
    (own_home / "permissions.toml").rmdir()
    (own_home / "permissions.toml").write_bytes(b'mode = "\xff"')
    with pytest.raises(UsageError, match="no run starts"):
        agent(None, call("read")).run("Go.")


def test_a_settings_file_that_is_a_pipe_is_refused_and_nobody_waits_for_it(own_home: Path) -> None:
    own_home.mkdir(parents=True)
    os.mkfifo(own_home / "permissions.toml")
    with pytest.raises(UsageError, match="it is not a regular file"):
        played("ask", call("pay"))


def test_a_rule_that_cannot_be_added_leaves_the_file_and_the_call_as_they_are(own_home: Path) -> None:
    own_home.mkdir()
    written = 'rules = [{ ask = "pay" }]\n'
    (own_home / "permissions.toml").write_text(written)
    run = played(None, call("pay"))
    with pytest.raises(UsageError, match=r"as a \[\[rules\]\] table"):
        run.approve(remember="always")
    assert run.waiting and not made and (own_home / "permissions.toml").read_text() == written


@pytest.mark.parametrize("name", ['a"b', "a\\b", "ä", "a\nb", "*", "[x]"])
def test_a_rule_survives_the_file_whatever_is_in_it(own_home: Path, name: str) -> None:
    written = {"deny": name, "arguments": {name: name}, "paths": {"p q": name}, "relative_to": "~", "why": name}
    rule = Permissions.of({"rules": [written]}).tables[0].rules[0]
    permission_file.add(rule)
    permission_file.add(rule)
    assert permission_file.read().rules == (rule,)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_only_the_person_can_read_the_settings_file(own_home: Path) -> None:
    played("ask", call("pay")).approve(remember="always")
    assert (own_home / "permissions.toml").stat().st_mode & 0o077 == 0


# -- explaining --------------------------------------------------------------------------------------------------------


def test_each_call_of_a_run_is_explained() -> None:
    calls = [call("read"), Call("shell", {"command": "x"}, "c2"), Call("pay", {"amount": 1}, "c3")]
    run = played({"rules": [{"deny": "shell", "why": "never"}]}, *calls)
    rows = permits.explanations(run)
    assert [row[:3] for row in rows] == [
        ["2", "read()", "called"],
        ["4", "shell(command='x')", "answered by gate"],
        ["next", "pay(amount=1)", "waits for you"],
    ]
    assert "a tool that is pure" in rows[0][3] and "(never)" in rows[1][3] and "in mode ask" in rows[2][3]


def test_a_call_that_nobody_makes_can_be_tested() -> None:
    rules = Permissions.of({"rules": [{"allow": "web_*", "arguments": {"url": "https://docs.*"}}]})
    judged = permits.judge_named(rules, "web_fetch", {"url": "https://docs.example"})
    assert judged.outcome == "allow" and "rule 1 of the agent" in judged.why
    assert permits.judge_named(rules, "web_fetch", {"url": "https://example"}).outcome == "ask"
    assert permits.judge_named(rules, "other", effect="pure").outcome == "allow"


def test_what_a_tool_says_a_call_would_do_is_shown_without_secrets() -> None:
    def diff(path: str) -> str:
        return f"--- {path}\n+token sk-proj-{'a1B2' * 12}"

    @tool(effect="irreversible", preview=diff)
    def edit(path: str) -> str:
        """Edit a file."""
        return "edited"

    run = played("ask", call("read"))
    tools = type(run.performer.tools).of([edit, read])
    shown = permits.preview(tools, Call("edit", {"path": "a.txt"}))
    assert shown.startswith("--- a.txt") and "a1B2a1B2" not in shown
    with pytest.raises(UsageError, match="does not tell"):
        permits.preview(tools, Call("read", {}))


def test_an_unknown_name_is_an_unknown() -> None:
    with pytest.raises(Unknown):
        played("ask", call("read")).guard(permission="ask")
