"""The profile of a run: its sums agree with the usage and the clock, whatever happened in the run."""

from __future__ import annotations

import contextlib
import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_text import ATTACKS, raw_characters

from agentkit import Agent, Call, Chat, Reply, Run, Think, load, tool
from agentkit.core.messages import Message, user
from agentkit.core.steps import Act, All, Answer
from agentkit.core.usage import Lost, Usage
from agentkit.errors import ModelError, Unknown, UsageError
from agentkit.gates.state import Loss
from agentkit.journal import open_journal
from agentkit.journal.check import Checker
from agentkit.journal.entries import Entry
from agentkit.models.base import Abilities, Chunk, Request
from agentkit.models.scripted import Scripted
from agentkit.telemetry import flame
from agentkit.telemetry.calls import ASKED, LEFT, LOST, Recorded
from agentkit.telemetry.profile import BY, Profile, duration

SIZE = int(os.environ.get("AGENTKIT_SIZE", "25"))
"""How many random runs are profiled; 1,000 or more by hand."""

CAN = Abilities(tools=True)


# -- made of rows ------------------------------------------------------------------------------------------------------


def thought(
    id: int, start: float, end: float, *, role: str = "thought", path: str = "", run: str = "r", **more: Any
) -> Entry:
    step = Think(Chat.of("x"), role=role, tags=more.pop("tags", {}))
    values = {"author": "model", "model": "m", "usage": Usage(10, 5, cost=0.25), **more}
    return Entry(0, "think", path, id, step, None, Reply("x"), started=start, ended=end, run=run, id=id, **values)


def action(
    id: int, start: float, end: float, *, name: str = "look", path: str = "", run: str = "r", **more: Any
) -> Entry:
    step, result = Act(Call(name, {}, "c"), tags=more.pop("tags", {})), Message("tool", "x")
    values = {"author": "tool", **more}
    return Entry(0, "act", path, id, step, None, result, started=start, ended=end, run=run, id=id, **values)


def begin(at: float = 100.0, run: str = "r") -> Entry:
    return Entry(0, "begin", result={"task": []}, author="human", started=at, ended=at, run=run, id=1)


def profiled(*entries: Entry, left: tuple[int, ...] = (), losses: tuple[Loss, ...] = ()) -> Profile:
    line = {entry.id for entry in entries} - set(left)
    used = sum((entry.usage for entry in entries if entry.usage and not entry.original), Usage())
    return Profile(Recorded("r", list(entries), line, list(losses)), usage=used)


def clock(profile: Profile) -> dict[str, float]:
    """Return the parts of the clock that are not 0."""
    return {name: round(value, 6) for name in profile.clock.__slots__ if (value := getattr(profile.clock, name))}


def summed(profile: Profile, group: str) -> dict[str, tuple[int, float, float]]:
    """Return the calls of each part, the time on the clock, and the sum of times."""
    return {part.name: (part.calls, round(part.clock, 6), round(part.summed, 6)) for part in profile.by(group)}


def test_the_clock_is_divided_into_calls_rests_and_overhead() -> None:
    profile = profiled(
        begin(100),
        thought(2, 110, 113, rested={"paused": 9.5}),
        action(3, 113.5, 115),
        thought(4, 150, 152, rested={"waiting": 30.0, "paused": 4.0}),
    )
    assert clock(profile) == {"busy": 6.5, "overhead": 2.0, "waiting": 30.0, "paused": 13.5}
    assert profile.clock.total == 52


def test_parallel_calls_count_once_on_the_clock_and_each_in_the_sum() -> None:
    lanes = (action(3, 102, 106, path="[1.0]"), action(4, 102, 109, path="[1.1]", name="send"))
    profile = profiled(begin(), thought(2, 100, 102), *lanes)
    assert clock(profile) == {"busy": 9.0}
    assert summed(profile, "phase") == {"act": (2, 7.0, 11.0), "think": (1, 2.0, 2.0)}
    assert summed(profile, "tool") == {"send": (1, 7.0, 7.0), "look": (1, 4.0, 4.0)}
    assert "Calls ran in parallel: 13.0 s of calls in 9.0 s on the clock." in repr(profile)


