"""The host performs steps: it knows the models, the tools and the dialects, and says which foreign code to call.

It calls nothing itself: each job is a generator that yields an `Effect` (a call into foreign code) and is sent what came
back. The two drivers in drive.py carry effects out, one blocking, one awaiting.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from agentkit.core.messages import Call, Message, Reply
from agentkit.core.schema import Shape
from agentkit.core.secrets import mask, mask_json
from agentkit.core.steps import Act, Step, Think
from agentkit.core.usage import Usage
from agentkit.errors import ArgumentsError, ContextOverflow, Control, ModelError, ToolTimeout
from agentkit.gates import deadline
from agentkit.journal.entries import Entry, Note, Row
from agentkit.models import dialects, structured_output
from agentkit.models.base import Abilities, Model, Request
from agentkit.models.dialects.base import Dialect
from agentkit.models.overflow import shortened
from agentkit.models.reply_conversion import reply_of
from agentkit.tools import observe
from agentkit.tools.sources import ToolSet


@dataclass(slots=True, eq=False)
class Effect:
    """A call into foreign code: `function(*args, **kwargs)`, to be given up after `timeout` seconds (None: never).

    `entry` is what a model's reply will become; what it says on the way is told under the place of it.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    timeout: float | None
    model: bool
    entry: Entry | None = None


Job = Generator[Effect, Any, Any]

_COUNTED = tuple(one.name for one in fields(Usage))


@dataclass(slots=True)
class Host:
    """What steps are performed with; every field may be changed between two steps.

    `roles` names other models for some roles ("evaluate", "plan" …) and for what a step's `tags["model"]` may say ("fast");
    `dialect` None chooses by the model's abilities. `failed_usage` is what calls have used that failed for good, by frame path.
    """

    model: Model
    tools: ToolSet
    dialect: Dialect | None = None
    roles: dict[str, Model] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    model_timeout: float | None = 600.0
    failed_usage: dict[str, Usage] = field(default_factory=dict)
    _chosen: dict[int, Dialect] = field(default_factory=dict)

    def perform(self, step: Step, entry: Entry) -> Job:
        """Give the job that performs a Think or an Act of one call; it fills in what `entry` says of the author."""
        if type(step) is Think:
            job = self._think(step, entry)
        else:
            assert type(step) is Act
            job = self._act(step.calls[0], entry)
        if step.tags and (limit := deadline.limit_of(step)):
            return deadline.within(job, step, limit)
        return job

    def dialect_for(self, model: Model, shape: Shape | None = None) -> Dialect:
        """Give the dialect in which this model is asked: for data of a shape the best level that it can."""
        if shape is not None:
            return structured_output.dialect_for(shape, getattr(model, "abilities", Abilities()), self.dialect)
        if self.dialect is not None:
            return self.dialect
        if id(model) not in self._chosen:
            self._chosen[id(model)] = dialects.choose(getattr(model, "abilities", Abilities()))
        return self._chosen[id(model)]

    def _model_for(self, step: Think) -> Model:
        """Give the model that a step wishes for by its tags, or that its role has, or the run's own."""
        if not self.roles:
            return self.model
        return self.roles.get(step.tags.get("model", "")) or self.roles.get(step.role, self.model)

    def sent(self, step: Any, spoken: str = "", author: str = "") -> dict[str, Any]:
        """Rebuild the request of a model call: the JSON as it is handed to the socket, where that model is still here."""
        model = self._model_for(step)
        dialect = structured_output.dialect_named(spoken, step.shape) if spoken else self.dialect_for(model, step.shape)
        request = structured_output.request_for(step, dialect, self.settings)
        asked = [one for one in getattr(model, "models", [model]) if author in ("", name_of(one))]
        write = getattr(asked[0], "body", None) if asked else None
        return write(request) if write else request.to_dict()

    def _think(self, step: Think, entry: Entry) -> Job:
        model = self._model_for(step)
        dialect = self.dialect_for(model, step.shape)
        request = structured_output.request_for(step, dialect, self.settings)
        try:
            output = yield from self._ask(step, entry, model, request)
        except Exception as error:
            used = error.usage if isinstance(error, ModelError) and _counts(error.usage) else None
            if not (finish := structured_output.finish_after_failure(step, dialect, error)):
                if used is not None:
                    self.failed_usage[entry.path] = self.failed_usage.get(entry.path, Usage()) + used
                raise
            entry.author, entry.model, entry.dialect, entry.usage = "host", name_of(model), dialect.name, used
            return structured_output.failed_reply(error, mask(str(error)), dialect, finish)
        reply = reply_of(output)
        if wrong := _wrong(reply):
            raise TypeError(wrong)
        entry.author, entry.model, entry.dialect = "model", reply.model or name_of(model), dialect.name
        entry.usage = reply.usage
        return dialect.read(_masked_reply(reply), step.tools)

    def restore(self, rows: Iterable[Row], run: str) -> None:
        """Take over from a journal what calls have used that failed for good: the last error says it all."""
        for row in rows:
            if isinstance(row, Note) and row.kind == "error" and row.run == run:
                self.failed_usage = {path: Usage(**used) for path, used in row.data.get("failed_usage", {}).items()}

    def _ask(self, step: Think, entry: Entry, model: Model, request: Request) -> Job:
        """Ask a model; a chat that it cannot read whole is shortened, once."""
        seconds = None if getattr(model, "limits_itself", False) else self.model_timeout
        try:
            return (yield Effect(model, (request,), {}, seconds, True, entry))
        except ContextOverflow:
            chat, entry.reason = shortened(step.chat)
            if chat is None:
                raise
            entry.performed = replace(step, chat=chat)
            return (yield Effect(model, (replace(request, chat=chat),), {}, seconds, True, entry))

    def _act(self, call: Call, entry: Entry) -> Job:
        entry.author = "host"
        tool = self.tools.find(call.name)
        if tool is None:
            return (observe.not_found(call, [tool.name for tool in self.tools.tools]),)
        try:
            arguments, coerced = tool.bind(call)
        except ArgumentsError as error:
            return (observe.invalid(call, error),)
        if coerced:
            entry.reason = "; ".join(coerced)
        entry.author = "tool"
        try:
            value = yield Effect(tool.function, (), arguments, tool.timeout, False)
        except ToolTimeout:
            return (observe.timed_out(call, tool.timeout),)
        except (Control, KeyboardInterrupt):
            raise
        except BaseException as error:
            return (_masked(observe.failure(call, error)),)
        return (_masked(observe.observation(call, value)),)


