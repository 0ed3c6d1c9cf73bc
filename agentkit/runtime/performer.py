"""How a step is performed: which model is asked in which dialect, which tool is called, and how the result is read."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from agentkit.core import interrupts
from agentkit.core.messages import Call, Chat, Message, Reply
from agentkit.core.schema import Shape
from agentkit.core.secrets import mask, mask_json
from agentkit.core.steps import Act, End, Think
from agentkit.core.usage import Usage
from agentkit.errors import (
    ArgumentsError,
    ContextOverflow,
    Control,
    HookRefused,
    ModelError,
    ModelTimeout,
    Stopped,
    ToolTimeout,
    UsageError,
)
from agentkit.gates.deadline import out_of_time
from agentkit.hooks.calling import decide_after, decide_before
from agentkit.journal.entries import Entry
from agentkit.models import dialects, structured_output
from agentkit.models.base import MAX_TEMPERATURE, Abilities, Model, Request
from agentkit.models.context_overflow import left_over, shortened
from agentkit.models.dialects.base import Dialect
from agentkit.models.reply_conversion import is_usage, reply_of
from agentkit.runtime.calls import call_model, call_tool, late_error, tool_error
from agentkit.runtime.in_flight import InFlight, Outcome
from agentkit.runtime.listeners import Listeners
from agentkit.tools import observations
from agentkit.tools.toolset import ToolSet

TIME_IS_UP = "the time budget is used up"
"""Why a model call was abandoned for which a budget has no more time."""


class Performer:
    """The model, tools and settings with which steps are performed; each attribute may be changed between two steps.

    `roles` contains other models for some roles ("evaluate", "plan" …), and for the names in `tags["model"]` of a step
    ("fast"). If `dialect` is None, the abilities of the model decide. `temperature` is set in the requests to models
    that take one; None leaves it to the settings and the model. `output` is the shape of the run's answer.
    """

    def __init__(
        self,
        model: Model,
        tools: ToolSet,
        dialect: Dialect | None = None,
        roles: dict[str, Model] | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.tools = tools
        self.dialect = dialect
        self.roles = roles or {}
        self.settings = settings or {}
        self.temperature: float | None = None
        self.output: Shape | None = None
        self.model_timeout: float | None = 600.0
        self._chosen: dict[int, Dialect] = {}

    def perform(self, flight: InFlight, listeners: Listeners) -> Outcome:
        """Perform a step in the current thread, and return its outcome. Raises only an interrupt by a person."""
        try:
            if flight.before:
                return True, decide_before(flight.before, flight.step, flight.task, lambda: flight.cancelled)
            is_call = type(flight.step) is Act
            result = self._act(flight.step.call, flight) if is_call else self._think(flight, listeners)  # type: ignore
            return True, self._after(flight, result) if flight.after else result
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and interrupts.pressed(error):
                raise
            return False, error

    def _after(self, flight: InFlight, result: Any) -> Any:
        """Return the result of a step as the hooks after it leave it. Raises `HookRefused` for a reply."""
        entry = flight.entry
        if flight.given_up or entry.author not in ("tool", "model"):
            return result  # nothing was called, and the text is agentkit's own
        ruling = decide_after(flight.after, flight.step, result, self.read, lambda: flight.cancelled)
        flight.ruling, refusal = ruling, ruling.refusal
        entry.reason = "; ".join(filter(None, (entry.reason, ruling.reason)))
        if refusal is None or type(flight.step) is Act:
            return ruling.result
        if refusal.kind == "finish":
            return End(refusal.answer, ruling.ended)
        error = HookRefused(ruling.refused)
        error.usage = entry.usage
        raise error

    def late(self, flight: InFlight) -> Outcome:
        """Return the outcome of a step whose call took too long."""
        step = flight.step
        assert flight.limit is not None
        if type(step) is Act:
            return True, self._timed_out(step.call, flight)
        assert type(step) is Think
        if _is_out_of_time(flight):
            return self._out_of_time(step, flight)
        model = self.model_for(step)
        try:
            dialect = self.dialect_for(model, step.shape)
            return True, self._failed(late_error(flight, ModelTimeout), flight, step, model, dialect)
        except Exception as error:
            return False, error

    def _out_of_time(self, step: Think, flight: InFlight) -> Outcome:
        """Return the outcome of a model call for which there is no more time.

        The budget's gate decides what follows if the time of a budget is used up, so the step stays pending.
        """
        assert flight.seconds is not None
        if flight.in_budget:
            flight.cancelled = TIME_IS_UP
            return False, Stopped(TIME_IS_UP)
        flight.entry.author = "host"
        return True, out_of_time(step, flight.seconds)

    # -- models --------------------------------------------------------------------------------------------------------

    def dialect_for(self, model: Model, shape: Shape | None = None) -> Dialect:
        """Return the dialect in which a model is asked; for data, the best level that the model supports."""
        if shape is not None:
            return structured_output.dialect_for(shape, getattr(model, "abilities", Abilities()), self.dialect)
        if self.dialect is not None:
            return self.dialect
        if id(model) not in self._chosen:
            self._chosen[id(model)] = dialects.choose(getattr(model, "abilities", Abilities()))
        return self._chosen[id(model)]

    def read(self, step: Think, text: str) -> Reply:
        """Return what the dialect of a step reads in a text that was written in the place of its model."""
        return self.dialect_for(self.model_for(step), step.shape).read(Reply(text, finish="stop"), step.tools)

    def model_for(self, step: Think) -> Model:
        """Return the model that a step names in its tags, or the model of its role, or the run's own model."""
        if not self.roles:
            return self.model
        return self.roles.get(step.tags.get("model", "")) or self.roles.get(step.role, self.model)

    def temperature_for(self, model: Model) -> float | None:
        """Return the temperature that is set in the requests to a model; None if none is, or if it takes none."""
        return self.temperature if getattr(model, "abilities", Abilities()).temperature else None

    def checked_temperature(self, value: Any) -> float | None:
        """Return a temperature, or None.

        Raises `UsageError` if it is not a number from 0 to 2, or if no model takes a temperature.
        """
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= MAX_TEMPERATURE:
            raise UsageError(
                f"a temperature must be a number from 0 to {MAX_TEMPERATURE:g}, or None for the model's own, "
                f"not {value!r:.100}"
            )
        models = [self.model, *self.roles.values()]
        if not any(getattr(model, "abilities", Abilities()).temperature for model in models):
            raise UsageError(
                f"{name_of(self.model)} does not declare that it takes a temperature; if it does, give it the ability, "
                "as in abilities={'temperature': True}, or use settings={'temperature': …} of the agent"
            )
        return float(value)

    def sent(self, step: Any, path: str, entry: Entry | None = None) -> dict[str, Any]:
        """Return the request of a model call: the JSON that is sent, if the model is still available to write it.

        With an entry, it is the request of that recorded call; without one, of a call that would be made now.
        """
        dialect_name, author = (entry.dialect, entry.model) if entry else ("", "")
        model = self.model_for(step)
        dialect = (
            structured_output.dialect_named(dialect_name, step.shape, getattr(model, "abilities", Abilities()))
            if dialect_name
            else self.dialect_for(model, step.shape)
        )
        temperature = entry.temperature if entry else self.temperature_for(model)
        request = self._request(step, path, model, dialect, temperature)
        candidates = [other for other in getattr(model, "models", [model]) if author in ("", name_of(other))]
        write = getattr(candidates[0], "body", None) if candidates else None
        return write(request) if write else request.to_dict()

    def _request(self, step: Think, path: str, model: Model, dialect: Dialect, temperature: float | None) -> Request:
        """Return the request of a step; only the outermost engine, whose path is "", writes the answer of the run."""
        abilities = getattr(model, "abilities", Abilities())
        answer = self.output if path == "" else None
        settings = self.settings if temperature is None else {**self.settings, "temperature": temperature}
        return structured_output.request_for(step, dialect, settings, answer, abilities)

    def _think(self, flight: InFlight, listeners: Listeners) -> Reply:
        step, entry = flight.step, flight.entry
        assert type(step) is Think
        model = self.model_for(step)
        entry.model = name_of(model)
        dialect = self.dialect_for(model, step.shape)
        entry.temperature = self.temperature_for(model)
        request = self._request(step, flight.entry.path, model, dialect, entry.temperature)
        try:
            output = self._ask(step, flight, model, request, listeners)
        except Exception as error:
            if _is_out_of_time(flight) and isinstance(error, TimeoutError):
                came_back, value = self._out_of_time(step, flight)
                if came_back:
                    return value
                raise value from None
            return self._failed(error, flight, step, model, dialect)
        reply = reply_of(output)
        entry.author, entry.dialect, entry.usage = "model", dialect.name, reply.usage
        entry.model = reply.model or entry.model
        return dialect.read(_masked_reply(reply), step.tools)

    def _ask(self, step: Think, flight: InFlight, model: Model, request: Request, listeners: Listeners) -> Any:
        """Ask a model; a chat that is too long for it is shortened until it fits, or until nothing more can go."""
        limit = None if getattr(model, "limits_itself", False) else self.model_timeout
        sent: Chat | None = None
        while True:
            try:
                return call_model(model, request, flight, limit, listeners)
            except ContextOverflow as error:
                shorter, reason = shortened(step.chat, sent)
                if shorter is None:
                    if sent is not None:
                        error.args = (f"{str(error).rstrip('.')}. {left_over(sent)}.",)
                    raise
                sent, flight.entry.reason = shorter, reason
            flight.entry.performed, request = replace(step, chat=sent), replace(request, chat=sent)

    def _failed(self, error: Exception, flight: InFlight, step: Think, model: Model, dialect: Dialect) -> Reply:
        """Return a reply that says that the model failed, if the step allows that; otherwise raise the error."""
        if finish := structured_output.finish_after_failure(step, dialect, error):
            entry = flight.entry
            entry.author, entry.model, entry.dialect, entry.usage = (
                "host",
                name_of(model),
                dialect.name,
                used_before(error),
            )
            return structured_output.failed_reply(error, mask(str(error)), dialect, finish)
        raise error

    # -- tools ---------------------------------------------------------------------------------------------------------

    def _act(self, call: Call, flight: InFlight) -> Message:
        entry = flight.entry
        entry.author = "host"
        tool = self.tools.find(call.name)
        if tool is None:
            return observations.not_found(call, [tool.name for tool in self.tools.tools])
        try:
            arguments, coerced = tool.bind(call)
        except ArgumentsError as error:
            return observations.invalid_arguments(call, error)
        if coerced:
            entry.reason = "; ".join(filter(None, (entry.reason, *coerced)))
        entry.author = "tool"
        try:
            value = call_tool(tool.function, arguments, flight, tool.timeout)
        except ToolTimeout:
            flight.is_late = True
            return self._timed_out(call, flight)
        except BaseException as error:
            if isinstance(error, Control) or (isinstance(error, KeyboardInterrupt) and interrupts.pressed(error)):
                raise
            flight.raised = error
            return _masked(observations.raised(call, tool_error(error)))
        return _masked(observations.returned(call, value, tool.artifact))

    def _timed_out(self, call: Call, flight: InFlight) -> Message:
        """Return the observation of a call that its own time limit, or that of a part of the run, has ended."""
        tool = self.tools.find(call.name)
        return observations.timed_out(call, flight.limit, is_pure=tool is not None and tool.effect == "pure")


