"""The frames of document 004's streaming protocol, made from the events of a run.

`Frames` reads the events of one run from the first one on, and gives the same frames for recorded events as for those
that are just happening; only the chunks of a reply are not recorded, so a recording has the answer in one piece. Keys
that are not in document 004's table are additions: a client may ignore them, and every event of another name.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from agentkit.core.usage import Lost, Usage
from agentkit.errors import UsageError
from agentkit.trace.events import Event
from agentkit.trace.line import enclosing, lane_of
from agentkit.view.wire import clean

Data = dict[str, Any]
Part = tuple[str, Data, bool]
"""The name and the data of a frame, and whether it has an id: whether it follows from the row of its event alone."""
Place = tuple[str, int]

_LONE = re.compile(r"\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f])|(?<!\\ud[89ab]..)\\ud[c-f][0-9a-f]{2}")
"""A half of a character in JSON of ASCII characters; it also finds some texts that only look like one."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One server-sent event. `id` is the cursor of its event and the number of the frame among those of that event,
    such as "13.1"; "" if it is not recorded, or if it has to be sent again together with what follows it.
    """

    id: str
    event: str
    data: Data

    @property
    def text(self) -> str:
        """The frame as it is sent: ASCII characters only, so that no reader takes one for the end of a line."""
        id = f"id: {self.id}\n" if self.id else ""
        return f"event: {self.event}\n{id}data: {to_ascii(self.data)}\n\n"


def to_ascii(data: Any) -> str:
    """Return data as JSON in ASCII that any reader accepts: without NaN, and without halves of characters."""
    try:
        text = json.dumps(data, separators=(",", ":"), allow_nan=False, default=str, skipkeys=True)
    except ValueError:
        text = json.dumps(clean(data)[0], separators=(",", ":"))
    return json.dumps(clean(data)[0], separators=(",", ":")) if _LONE.search(text) else text


def position(id: str) -> tuple[int, int]:
    """Return the cursor and the part of a frame's id; "" is the beginning. Raises `UsageError` if it is not an id."""
    match = re.fullmatch(r"([0-9]{1,18})(?:\.([0-9]{1,9}))?", id) if isinstance(id, str) else None
    if match:
        return int(match[1]), int(match[2]) if match[2] else 10**9
    if id == "":
        return 0, 0
    raise UsageError(f'the id of a frame is two numbers with a point in between, such as "13.0", not {id!r:.100}')