def test_phases_are_told_apart_by_kind_and_role() -> None:
    roles = ("plan", "select_tools", "thought", "evaluate", "compact", "synthesize")
    thoughts = [thought(n, 100 + n, 101 + n, role=role) for n, role in enumerate(roles, 2)]
    profile = profiled(begin(), *thoughts, action(9, 110, 111))
    assert set(summed(profile, "phase")) == {"plan", "select tools", "think", "compaction", "synthesize", "act"}
    assert summed(profile, "phase")["think"][0] == 2
    assert set(summed(profile, "role")) == {*roles, "action"}


def test_what_a_line_that_was_left_has_taken_is_apart_and_is_in_the_total() -> None:
    profile = profiled(begin(), thought(2, 100, 101), action(3, 101, 104), thought(4, 104, 105), left=(3, 4))
    assert summed(profile, "phase") == {"think": (1, 1.0, 1.0), LEFT: (2, 4.0, 4.0)}
    assert summed(profile, "tool") == {LEFT: (1, 3.0, 3.0)}
    assert (profile.left.calls, profile.left.usage.cost, profile.total.usage.cost) == (2, 0.25, 0.5)


def test_calls_without_a_result_are_apart() -> None:
    failed = Loss("", Lost(7, 0, cost=0.5, calls=1, seconds=3.0), 105.0, 2)
    dropped = Loss("", Lost(tool_calls=1, seconds=2.0), 110.0, 2)
    profile = profiled(begin(), thought(2, 100, 101), losses=(failed, dropped))
    assert clock(profile) == {"busy": 6.0, "overhead": 4.0}
    assert summed(profile, "phase")[LOST] == (2, 5.0, 5.0)
    assert (summed(profile, "tool"), summed(profile, "model")[LOST]) == ({LOST: (1, 2.0, 2.0)}, (1, 3.0, 3.0))
    assert (profile.total.usage.input, profile.total.usage.calls) == (17, 2)


def test_a_thought_that_was_only_asked_again_is_apart_and_is_no_rest_of_the_run() -> None:
    again = thought(3, 120, 125, run="fork", rested={"paused": 99.0})
    profile = profiled(begin(), thought(2, 100, 110), again, thought(4, 130, 131, rested={"paused": 15.0}))
    assert clock(profile) == {"busy": 16.0, "paused": 15.0}
    assert summed(profile, "phase")[ASKED] == (1, 5.0, 5.0)


def test_the_time_between_two_processes_is_away_and_no_clock_is_compared_over_it() -> None:
    later = profiled(begin(), thought(2, 100, 101), thought(3, 9000, 9001, rested={"away": 8890.0, "paused": 9.0}))
    assert clock(later) == {"busy": 2.0, "paused": 9.0, "away": 8890.0}
    # the clock of the second machine is behind: its calls did not run in parallel to those of the first
    behind = profiled(begin(), thought(2, 100, 110), thought(3, 101, 108, rested={"away": 0.0}))
    assert clock(behind) == {"busy": 17.0}


def test_a_clock_that_was_set_back_gives_no_negative_times() -> None:
    profile = profiled(begin(), thought(2, 105, 101), action(3, 90, 91), thought(4, 89, 92, rested={"paused": 1e6}))
    assert all(value >= 0 for value in clock(profile).values())
    assert all(part.clock >= 0 and part.summed >= 0 for group in BY for part in profile.by(group))
    assert profile.clock.total < 20


def test_an_older_recording_does_not_tell_overhead_from_rests() -> None:
    profile = profiled(begin(0.0), thought(2, 100, 101), thought(3, 160, 161))
    assert clock(profile) == {"busy": 2.0, "unknown": 59.0}
    assert "between the calls" in repr(profile)


