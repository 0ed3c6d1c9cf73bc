"""Spans of runs: a run contains its turns, and a turn its model call and the tool calls that follow from it.

A turn begins with a model call in a frame of the engine, and ends when the next one of this frame begins; the turns of
a nested engine are inside that of the engine that started it. The span of a run ends whenever the run rests, because a
paused run may never go on; when it does, in whatever process, its next span is linked to the one before. What tools and
HTTP clients open is inside the span of their call, because the call is made in the context of its span.
"""

from __future__ import annotations

import logging
import re
import time
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from opentelemetry import context as contexts
from opentelemetry.trace import (
    Link,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
    Tracer,
    get_current_span,
    get_tracer,
    set_span_in_context,
)

from agentkit.core.log import logger
from agentkit.core.messages import Message, Reply
from agentkit.core.secrets import mask
from agentkit.core.steps import Act, Think
from agentkit.core.text import error_text, one_line
from agentkit.core.usage import Usage
from agentkit.inert import for_terminal, inert
from agentkit.runtime.in_flight import InFlight, Outcome
from agentkit.runtime.scheduler import Scheduler
from agentkit.runtime.within import Surrounding
from agentkit.telemetry import content, names
from agentkit.telemetry.asked import asked_by, asked_model, called_tool, error_type, tool_name
from agentkit.telemetry.metrics import Instruments, RunMetrics
from agentkit.trace.events import Event

_STEP_OF_PATH = re.compile(r"\.\d+|\[[^\]]*\]")
_TRACEPARENT = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_MAX_DESCRIPTION = 200
_MAX_KEPT_EVENTS = 100

Path = tuple[str, ...]
"""The frames and lanes that lead to a step, outermost first."""


class Tracing:
    """Spans and metrics of runs, for the option `within` of an agent; `agentkit.telemetry.trace` makes it."""

    def __init__(self, name: str, with_content: bool, tracer_provider: Any, meter_provider: Any) -> None:
        self.name = name
        self.with_content = with_content
        self.tracer: Tracer = get_tracer(names.SCOPE, _version(), tracer_provider)
        self.instruments = Instruments(meter_provider, _version())
        logger.addFilter(add_ids)

    def __call__(self, scheduler: Scheduler, spec: dict[str, Any]) -> tuple[Surrounding, ...]:
        """Return what surrounds a run."""
        return RunSpans(self, scheduler, spec), RunMetrics(self.instruments, scheduler, self.name)

    @inert
    def __repr__(self) -> str:
        return f"trace(name={self.name!r}, content={self.with_content})"


def add_ids(record: logging.LogRecord) -> bool:
    """Add the ids of the current span to a log record, as `trace_id` and `span_id`; "" if there is none."""
    span = get_current_span().get_span_context()
    record.trace_id = f"{span.trace_id:032x}" if span.is_valid else ""
    record.span_id = f"{span.span_id:016x}" if span.is_valid else ""
    return True


class Turn:
    """The span of a turn, the turn that it is in, if any, and when the last of its calls ended, in nanoseconds."""

    __slots__ = ("ended", "outer", "span")

    def __init__(self, span: Span, outer: Turn | None) -> None:
        self.span = span
        self.outer = outer
        self.ended = 0

    def end(self) -> None:
        """End the turn with the last of its calls, and not with the next turn, before which a person may think."""
        self.span.end(self.ended or None)


class OpenCall:
    """The span of a model call or a tool call, its turn, and when its first chunk came, if it has come."""

    __slots__ = ("begun", "first_chunk", "span", "turn")

    def __init__(self, span: Span, turn: Turn) -> None:
        self.span = span
        self.turn = turn
        self.begun = time.monotonic()
        self.first_chunk = 0.0