class Frames:
    """A reader of the events of one run, in order; `take` returns their frames.

    `is_over` is true after a frame "done", until the run goes on.
    """

    def __init__(self, run: str) -> None:
        self.run = run
        self.is_over = False
        self._handlers: dict[str, Callable[[Event], Iterator[Part]]] = {
            name.removeprefix("_on_"): getattr(self, name) for name in vars(Frames) if name.startswith("_on_")
        }
        self._roles: dict[Place, str] = {}
        """The roles of the model calls that have begun and are not over."""
        self._calls: set[Place] = set()
        """The tool calls that have begun and are not over."""
        self._thoughts: dict[str, int] = {}
        """The number of thoughts in each lane."""
        self._asked: dict[tuple[str, str], int] = {}
        """The thoughts that have asked for a call, by the lane and the call's id."""
        self._iterations = 0
        self._usage, self._lost = Usage(), Lost()
        self._began = 0.0
        self._answer: list[str] | None = None
        """What has been sent of the answer; None if no answer is being given."""

    def take(self, event: Event) -> list[Frame]:
        """Return the frames of an event."""
        if event.at and not self._began and event.run == self.run:
            self._began = event.at
        if event.kind in _GOING_ON:
            self.is_over = False
        handler = self._handlers.get(event.kind, self._as_it_is)
        frames, part = [], 0
        for name, data, has_id in handler(event):
            has_id = has_id and bool(event.cursor)
            frames.append(Frame(f"{event.cursor}.{part}" if has_id else "", name, data))
            part += has_id
        return frames

    def _as_it_is(self, event: Event) -> Iterator[Part]:
        yield event.kind, event.data, True

    # -- the loop ------------------------------------------------------------------------------------------------------

    def _on_thinking(self, event: Event) -> Iterator[Part]:
        data = event.data
        self._roles[data["path"], data["index"]] = role = data["role"]
        if role == "select_tools":
            yield "phase", {"phase": "selecting_tools", "total_tools": data["tags"].get("total_tools", 0)}, False
        elif not self._is_beside(role):
            self._end_answer()
            iteration = self._thoughts.get(lane_of(data["path"]), 0) + 1
            yield "step", {"type": "thinking", "status": "start", "iteration": iteration, **_labels(data)}, False

    def _on_thought(self, event: Event) -> Iterator[Part]:
        data = event.data
        role, lane = data["role"], lane_of(data["path"])
        if (data["path"], data["index"]) not in self._roles:
            self.is_over = False
            yield from self._on_thinking(event)
        self._roles.pop((data["path"], data["index"]), None)
        if event.run == self.run:
            used = data["usage"] or {}
            self._usage += Usage(**{**used, "calls": used.get("calls", 0) + (data["author"] == "model")})
        if role == "select_tools" or self._is_beside(role):
            return
        self._iterations += 1
        self._thoughts[lane] = iteration = self._thoughts.get(lane, 0) + 1
        self._asked.update({(lane, call["id"]): iteration for call in data["calls"]})
        said = {"reasoning": data["reasoning"] or data["text"], "content": data["text"]}
        yield "step", {"type": "thinking", "status": "done", "iteration": iteration, **said, **_labels(data)}, True

    def _on_model_chunk(self, event: Event) -> Iterator[Part]:
        data = event.data
        role = self._roles.get((data["path"], data["index"]), "")
        if self._answer is None:
            if role not in ("select_tools", "compact"):
                said = {"content": data["text"], "reasoning": data["reasoning"], "again": data["again"]}
                iteration = self._thoughts.get(lane_of(data["path"]), 0) + 1
                yield "delta", {"iteration": iteration, **said, "path": data["path"]}, False
        elif role in ("synthesize", ""):
            if data["again"]:
                yield from self._start_answer(again=data["again"])
            if data["text"]:
                yield self._add_to_answer(data["text"])

    def _on_tool_call(self, event: Event) -> Iterator[Part]:
        data = event.data
        place = data["path"], data["index"]
        if place not in self._calls:
            self._calls.add(place)
            self._end_answer()
            yield "step", {**self._call("start", data), "performed": data["performed"], **_labels(data)}, True

    def _on_tool_result(self, event: Event) -> Iterator[Part]:
        data = event.data
        place = data["path"], data["index"]
        if place not in self._calls:
            for name, start, _ in self._on_tool_call(event):
                yield name, start, False
        self._calls.discard(place)
        text = data["text"]
        outcome = {"observation": text, "error": None} if data["ok"] else {"observation": None, "error": text}
        rest = {"iter_elapsed": data["seconds"], "performed": data["performed"], "may_have_run": data["may_have_run"]}
        yield "step", {**self._call("done", data), **outcome, **rest, **_labels(data)}, True

    def _call(self, status: str, data: Data) -> Data:
        call = {"tool_name": data["name"], "tool_args": data["arguments"], "id": data["id"]}
        return {"type": "iteration", "status": status, "iteration": self._iteration(data), **call}

    def _iteration(self, data: Data) -> int:
        """Return the iteration that a call belongs to: that of the thought that asked for it, in the lane or around."""
        lane = lane_of(data["path"])
        while (lane, data["id"]) not in self._asked and lane:
            lane = enclosing(lane)
        return self._asked.get((lane, data["id"])) or self._thoughts.get(lane, 0)

    def _on_abandoned(self, event: Event) -> Iterator[Part]:
        place = event.data["path"], event.data["index"]
        self._roles.pop(place, None)
        self._calls.discard(place)
        self._note_lost(event.data)
        yield from self._as_it_is(event)

    def _is_beside(self, role: str) -> bool:
        """Return whether a model call with this role is not part of the loop: it writes the answer, or notes."""
        return role == "compact" or (role == "synthesize" and self._answer is not None)

    # -- the answer ----------------------------------------------------------------------------------------------------

    def _on_concluding(self, event: Event) -> Iterator[Part]:
        if event.data["more"] is None:
            yield "step", {"type": "answer", "status": "start"}, True
            yield from self._start_answer()

    def _start_answer(self, **why: str) -> Iterator[Part]:
        """Begin the answer, again if need be: what was sent of it before does not count any more.

        The chunks of the answer have no ids, so the frame before them has none either: they are only sent together.
        """
        self._answer = []
        yield "answer", {"status": "start", **why}, False

    def _add_to_answer(self, text: str) -> Part:
        assert self._answer is not None
        self._answer.append(text)
        return "answer", {"status": "delta", "content": text}, False

    def _end_answer(self) -> None:
        self._answer = None

    def _on_completed(self, event: Event) -> Iterator[Part]:
        answer = event.data["answer"]
        if self._answer is None:
            yield "step", {"type": "answer", "status": "start"}, True
            yield from self._start_answer()
        assert self._answer is not None
        if "".join(self._answer) != answer:
            if self._answer:
                yield from self._start_answer(again="the answer is another one")
            if answer:
                yield self._add_to_answer(answer)
        self._end_answer()
        yield "answer", {"status": "done"}, True
        yield self._done(event, answer, interrupted=event.data["interrupted"])

    def _done(self, event: Event, answer: str, **more: Any) -> Part:
        self.is_over = True
        used = self._usage + self._lost
        usage = {"input": used.input, "output": used.output, "cost": used.cost, "calls": used.calls}
        elapsed = round(max(0.0, event.at - self._began), 3) if event.at else 0.0
        return (
            "done",
            {"answer": answer, "iterations": self._iterations, "usage": usage, "elapsed": elapsed, **more},
            True,
        )

    def _on_error(self, event: Event) -> Iterator[Part]:
        data = event.data
        self._note_lost(data)
        self._end_answer()
        error = {"type": data["type"], "message": data["text"], "retry": data["retry"]}
        yield "error", error, True
        yield self._done(event, "", error=f"{data['type']}: {data['text']}")

    def _note_lost(self, data: Data) -> None:
        if "lost" in data:
            self._lost = Lost()
            for lost in data["lost"].values():
                self._lost += Lost(**lost)

    # -- everything else -----------------------------------------------------------------------------------------------

    def _on_injected(self, event: Event) -> Iterator[Part]:
        yield "inject", {"type": "inject", "content": event.data["text"], "id": event.data["id"]}, True

    def _on_compacted(self, event: Event) -> Iterator[Part]:
        yield "compact", {"original_messages": event.data["original"], "kept_messages": event.data["kept"]}, False

    def _on_budget_warning(self, event: Event) -> Iterator[Part]:
        yield "budget", {"status": event.kind.removeprefix("budget_"), **event.data}, True

    _on_budget_exceeded = _on_budget_extended = _on_budget_warning

    def _on_moved(self, event: Event) -> Iterator[Part]:
        self._end_answer()
        self._roles.clear()
        self._calls.clear()
        yield from self._as_it_is(event)

    def _on_paused(self, event: Event) -> Iterator[Part]:
        if not self.is_over:
            yield from self._as_it_is(event)

    def _on_resume_done(self, event: Event) -> Iterator[Part]:
        yield from ()


_GOING_ON = {
    "playing",
    "thinking",
    "tool_call",
    "moved",
    "edited",
    "injected",
    "signalled",
    "changed",
    "budget_extended",
}
"""The kinds of events after which a run that was over goes on, or may."""


def _labels(data: Data) -> Data:
    """Return where in the engine a step is, and what the engine says about it."""
    tags = {"tags": data["tags"]} if data["tags"] else {}
    return {"role": data["role"], "path": data["path"], **tags}
