"""The events of a run as lines in a terminal: thoughts as they are written, calls, results, and the answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentkit.core.messages import Call
from agentkit.core.text import call_text, counted, one_line
from agentkit.terminal.screen import Screen
from agentkit.trace.events import Event
from agentkit.trace.progress import KINDS as PROGRESS

Data = dict[str, Any]

ORDINARY = ("thought", "action", "answer", "")
"""Roles that are not named, because nearly every engine has them."""


class Printer:
    """A printer of events, in order.

    The answer is written to `answers`; if both are the same terminal, it is not repeated after a thought that ended
    with it.
    """

    def __init__(self, screen: Screen, answers: Screen) -> None:
        self._screen = screen
        self._answers = answers
        self._streaming: tuple[str, int] | None = None
        self._streamed = ""
        self._is_reasoning = False
        self._calls = 0

    def take(self, event: Event) -> None:
        """Print an event; nothing is printed about those that a person need not know."""
        write = _WRITERS.get(event.kind)
        if write is not None:
            write(self, event.data)
        elif event.kind in PROGRESS:
            what = ", ".join(f"{name} {_value(value)}" for name, value in event.data.items())
            self._screen.line(f"- {event.kind.replace('_', ' ')}: {one_line(what)}", dim=True)

    def _started(self, data: Data) -> None:
        engine = str(data["engine"]).rpartition(":")[2]
        self._screen.line(f"{engine} ({data['model']})", dim=True)
        for message in data["task"]:
            if message["role"] == "user":
                self._screen.line("task")
                self._block(message["text"])

    def _chunk(self, data: Data) -> None:
        position = data["path"], data["index"]
        if self._streaming not in (None, position):  # of two replies at once, the second is shown when it is complete
            return
        if self._streaming is None:
            self._streaming, self._streamed, self._is_reasoning = position, "", False
        if data["again"]:
            self._screen.line(f"! again from the beginning: {one_line(data['again'])}")
            self._streamed = ""
        self._text(data["reasoning"], dim=True)
        self._text(data["text"])
        self._streamed += data["text"]

    def _text(self, text: str, *, dim: bool = False) -> None:
        if text and self._is_reasoning and not dim:
            self._screen.end_line()
        if text:
            self._is_reasoning = dim
        self._screen.write(text, dim=dim)

    def _thought(self, data: Data) -> None:
        role = data["role"] if data["role"] not in ORDINARY else ""
        if self._streaming == (data["path"], data["index"]):
            self._streaming = None
            self._screen.end_line()
            return
        if role:
            self._screen.line(f"[{role}]", dim=True)
        self._block(data["reasoning"], dim=True)
        self._block(data["text"])
        if self._streaming is None:
            self._streamed = data["text"]

    def _block(self, text: str, *, dim: bool = False) -> None:
        if text.strip():
            self._screen.end_line()
            self._screen.write(text.strip("\n"), dim=dim)
            self._screen.end_line()

    def _call(self, data: Data) -> None:
        self._calls += 1
        text = one_line(call_text(Call(data["name"], data["arguments"])))
        answered = "" if data["performed"] else " [not called: what follows was answered in its place]"
        self._screen.line(f"{self._screen.marks.call} {text}{answered}", dim=True)

    def _result(self, data: Data) -> None:
        self._calls -= 1
        mark = self._screen.marks.result if data["ok"] else self._screen.marks.error
        name = f"{data['name']}: " if self._calls > 0 else ""  # others are still running
        self._screen.line(f"{mark} {name}{one_line(data['text'])}", dim=True)
        self._calls = max(0, self._calls)

    def _asked(self, data: Data) -> None:
        self._screen.line(f"? {one_line(data['question'])}")
        self._block(str(data["text"]))

    def _injected(self, data: Data) -> None:
        self._screen.line(f"+ {'injected' if not data.get('by') else data['by']}: {one_line(data['text'])}", dim=True)

    def _edited(self, data: Data) -> None:
        why = f": {one_line(data['reason'])}" if data["reason"] else ""
        self._screen.line(f"~ edited by {data['author']}{why}", dim=True)

    def _moved(self, data: Data) -> None:
        if data["why"] == "edit":  # the edit itself was told
            return
        self._screen.line(f"~ {data['why']}{': ' + one_line(data['text']) if data.get('text') else ''}", dim=True)

    def _error(self, data: Data) -> None:
        self._streaming = None
        self._screen.line(f"{self._screen.marks.error} {data['type']}: {one_line(data['text'], 1000)}")

    def _abandoned(self, data: Data) -> None:
        self._streaming = None
        self._calls = 0
        self._screen.line(f"! {data.get('name') or 'the model'} was abandoned: {one_line(data['why'])}")

    def _warning(self, data: Data) -> None:
        self._screen.line(f"! {one_line(data['text'], 1000)}")

    def _tripped(self, data: Data) -> None:
        self._screen.line(f"! {data['guardrail']}: {one_line(data['why'])}")

    def _completed(self, data: Data) -> None:
        self._screen.end_line()
        answer = data["answer"]
        if self._answers is self._screen and answer.strip() and self._streamed.strip().endswith(answer.strip()):
            return
        if self._answers.is_terminal:
            self._answers.write(answer)
            self._answers.end_line()
        else:
            self._answers.lines(answer)

    def rest(self) -> None:
        """End the line that is being written: the run rests."""
        self._streaming, self._calls = None, 0
        self._screen.end_line()


_WRITERS: dict[str, Callable[[Printer, Data], None]] = {
    "started": Printer._started,
    "model_chunk": Printer._chunk,
    "thought": Printer._thought,
    "tool_call": Printer._call,
    "tool_result": Printer._result,
    "asked": Printer._asked,
    "injected": Printer._injected,
    "edited": Printer._edited,
    "moved": Printer._moved,
    "error": Printer._error,
    "abandoned": Printer._abandoned,
    "warning": Printer._warning,
    "budget_warning": Printer._warning,
    "budget_exceeded": Printer._warning,
    "diverged": Printer._warning,
    "tripped": Printer._tripped,
    "completed": Printer._completed,
}


def _value(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else str(value)


def spent_line(model_calls: int, tool_calls: int, tokens: int, cost: float | None) -> str:
    """Return what a run has spent, in one line."""
    parts = [counted(model_calls, "model call"), counted(tool_calls, "tool call")]
    parts += [counted(tokens, "token")] if tokens else []
    return ", ".join(parts) + (f", ${cost:.4f}" if cost else "")