class RunSpans:
    """The spans of one run. Without a provider that makes spans, nothing is done."""

    def __init__(self, tracing: Tracing, scheduler: Scheduler, spec: dict[str, Any]) -> None:
        self._tracer, self._name, self._with_content = tracing.tracer, tracing.name, tracing.with_content
        self._scheduler, self._performer, self._trace = scheduler, scheduler.performer, scheduler.trace
        self._engine = str(spec["engine"]).rpartition(":")[2]
        self._conversation = str((spec.get("session") or {}).get("id") or self._trace.run)
        self._root: Span | None = None
        self._turns: dict[Path, Turn] = {}
        self._at: dict[tuple[str, int], OpenCall] = {}
        self._calls: dict[InFlight, OpenCall] = {}
        self._used = Usage()
        self._listens = False
        self._kept_events: list[tuple[str, dict[str, Any]]] = []

    # -- the run -------------------------------------------------------------------------------------------------------

    def begins(self) -> None:
        """Begin the span of the run, unless the run is over."""
        if self._trace.stepper.answer is not None:
            return
        before = _linked(self._trace.traced)
        agent = {names.AGENT: self._name} if self._name else {}
        model = asked_model(self._performer.model)
        root = self._tracer.start_span(
            f"{names.INVOKE_AGENT} {self._name}".strip(),
            kind=SpanKind.INTERNAL,
            attributes={
                names.OPERATION: names.INVOKE_AGENT,
                names.PROVIDER: model.provider,
                names.REQUEST_MODEL: model.model,
                **agent,
                names.CONVERSATION: self._conversation,
                names.RUN: self._trace.run,
                names.ENGINE: self._engine,
            },
            links=[Link(before, {names.LINK: "previous"})] if before is not None else [],
        )
        if not root.get_span_context().is_valid:
            return
        self._root, self._used = root, Usage()
        contexts.attach(set_span_in_context(root))
        if root.is_recording():
            self._listen()
            for name, attributes in self._kept_events:
                root.add_event(name, attributes)
            self._kept_events.clear()
            self._note(root.get_span_context())

    def _note(self, span: SpanContext) -> None:
        """Record the span, so that the next one is linked to it, even in another process."""
        trace, at = self._trace, time.time()
        data = {"traceparent": f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"}
        trace.unsaved.attempt(lambda: trace.note("traced", data, at=at, sync=False))

    def rests(self) -> None:
        """End the span of the run, and all that are in it."""
        if (root := self._root) is None:
            return
        self._root = None
        for call in self._calls.values():
            _failed(call.span, names.CANCELLED, "")
            call.span.end()
        self._calls.clear()
        self._at.clear()
        self._end_turns(())
        state, used = self._scheduler.state, self._used
        over = self._trace.answer is not None
        status = "done" if over else "waiting" if state.waiting else "failed" if state.error else "paused"
        root.set_attributes({names.STATUS: "stopped" if state.interrupted and status == "paused" else status})
        root.set_attributes({names.INPUT_TOKENS: used.input, names.OUTPUT_TOKENS: used.output, names.COST: used.cost})
        if status == "failed" and state.error is not None:
            _failed(root, type(state.error).__name__, error_text(state.error))
        root.end()

    # -- its steps -----------------------------------------------------------------------------------------------------

    def step_begins(self, flight: InFlight) -> None:
        """Begin the span of a model call or a tool call, in its turn."""
        if self._root is None:
            return
        step, turn = flight.step, self._turn_of(flight)
        name, kind, attributes = self._of_model(flight) if type(step) is Think else self._of_tool(flight)
        parent = set_span_in_context(turn.span)
        span = self._tracer.start_span(name, parent, kind, {**attributes, names.CONVERSATION: self._conversation})
        call = OpenCall(span, turn)
        self._calls[flight] = self._at[flight.pending.path, flight.pending.index] = call
        contexts.attach(set_span_in_context(span))

    def step_ends(self, flight: InFlight, outcome: Outcome) -> None:
        """End the span of a model call or a tool call."""
        call = self._calls.pop(flight, None)
        if call is None:
            return
        self._at.pop((flight.pending.path, flight.pending.index), None)
        span, (came_back, value) = call.span, outcome
        used = flight.entry.usage if came_back else flight.used
        if used is not None:
            self._used += used
        if span.is_recording():
            if failure := error_type(flight, outcome):
                text = error_text(value) if isinstance(value, BaseException) else getattr(value, "text", "")
                _failed(span, failure, text)
            if type(flight.step) is Think:
                span.set_attributes(self._after_model(flight, call, value, used))
            elif self._with_content and isinstance(value, Message):
                span.set_attribute(names.RESULT, content.result(value))
        span.end()
        now = time.time_ns()
        turn: Turn | None = call.turn
        while turn is not None:
            turn.ended, turn = now, turn.outer

    def _of_model(self, flight: InFlight) -> tuple[str, SpanKind, dict[str, Any]]:
        step: Any = flight.step
        asked = asked_by(self._performer, step)
        attributes: dict[str, Any] = {
            names.OPERATION: names.CHAT,
            names.PROVIDER: asked.provider,
            names.REQUEST_MODEL: asked.model,
            names.REQUEST_STREAM: asked.streams,
        }
        temperature = self._performer.temperature_for(self._performer.model_for(step))
        if temperature is not None:
            attributes[names.REQUEST_TEMPERATURE] = temperature
        if asked.host:
            attributes[names.SERVER_ADDRESS] = asked.host
            if asked.port:
                attributes[names.SERVER_PORT] = asked.port
        if self._with_content:
            attributes[names.INPUT_MESSAGES] = content.messages(step.chat)
            if told := content.instructions(step.chat):
                attributes[names.INSTRUCTIONS] = told
            if step.tools:
                attributes[names.TOOL_DEFINITIONS] = content.tools(step.tools)
        return f"{names.CHAT} {asked.model}", SpanKind.CLIENT if asked.host else SpanKind.INTERNAL, attributes

    def _after_model(self, flight: InFlight, call: OpenCall, value: Any, used: Usage | None) -> dict[str, Any]:
        attributes: dict[str, Any] = {}
        if call.first_chunk:
            attributes[names.FIRST_CHUNK] = call.first_chunk - call.begun
        if used is not None:
            attributes |= {names.INPUT_TOKENS: used.input, names.OUTPUT_TOKENS: used.output, names.COST: used.cost}
            if used.cached:
                attributes[names.CACHED_TOKENS] = used.cached
            if used.reasoning:
                attributes[names.REASONING_TOKENS] = used.reasoning
        if isinstance(value, Reply):
            if value.model:
                attributes[names.RESPONSE_MODEL] = value.model
            if value.finish:
                attributes[names.FINISH_REASONS] = [value.finish]
            if self._with_content:
                attributes[names.OUTPUT_MESSAGES] = content.reply(value)
        return attributes

    def _of_tool(self, flight: InFlight) -> tuple[str, SpanKind, dict[str, Any]]:
        step: Any = flight.step
        assert type(step) is Act
        name, tool = tool_name(self._performer, step), called_tool(self._performer, step)
        attributes: dict[str, Any] = {
            names.OPERATION: names.EXECUTE_TOOL,
            names.TOOL: name,
            names.TOOL_CALL: for_terminal(step.call.id),
            names.TOOL_TYPE: "function",
        }
        if tool is not None and tool.description:
            attributes[names.TOOL_DESCRIPTION] = tool.description.partition("\n")[0]
        if self._with_content:
            attributes[names.ARGUMENTS] = content.to_text(step.call.arguments)
        return f"{names.EXECUTE_TOOL} {name}", SpanKind.INTERNAL, attributes

    # -- turns ---------------------------------------------------------------------------------------------------------

    def _turn_of(self, flight: InFlight) -> Turn:
        """Return the turn of a step: a model call begins one, and a tool call belongs to that of its frame."""
        path: Path = tuple(_STEP_OF_PATH.findall(flight.pending.path))
        is_thought = type(flight.step) is Think
        inner = path if is_thought else (*path, "")
        outer = next((turn for n in range(len(inner) - 1, -1, -1) if (turn := self._turns.get(inner[:n]))), None)
        if not is_thought:
            if outer is not None:
                return outer
            while path and path[-1].startswith("["):  # parallel calls belong to the frame that asked for them
                path = path[:-1]
        self._end_turns(path)
        parent = self._root if outer is None else outer.span
        assert parent is not None
        step, pending = flight.step, flight.pending
        attributes = {names.ROLE: step.role, names.PATH: pending.path}
        tags = {f"{names.TAG}{name}": _plain(value) for name, value in step.tags.items()}
        span = self._tracer.start_span(names.TURN, set_span_in_context(parent), attributes={**tags, **attributes})
        turn = self._turns[path] = Turn(span, outer)
        return turn

    def _end_turns(self, path: Path) -> None:
        """End the turns of a frame and of all that is inside it, the innermost first."""
        ended = [other for other in self._turns if other[: len(path)] == path]
        for other in sorted(ended, key=len, reverse=True):
            self._turns.pop(other).end()

    # -- events --------------------------------------------------------------------------------------------------------

    def _listen(self) -> None:
        if not self._listens:
            self._listens = True
            self._scheduler.listeners.add(self._on_event)

    def _on_event(self, event: Event) -> None:
        """Add what people and guards do to the span of the run; what they do while it rests, to the next one."""
        data = event.data
        if event.kind == "model_chunk":
            call = self._at.get((data["path"], data["index"]))  # in the thread that reads the reply, without the lock
            if call is not None and not call.first_chunk:
                call.first_chunk = time.monotonic()
        elif (shown := names.EVENTS.get(event.kind)) is not None and event.run == self._trace.run:
            values = {key: data[key] for key in shown if isinstance(data.get(key), str | int | float)}
            about = f"{names.EVENT}{event.kind}", {names.EVENT + key: value for key, value in values.items()}
            if self._root is not None:
                self._root.add_event(*about)
            elif len(self._kept_events) < _MAX_KEPT_EVENTS:
                self._kept_events.append(about)


def _failed(span: Span, kind: str, text: str) -> None:
    """Mark a span as failed; the text is cut, and secrets in it are masked."""
    span.set_attribute(names.ERROR_TYPE, kind)
    span.set_status(Status(StatusCode.ERROR, one_line(for_terminal(mask(text)), _MAX_DESCRIPTION)))


def _plain(value: Any) -> str | int | float:
    """Return the value of a tag as that of an attribute."""
    return value if isinstance(value, str | int | float) else one_line(for_terminal(mask(str(value))), 100)


def _linked(traceparent: str) -> SpanContext | None:
    """Return the span that a recording names; None if it names none."""
    found = _TRACEPARENT.fullmatch(traceparent)
    if found is None:
        return None
    trace_id, span_id, flags = (int(part, 16) for part in found.groups())
    span = SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(flags))
    return span if span.is_valid else None


def _version() -> str:
    """Return the version of agentkit, if it is installed."""
    try:
        return version("jupyter-agentkit")
    except PackageNotFoundError:
        return ""