def _is_out_of_time(flight: InFlight) -> bool:
    """Return whether the time limit of a call is that of a part of the run, or of its budget."""
    return flight.seconds is not None and flight.limit is not None and flight.limit >= flight.seconds


def used_before(error: Any) -> Usage | None:
    """Return what a model had used before it raised an error; None if it did not report it."""
    return error.usage if isinstance(error, ModelError | HookRefused) and is_usage(error.usage) else None


def name_of(model: Any) -> str:
    """Return the name of a model, or of its function or class."""
    return getattr(model, "name", None) or getattr(model, "__name__", None) or type(model).__name__


def _masked(message: Message) -> Message:
    text, value = mask(message.text), mask_json(message.value)
    if text is message.text and value is message.value:
        return message
    return replace(message, text=text, value=value)


def _masked_reply(reply: Reply) -> Reply:
    text, reasoning = mask(reply.text), mask(reply.reasoning) if reply.reasoning else ""
    if reply.opaque is not None and mask_json(reply.opaque) is not reply.opaque:
        reply = replace(reply, opaque=None)  # signed data cannot be masked, and a secret in it must not be stored
    if text is reply.text and reasoning is reply.reasoning:
        return reply
    return replace(reply, text=text, reasoning=reasoning, tokens=())  # a secret in tokens could not be recognized