def test_nested_engines_lanes_and_stages_have_parts_of_their_own() -> None:
    entries = [
        thought(2, 100, 101, role="plan"),
        thought(3, 101, 103, path="[1.0]", tags={"plan_lane": 1}),
        action(4, 103, 104, path="[1.0]", tags={"plan_lane": 1}),
        thought(5, 101, 106, path="[1.1].0", tags={"plan_lane": 2}),
        action(6, 106, 107, path="[2.0]"),
    ]
    profile = profiled(begin(), *entries)
    assert summed(profile, "lane") == {
        "step 2 of the plan › nested engine 1": (1, 5.0, 5.0),
        "step 1 of the plan": (2, 3.0, 3.0),
        "the run's own steps": (2, 2.0, 2.0),
    }
    assert summed(profile, "stage")["step 1 of the plan"] == (2, 3.0, 3.0)
    assert summed(profile, "stage")["outside of any"] == (2, 2.0, 2.0)
    assert "run;step 2 of the plan;nested engine 1;think;m 5000000" in profile.folded()


def test_an_unknown_grouping_is_named() -> None:
    with pytest.raises(Unknown, match="colour"):
        profiled(begin()).by("colour")


def test_a_run_that_has_done_nothing_has_an_empty_profile() -> None:
    profile = profiled(begin())
    assert (clock(profile), profile.rows, profile.folded(), profile.streaming) == ({}, [], "", [])
    assert "0 model calls" in repr(profile)


@pytest.mark.parametrize(
    "more",
    [{"rested": {"paused": -1.0}}, {"rested": {"away": float("inf")}}, {"rested": {"away": "x"}}, {"streamed": -1.0}],
)
def test_a_recording_with_times_that_are_none_is_damaged(more: dict[str, Any]) -> None:
    checker = Checker()
    spec = {"task": [{"role": "user", "text": "x"}], "engine": "e", "options": {}, "tools": {}, "model": "m"}
    started = begin()
    started.result = spec
    assert not checker.problem(started)
    entry = thought(2, 100, 101, rested={"paused": 1.0}, streamed=100.5)
    entry.parent = 1
    assert not checker.problem(entry)
    for name, value in more.items():
        setattr(entry, name, value)
    assert checker.problem(entry)


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 ms"), (0.0123, "12 ms"), (3.4, "3.4 s"), (150, "2.5 min"), (90000, "25.0 h")]
)
def test_times_are_short(seconds: float, text: str) -> None:
    assert duration(seconds) == text


# -- of runs -----------------------------------------------------------------------------------------------------------


@tool(effect="pure")
def look(city: str) -> str:
    """Look at the weather."""
    return f"rain in {city}"


@tool(effect="irreversible")
def send(text: str) -> str:
    """Send a message."""
    if text.endswith("7"):
        raise ValueError("no such person")
    return f"sent {text}"


class Whim:
    """A model that calls tools, answers or fails at random, and says what it has used."""

    name = "whim"
    abilities = CAN

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def __call__(self, request: Request) -> Any:
        throw, number = self.dice.random(), str(self.dice.randrange(1000))
        used = Usage(self.dice.randrange(1000), self.dice.randrange(100), cost=self.dice.random() / 100)
        if throw < 0.12:
            error = ModelError("overloaded")
            error.usage = used
            raise error
        if not request.tools or throw > 0.8:
            return Reply(f"answer {number}", usage=used)
        first = Call("look", {"city": number}, f"a{number}")
        more = (Call("send", {"text": number}, f"b{number}"), Call("look", {"city": "Rome"}, f"c{number}"))
        return Reply("", (first,) if throw < 0.5 else (first, *more), usage=used)


def nested(task: Chat, tools: Any = ()) -> Any:
    """Plan, work in two lanes, and synthesize."""
    reply = yield Think(task, tools, role="plan", tags={"plan": ["a", "b"]})
    parts = tuple(_work(task + reply, tools, number) for number in (1, 2))
    results = yield All(parts)
    reply = yield Think(task + user(str(results)), role="synthesize")
    return Answer(reply.text or "none", task + reply)


