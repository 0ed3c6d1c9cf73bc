"""Runs that are driven and changed at random: what is streamed live is what is recorded, and goes on at every frame.

`AGENTKIT_SIZE` is the number of runs; 300 by hand.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
from typing import Any

import pytest
from serve.event_source import messages
from serve.streamed import frames
from serve.test_agui import valid

from agentkit import Agent, Call, Reply, Run, tool
from agentkit.errors import AgentkitError, ModelError, ToolError
from agentkit.models.base import Abilities
from agentkit.models.scripted import in_pieces
from agentkit.serve import agui
from agentkit.serve.log import Log

SIZE = int(os.environ.get("AGENTKIT_SIZE", "12"))


@tool(effect="pure")
def read(name: str) -> str:
    """Read."""
    return f"{name} is here"


@tool(effect="irreversible")
def pay(name: str) -> str:
    """Pay."""
    return f"{name} is paid"


@tool(effect="idempotent")
def fail(name: str) -> str:
    """Fail."""
    raise ToolError(f"no {name}")


class Odd:
    """A model that asks for any tools, answers, or fails, at random."""

    name = "odd"
    abilities = Abilities(tools=True, stream=True)

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        self.asked = 0

    def __call__(self, request: Any) -> Any:
        choose = self.choose
        self.asked += 1
        if choose.random() < 0.1:
            raise ModelError("odd")
        if request.role == "synthesize" or choose.random() < 0.3:
            return in_pieces(Reply(f"answer {self.asked}", reasoning=choose.choice(["", "so"])), 3)
        names = choose.choices(["read", "pay", "fail", "none"], k=choose.randint(1, 3))
        calls = [Call(name, {"name": f"{self.asked}"}, choose.choice(["", "c", f"c{self.asked}"])) for name in names]
        return in_pieces(Reply(choose.choice(["", "I act"]), tuple(calls)), 5)


def change(run: Run, choose: random.Random) -> Run | None:
    """Do something with a run, as a person would; return a fork, if that is what was done."""
    act = choose.randrange(12)
    entry = choose.randrange(len(run))
    if run.waiting and act < 8:
        which = choose.randrange(len(run.waiting))
        verbs: list[Any] = [run.approve, run.reject, run.respond, run.reuse]
        verb = choose.choice(verbs)
        verb("said", which) if verb in (run.reject, run.respond) else verb(which)
    elif act < 5:
        next(run, None)
    elif act < 7:
        run.play().wait(20)
    elif act == 7:
        choose.choice([run.undo, run.redo])()
    elif act == 8:
        run.rewind(entry)
    elif act == 9:
        run.edit(entry, text=f"edited {entry}")
    elif act == 10:
        run.inject(f"hear {entry}")
    else:
        return run.fork(entry)
    return None


def check(run: Run, some: list[Log]) -> None:
    recorded = [(frame.id, frame.event, frame.data) for frame in frames(run) if frame.id]
    ids = [id for id, _, _ in recorded]
    assert len(set(ids)) == len(ids)
    if run.status == "done" and recorded[-1][1] == "done":
        assert recorded[-1][2]["usage"]["calls"] == run.usage.calls and recorded[-1][2]["answer"] == run.answer
    for log in some:
        everything = messages(log.so_far().encode())
        last = [""] + [message.last_id for message in everything]
        kept = [message for message, before in zip(everything, last, strict=False) if message.last_id != before]
        assert [(message.last_id, message.event, message.json) for message in kept] == recorded
        for id in ids[:: max(1, len(ids) // 5)]:
            rest = messages(log.so_far(id).encode(), id)
            assert rest == everything[len(everything) - len(rest) :]
            assert len(rest) == len(everything) or everything[-len(rest) - 1].last_id == id


def check_agui(text: str) -> None:
    """Check the events of AG-UI, each part up to where the run rested as a run of its own."""
    ids = {"threadId": "t", "runId": "r"}
    begin = part = agui.sent({"type": "RUN_STARTED", **ids})
    for piece in text.split("\n\n")[:-1]:
        if not piece.startswith(agui.END):
            part += f"{piece}\n\n"
            continue
        end = json.loads(piece.removeprefix(agui.END))
        valid(part + agui.sent(end if end["type"] == "RUN_ERROR" else {**end, **ids}), goes_on=True)
        part = begin


@pytest.mark.parametrize("seed", range(SIZE))
def test_what_is_streamed_is_what_is_recorded(seed: int) -> None:
    choose = random.Random(seed)
    options: dict[str, Any] = {"approve": True, "synthesize": choose.random() < 0.5, "journal": "memory"}
    if choose.random() < 0.3:
        options["budget"] = {"max_model_calls": 6, "ask": True}
    run = Agent(Odd(choose), [read, pay, fail], **options).start("q", paused=True)
    logs = {run: [Log.of(run)]}
    front = Log.of(run, agui.Agui)
    front.load()
    for _ in range(40):
        now = choose.choice(list(logs))
        if choose.random() < 0.2:  # a stream looks while the run goes on, as would one that has just come
            logs[now][0].so_far()
        if choose.random() < 0.05:
            logs[now][0].forget()
        with contextlib.suppress(AgentkitError):
            fork = change(now, choose)
            if fork is not None and len(logs) < 4:
                logs[fork] = [Log.of(fork)]
    for known, some in logs.items():
        check(known, [*some, Log(known)])
    check_agui(front.so_far())
    check_agui(Log(run, agui.Agui).so_far())
