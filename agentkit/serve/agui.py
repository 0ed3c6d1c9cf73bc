"""AG-UI, the protocol of React front ends (docs.ag-ui.com, version 1.0), made from the events of a run.

An AG-UI run lasts until agentkit's run rests: it ends with the answer, with an error, or with interrupts, which are
the steps that wait for a person. The next AG-UI run answers these in its `resume`. Thoughts are reasoning messages, the
answer is a text message, and what AG-UI has no event for is `CUSTOM`.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agentkit.core.messages import digest
from agentkit.core.secrets import mask_json
from agentkit.errors import UsageError
from agentkit.run.run import Run, choices
from agentkit.serve.frames import to_ascii
from agentkit.tools.serialize import to_json
from agentkit.trace.events import Event, waiting_data

Data = dict[str, Any]
Place = tuple[str, int]

VERSION = "1.0"
"""The version of the protocol."""

END = "end: "
"""What the text of a piece begins with that ends an AG-UI run; only the stream knows the ids that belong in there."""

PAUSED = "paused"
"""The id of the interrupt of a run that was paused, and waits for nothing else."""

_DECISIONS = ("approve", "reject", "respond", "reuse")
_DECIDE: Data = {
    "type": "object",
    "properties": {"decision": {"enum": list(_DECISIONS)}, "comment": {"type": "string"}, "value": {}},
    "required": ["decision"],
}
_REPLY: Data = {"type": "string"}


class Piece(NamedTuple):
    """An event as it is sent. It has no id: the protocol cannot resume within a run."""

    id: str
    text: str


def sent(data: Data) -> str:
    """Return an AG-UI event as a server-sent event."""
    return f"data: {to_ascii(data)}\n\n"


# -- events ------------------------------------------------------------------------------------------------------------


class Agui:
    """A reader of the events of one run, in order; `take` returns the events of AG-UI."""

    def __init__(self, run: str) -> None:
        self.run = run
        self.is_over = False
        self._handlers: dict[str, Callable[[Event], Iterator[Data]]] = {
            name.removeprefix("_on_"): getattr(self, name) for name in vars(Agui) if name.startswith("_on_")
        }
        self._roles: dict[Place, str] = {}
        self._calls: dict[Place, str] = {}
        """The ids of the calls that have begun, or wait for a person."""
        self._known: set[str] = set()
        """The ids of all calls: AG-UI wants each of them once."""
        self._interrupts: dict[str, Data] = {}
        self._answer: list[str] | None = None
        """What has been sent of the answer; None if no answer is being given."""
        self._message = ""
        """The id of the message that is being sent."""
        self._messages = 0

    def take(self, event: Event) -> list[Piece]:
        """Return the events of AG-UI for an event."""
        handler = self._handlers.get(event.kind, self._custom)
        return [
            Piece("", f"{END}{to_ascii(data)}\n\n" if data["type"] in _ENDS else sent(data)) for data in handler(event)
        ]

    def _custom(self, event: Event) -> Iterator[Data]:
        yield {"type": "CUSTOM", "name": event.kind, "value": event.data}

    def _none(self, event: Event) -> Iterator[Data]:
        yield from ()

    _on_started = _on_resume_done = _none

    def _new_message(self) -> str:
        self._messages += 1
        return f"{self.run}-{self._messages}"

    def _on_playing(self, event: Event) -> Iterator[Data]:
        self.is_over = False
        self._interrupts.clear()
        yield from ()

    def _on_thinking(self, event: Event) -> Iterator[Data]:
        role = event.data["role"]
        self._roles[event.data["path"], event.data["index"]] = role
        if role not in ("synthesize", "compact"):
            yield from self._end_answer()

    def _on_thought(self, event: Event) -> Iterator[Data]:
        data = event.data
        role = self._roles.pop((data["path"], data["index"]), data["role"])
        if role in ("select_tools", "compact") or (role == "synthesize" and self._answer is not None):
            return
        yield from self._end_answer()
        if said := data["reasoning"] or ("" if data["answer"] else data["text"]):
            of = {"messageId": self._new_message()}
            yield {"type": "REASONING_START", **of}
            yield {"type": "REASONING_MESSAGE_START", **of, "role": "reasoning"}
            yield {"type": "REASONING_MESSAGE_CONTENT", **of, "delta": said}
            yield {"type": "REASONING_MESSAGE_END", **of}
            yield {"type": "REASONING_END", **of}

    def _on_model_chunk(self, event: Event) -> Iterator[Data]:
        data = event.data
        role = self._roles.get((data["path"], data["index"]), "synthesize")
        if self._answer is not None and role == "synthesize":
            if data["again"]:
                yield from self._end_message()
                self._answer = []
            if data["text"]:
                yield from self._add_to_answer(data["text"])

    def _on_tool_call(self, event: Event) -> Iterator[Data]:
        data = event.data
        place = data["path"], data["index"]
        if place in self._calls:
            return
        yield from self._end_answer()
        id = data["id"] or "call"
        while id in self._known:
            id = f"{data['id'] or 'call'}-{len(self._known)}"
        self._known.add(id)
        self._calls[place] = id
        yield {"type": "TOOL_CALL_START", "toolCallId": id, "toolCallName": data["name"]}
        yield {"type": "TOOL_CALL_ARGS", "toolCallId": id, "delta": to_ascii(data["arguments"])}
        yield {"type": "TOOL_CALL_END", "toolCallId": id}

    def _on_tool_result(self, event: Event) -> Iterator[Data]:
        yield from self._on_tool_call(event)
        id = self._calls.pop((event.data["path"], event.data["index"]))
        result = {"toolCallId": id, "content": event.data["text"], "role": "tool"}
        yield {"type": "TOOL_CALL_RESULT", "messageId": self._new_message(), **result}

    def _on_abandoned(self, event: Event) -> Iterator[Data]:
        self._roles.pop((event.data["path"], event.data["index"]), None)
        yield from self._custom(event)

    def _on_moved(self, event: Event) -> Iterator[Data]:
        self.is_over = False
        self._roles.clear()
        self._calls.clear()
        self._interrupts.clear()
        yield from self._end_answer()
        yield from self._custom(event)

    # -- the answer ----------------------------------------------------------------------------------------------------

    def _on_concluding(self, event: Event) -> Iterator[Data]:
        if event.data["more"] is None:
            self._answer = []
        yield from ()

    def _add_to_answer(self, text: str) -> Iterator[Data]:
        assert self._answer is not None
        if not self._message:
            self._message = self._new_message()
            yield {"type": "TEXT_MESSAGE_START", "messageId": self._message, "role": "assistant"}
        self._answer.append(text)
        yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": self._message, "delta": text}

    def _end_message(self) -> Iterator[Data]:
        if self._message:
            yield {"type": "TEXT_MESSAGE_END", "messageId": self._message}
        self._message = ""

    def _end_answer(self) -> Iterator[Data]:
        yield from self._end_message()
        self._answer = None

    def _on_completed(self, event: Event) -> Iterator[Data]:
        answer = event.data["answer"]
        if self._answer is None or "".join(self._answer) != answer:
            yield from self._end_message()
            self._answer = []
            if answer:
                yield from self._add_to_answer(answer)
        yield from self._end_answer()
        self.is_over = True
        result = {"answer": answer, "interrupted": event.data["interrupted"]}
        yield {"type": "RUN_FINISHED", "result": result, "outcome": {"type": "success"}}

    # -- where the run rests -------------------------------------------------------------------------------------------

    def _on_error(self, event: Event) -> Iterator[Data]:
        yield from self._end_answer()
        self.is_over = True
        yield {"type": "RUN_ERROR", "message": event.data["text"], "code": event.data["type"]}

    def _on_waiting(self, event: Event) -> Iterator[Data]:
        data = event.data
        interrupt: Data = {"id": interrupt_id(data), "message": data["why"]}
        if "name" in data:
            yield from self._on_tool_call(event)
            interrupt |= {"reason": "tool_approval", "toolCallId": self._calls[data["path"], data["index"]]}
            interrupt |= {"responseSchema": _DECIDE}
        elif "question" in data:
            interrupt |= {"reason": "question", "message": data["question"], "responseSchema": _REPLY}
        else:
            interrupt |= {"reason": "approval", "responseSchema": _DECIDE}
        self._interrupts[interrupt["id"]] = interrupt

    def _on_paused(self, event: Event) -> Iterator[Data]:
        if self.is_over:
            return
        yield from self._end_answer()
        paused = {"id": PAUSED, "reason": "paused", "message": event.data["why"]}
        interrupts = list(self._interrupts.values()) or [paused]
        yield {"type": "RUN_FINISHED", "outcome": {"type": "interrupt", "interrupts": interrupts}}


_ENDS = ("RUN_FINISHED", "RUN_ERROR")


def interrupt_id(data: Data) -> str:
    """Return the id of the interrupt of a step that waits, made of all that a person is shown of it: an answer must not
    decide about another step that waits at the same place by then.
    """
    return f"{data['path']}#{data['index']}-{digest(to_ascii(data).encode())[:12]}"


async def stream(batches: AsyncIterator[list[str]], thread: str, run: str) -> AsyncGenerator[str, None]:
    """Yield an AG-UI run as text, from its first event to its last one: what a log gives until the run rests."""
    ids = {"threadId": thread, "runId": run}
    yield sent({"type": "RUN_STARTED", **ids, "protocolVersion": VERSION})
    async for texts in batches:
        end = next((n for n, text in enumerate(texts) if text.startswith(END)), len(texts))
        if body := "".join(texts[:end]):
            yield body
        if end < len(texts):
            last = json.loads(texts[end].removeprefix(END))
            yield sent(last if last["type"] == "RUN_ERROR" else {**last, **ids})
            return
    yield sent({"type": "RUN_ERROR", "message": "the stream was closed before the run had ended", "code": "closed"})


# -- requests ----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class RunInput:
    """What a front end asks for: the next message of a thread, or, in `resume`, answers to its interrupts."""

    thread: str
    run: str
    task: str
    resume: list[Data] = field(default_factory=list)


def read_input(data: Any) -> RunInput:
    """Return a `RunAgentInput`, which is JSON data. Raises `UsageError` if it is not one.

    Of its messages only the last one of the user counts: agentkit has the earlier turns of the thread, as its session.
    """
    if not isinstance(data, dict):
        raise UsageError(f"the input of an AG-UI run must be an object, not {data!r:.100}")
    thread, run, messages = data.get("threadId"), data.get("runId"), data.get("messages")
    if not isinstance(thread, str) or not isinstance(run, str) or not isinstance(messages, list):
        raise UsageError("the input of an AG-UI run needs threadId and runId (texts) and messages (a list)")
    resume = data.get("resume") or []
    if not isinstance(resume, list) or not all(isinstance(entry, dict) for entry in resume):
        raise UsageError("resume must be a list of answers to interrupts, with interruptId and status")
    said = [message for message in messages if isinstance(message, dict) and message.get("role") == "user"]
    task = _text(said[-1].get("content")) if said else ""
    if not task and not resume:
        raise UsageError("the messages of an AG-UI run must end with one of the user, which is a text")
    return RunInput(thread, run, task, resume)


def _text(content: Any) -> str:
    parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
    texts = [part.get("text") if isinstance(part, dict) and part.get("type") == "text" else None for part in parts]
    if not all(isinstance(text, str) for text in texts):
        raise UsageError("the content of a message must be a text, or a list of parts with texts")
    return "\n\n".join(map(str, texts))


def decide(run: Run, resume: list[Data], *, author: str = "human") -> None:
    """Decide about the steps that a run waits for, as the entries of `resume` say; the run then has to be played.

    The payload of a call is `{"decision": "approve" | "reject" | "respond" | "reuse", "comment": …, "value": …}`, true
    or false; that of a question is the reply. A call whose interrupt is "cancelled" is rejected. Raises `UsageError`,
    before anything is decided, if an entry answers no interrupt, or one that another entry answers, or not with what it
    can be answered with.
    """

    def do() -> None:  # between two steps, so that nothing else decides meanwhile
        waiting = {interrupt_id(mask_json(waiting_data(step, why.why))): (step, why) for step, why in run.waiting}
        decisions = [_decision(waiting, entry) for entry in resume if entry.get("interruptId") != PAUSED]
        for pending, decision, value in decisions:
            which = [other for other, _ in run.waiting].index(pending)
            if decision == "approve":
                run.approve(which, author=author)
            elif decision == "reject":
                run.reject(str(value or ""), which, author=author)
            elif decision == "reuse":
                run.reuse(which, author=author)
            else:
                run.respond(value, which, author=author)

    run.control.do(do)


def _decision(waiting: dict[str, Any], entry: Data) -> tuple[Any, str, Any]:
    """Take from the steps that wait the one that an entry of `resume` answers, and return it with the decision, and its
    comment or value.
    """
    id, status, payload = entry.get("interruptId"), entry.get("status"), entry.get("payload")
    if not isinstance(id, str) or id not in waiting or status not in ("resolved", "cancelled"):
        raise UsageError(f"{id!r:.100} is not an interrupt of this run that can be resolved or cancelled; see waiting")
    pending, verdict = waiting.pop(id)
    able = choices(pending, verdict)
    if status == "cancelled":
        payload = {"decision": "reject"}
    if isinstance(payload, bool):
        payload = {"decision": "approve" if payload else "reject"}
    if "approve" not in able and not isinstance(payload, dict):
        payload = {"decision": "respond", "value": payload}
    decision = payload.get("decision") if isinstance(payload, dict) else None
    if decision not in able:
        raise UsageError(
            f"the interrupt {id} is answered with a decision, one of {', '.join(able)}, not {decision!r:.50}"
        )
    assert isinstance(payload, dict)
    return pending, str(decision), to_json(payload.get("comment" if decision == "reject" else "value"))