def _work(chat: Chat, tools: Any, number: int) -> Any:
    for _ in range(3):
        reply = yield Think(chat, tools, tags={"plan_lane": number})
        chat = chat + reply
        if not reply.calls:
            break
        messages = yield Act.each(reply.calls, tags={"plan_lane": number})
        chat = chat + (messages if isinstance(messages, tuple) else (messages,))
    return reply.text


VERBS: dict[str, Callable[[Run, int], Any]] = {
    "next": lambda run, entry: next(run, None),
    "drive": lambda run, entry: run.drive(),
    "over": lambda run, entry: run.step_over(),
    "undo": lambda run, entry: run.undo(),
    "edit": lambda run, entry: run.edit(entry, text="edited"),
    "rewind": lambda run, entry: run.rewind(entry),
    "approve": lambda run, entry: run.approve(),
    "reject": lambda run, entry: run.reject("no"),
    "respond": lambda run, entry: run.respond("by hand"),
    "resample": lambda run, entry: run.resample(entry, times=2).go(),
}


def check(run: Run) -> Profile:
    """Check that the sums of a profile agree with the usage and the clock of the run."""
    profile, usage = run.profile(), run.usage
    total = profile.total.usage
    assert (total.input, total.output, total.cached, total.calls) == (
        usage.input,
        usage.output,
        usage.cached,
        usage.calls,
    )
    assert total.cost == pytest.approx(usage.cost)
    for group in ("phase", "role", "stage", "lane", "step"):
        parts = profile.by(group)
        assert sum(part.calls for part in parts) == profile.total.calls, group
        assert sum(part.summed for part in parts) == pytest.approx(profile.total.summed, abs=1e-6), group
        assert sum(part.usage.cost for part in parts) == pytest.approx(usage.cost), group
        assert all(0 <= part.clock <= min(part.summed, profile.clock.busy) + 1e-6 for part in parts), group
    both = [*profile.by("model"), *profile.by("tool")]
    assert sum(part.calls for part in both) == profile.total.calls
    made = sum(part.calls for part in profile.by("tool") if part.apart != LOST)
    assert made == run.result.tool_calls_count
    assert all(getattr(profile.clock, name) >= 0 for name in profile.clock.__slots__)
    own = [entry for entry in run.trace.tree.entries.values() if entry.run == run.id and not entry.original]
    if own and own[0].kind == "begin" and ASKED not in summed(profile, "phase"):
        last = max([*(entry.ended for entry in own), *(loss.ended for loss in run.state.spent.losses)])
        assert profile.clock.total == pytest.approx(last - own[0].started, abs=2e-3)
    fire = profile.flame
    assert fire.seconds == pytest.approx(profile.total.summed + profile.clock.overhead)
    assert (fire.calls, fire.cost) == (profile.total.calls, pytest.approx(usage.cost))
    drawn = flame.data(fire, 30)
    assert sum(bar["seconds"] for bar in drawn["bars"]) == pytest.approx(fire.seconds)
    lines = [line.rpartition(" ") for line in profile.folded().splitlines()]
    assert sum(int(count) for _, _, count in lines) == pytest.approx(fire.seconds * 1e6, abs=len(lines) + 1)
    return profile


def same(one: Profile, other: Profile) -> None:
    assert [(row["by"], row["name"], row["calls"], row["input"], row["apart"]) for row in one.rows] == [
        (row["by"], row["name"], row["calls"], row["input"], row["apart"]) for row in other.rows
    ]
    assert vars_of(one) == pytest.approx(vars_of(other), abs=2e-3)


def vars_of(profile: Profile) -> dict[str, float]:
    return {name: getattr(profile.clock, name) for name in profile.clock.__slots__}


@pytest.mark.parametrize("seed", range(SIZE))
def test_the_sums_of_random_runs_agree_with_their_usage_and_their_clock(seed: int, tmp_path: Path) -> None:
    dice = random.Random(seed)
    engine = dice.choice(["react", nested])
    agent = Agent(Whim(seed), [look, send], engine=engine, journal=tmp_path / "runs.db")
    run = agent.start("Go.", paused=True)
    for _ in range(dice.randrange(2, 14)):
        with contextlib.suppress(UsageError, ModelError):
            VERBS[dice.choice(["next", "next", *VERBS])](run, dice.randrange(len(run)))
        if dice.random() < 0.1:
            run = run.fork()
    profile = check(run)
    same(profile, agent.look(run).profile())
    if not run.trace.difference:
        same(profile, load(run.to_json(), agent).profile())