def name_of(model: Any) -> str:
    """Name a model: its own name, else its function's."""
    return getattr(model, "name", None) or getattr(model, "__name__", None) or type(model).__name__


def _wrong(reply: Reply) -> str:
    """Say what is wrong with what a model gave, before anything of it is recorded."""
    if type(reply.text) is not str or type(reply.reasoning) is not str:
        return f"the text and the reasoning of a Reply are texts, not {reply.text!r:.100} and {reply.reasoning!r:.100}"
    if reply.usage is not None and not _counts(reply.usage):
        return f"the usage of a Reply is a Usage of numbers, not {reply.usage!r:.200}"
    fits = type(reply.calls) is tuple
    for call in reply.calls if fits else ():
        fits = fits and type(call) is Call and type(call.arguments) is dict
    return (
        ""
        if fits
        else f"the calls of a Reply are a tuple of Calls with a dict of arguments each, not {reply.calls!r:.200}"
    )


def _counts(usage: Any) -> bool:
    return type(usage) is Usage and all(isinstance(getattr(usage, name), int | float) for name in _COUNTED)


def _masked(message: Message) -> Message:
    text = mask(message.text)
    if text is not message.text or message.value is not None:
        return replace(message, text=text, value=mask_json(message.value))
    return message


def _masked_reply(reply: Reply) -> Reply:
    text, reasoning = mask(reply.text), mask(reply.reasoning) if reply.reasoning else ""
    if reply.opaque is not None and mask_json(reply.opaque) is not reply.opaque:
        reply = replace(reply, opaque=None)  # what is signed cannot be masked, and what holds a secret is not kept
    if text is reply.text and reasoning is reply.reasoning:
        return reply
    return replace(reply, text=text, reasoning=reasoning)