def test_waiting_for_a_person_is_apart_from_a_pause() -> None:
    model = Scripted([Reply("", (Call("send", {"text": "a"}, "c"),)), "done"], abilities=CAN)
    run = Agent(model, [send], journal="memory", approve=True).start("Go.", paused=True)
    time.sleep(0.05)
    run.drive()
    assert run.status == "waiting"
    time.sleep(0.1)
    run.approve()
    run.drive()
    profile = check(run)
    assert profile.clock.paused >= 0.05 and profile.clock.waiting >= 0.1
    assert profile.clock.overhead < profile.clock.total - 0.15
    assert "waiting for a person" in repr(profile)


def test_a_question_that_a_person_answers_has_waited_for_them() -> None:
    model = Scripted([Reply("", (Call("send", {"text": "a"}, "c"),)), "done"], abilities=CAN)
    run = Agent(model, [send], journal="memory", approve=True).start("Go.", paused=True)
    run.drive()
    time.sleep(0.1)
    run.reject("no")
    profile = check(run)
    assert profile.clock.waiting >= 0.1
    assert [part.name for part in profile.by("tool")] == []


def test_the_pace_of_a_run_is_a_rest() -> None:
    model = Scripted(
        [*(Reply("", (Call("look", {"city": str(n)}, f"c{n}"),)) for n in range(3)), "done"], abilities=CAN
    )
    run = Agent(model, [look], journal="memory").start("Go.", paused=True)
    run.play(pace=0.05)
    run.wait()
    profile = check(run)
    assert profile.clock.paused >= 5 * 0.05
    assert profile.clock.overhead < profile.clock.total - 0.25


def test_the_time_until_a_run_is_resumed_is_away(tmp_path: Path) -> None:
    replies = [Reply("", (Call("look", {"city": "Bern"}, "c"),)), "done"]
    first = Agent(Scripted(replies, abilities=CAN), [look], journal=tmp_path / "runs.db")
    run = first.start("Go.", paused=True)
    next(run)
    run.close()
    time.sleep(0.1)
    again = Agent(Scripted(replies[1:], abilities=CAN), [look], journal=open_journal(tmp_path / "runs.db")).resume(
        run.id
    )
    again.drive()
    profile = check(again)
    assert profile.clock.away >= 0.1
    assert profile.clock.overhead < profile.clock.total - 0.1
    same(profile, first.look(again).profile())


def test_a_failed_call_is_on_the_clock_and_in_the_profile_of_the_recording(tmp_path: Path) -> None:
    def failing(request: Request) -> Reply:
        time.sleep(0.05)
        error = ModelError("overloaded")
        error.usage = Usage(70, 3, cost=0.5)
        raise error

    agent = Agent(failing, journal=tmp_path / "runs.db")
    run = agent.start("Go.", paused=True)
    for _ in range(2):
        run.drive()
    profile = check(run)
    assert (profile.lost.calls, profile.lost.usage.input, profile.lost.usage.cost) == (2, 140, 1.0)
    assert profile.lost.summed >= 0.1
    same(profile, agent.look(run).profile())


def test_what_was_spent_before_an_edit_and_an_undo_was_spent_on_lines_that_were_left() -> None:
    used = Usage(100, 10, cost=0.1)
    model = Scripted([Reply("no", usage=used), Reply("yes", usage=used)])
    run = Agent(model, journal="memory").start("Go.", paused=True)
    run.drive()
    run.rewind(0)
    run.drive()
    profile = check(run)
    assert (profile.left.calls, profile.left.usage.cost, profile.usage.cost) == (1, 0.1, 0.2)
    run.edit(1, text="edited")
    assert check(run).left.usage.cost == pytest.approx(0.2)


def test_the_time_to_the_first_piece_and_the_speed_are_known_for_each_model(tmp_path: Path) -> None:
    def stream(request: Request) -> Iterator[Chunk]:
        time.sleep(0.05)
        yield Chunk("one ")
        time.sleep(0.1)
        yield Chunk("two", finish="stop", usage=Usage(5, 20))

    agent = Agent(stream, journal=tmp_path / "runs.db")
    run = agent.start("Go.", paused=True)
    run.drive()
    for profile in (check(run), agent.look(run).profile()):
        (each,) = profile.streaming
        assert (each.model, each.calls, each.streamed) == ("stream", 1, 1)
        assert each.first is not None and 0.05 <= each.first < profile.clock.total - 0.1
        assert each.per_second is not None and 0 < each.per_second <= 200


def test_a_run_in_progress_has_a_profile() -> None:
    begun, ended = threading.Event(), threading.Event()

    @tool(effect="pure")
    def wait() -> str:
        """Wait."""
        begun.set()
        ended.wait(30)
        return "done"

    model = Scripted([Reply("", (Call("wait", {}, "c"),)), "done"], abilities=CAN)
    run = Agent(model, [wait], journal="memory").start("Go.")
    assert begun.wait(30)
    assert run.profile().total.calls == 1
    ended.set()
    run.wait()
    assert check(run).total.calls == 3


# -- as text, as tables, as data ---------------------------------------------------------------------------------------


def named(name: str) -> Profile:
    """Return a profile in which everything has this name that can have one."""
    tags = {"plan_step": name, "node": name}
    called = action(3, 101, 102, name=name, tags=tags)
    return profiled(begin(), thought(2, 100, 101, role=name, model=name, tags=tags, path=".1"), called)


@pytest.mark.parametrize("attack", ATTACKS)
def test_hostile_names_are_inert_in_all_forms(attack: str) -> None:
    profile, harmless = named(attack), named("x")
    for text in (repr(profile), profile.folded(), json.dumps(profile.data(), ensure_ascii=False)):
        assert not raw_characters(text)
    assert len(repr(profile).splitlines()) == len(repr(harmless).splitlines())
    assert len(profile.folded().splitlines()) == 2
    page = profile._repr_html_()
    assert not raw_characters(page) and page.count("<") == harmless._repr_html_().count("<")
    assert not raw_characters(profile._repr_markdown_())


def test_html_and_semicolons_in_names_do_not_become_markup_or_stacks() -> None:
    profile = profiled(begin(), action(2, 100, 101, name="<img src=x onerror=alert(1)>;a b"))
    assert "<img" not in profile._repr_html_() and "&lt;img" in profile._repr_html_()
    assert profile.folded() == "run;act;<img src=x onerror=alert(1)>:a b 1000000"


def test_a_secret_in_a_name_is_masked() -> None:
    secret = "sk-ant-" + "a1B2" * 12
    profile = profiled(begin(), action(2, 100, 101, name=f"call {secret}"))
    for text in (repr(profile), profile.folded(), profile._repr_html_(), json.dumps(profile.data())):
        assert secret not in text


def test_the_rows_make_a_data_frame() -> None:
    pandas = pytest.importorskip("pandas")
    frame = profiled(begin(), thought(2, 100, 101), action(3, 101, 103)).to_frame()
    assert isinstance(frame, pandas.DataFrame)
    tools = frame[frame["by"] == "tool"]
    assert [*tools["name"]] == ["look"] and [*tools["summed"]] == [2.0]


def test_a_long_run_is_drawn_with_a_limited_number_of_bars() -> None:
    entries = [action(n, 100 + n, 100 + n + n / 1000, name=f"tool {n % 900}") for n in range(2, 3000)]
    profile = profiled(begin(), *entries)

    def bars(bar: Any) -> int:
        return 1 + sum(map(bars, bar["bars"]))

    drawn = flame.data(profile.flame)
    assert bars(drawn) < 2 * flame.MAX_BARS
    assert drawn["bars"][0]["bars"][-1]["name"].endswith("more")
    assert repr(profile).count("\n") < 1000
