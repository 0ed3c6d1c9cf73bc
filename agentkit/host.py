"""The host performs steps: it knows the models, the tools and the dialects, and says which foreign code to call.

It calls nothing itself: each job is a generator that yields an `Effect` (a call into foreign code) and is sent what came
back. The two drivers in drive.py carry effects out, one blocking, one awaiting.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from typing import Any

from agentkit.errors import ArgumentsError, Control, ToolTimeout
from agentkit.journal.base import Entry
from agentkit.messages import Call, Message, Reply
from agentkit.models import dialects
from agentkit.models.base import Abilities, Model, Request
from agentkit.models.dialects.base import Dialect
from agentkit.secrets import mask, mask_json
from agentkit.steps import Act, Step, Think
from agentkit.tools import observe
from agentkit.tools.sources import ToolSet


@dataclass(slots=True, eq=False)
class Effect:
    """A call into foreign code: `function(*args, **kwargs)`, to be given up after `timeout` seconds (None: never)."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    timeout: float | None
    model: bool


Job = Generator[Effect, Any, Any]


@dataclass(slots=True)
class Host:
    """What steps are performed with; every field may be changed between two steps.

    `roles` names other models for some roles ("evaluate", "plan" …); `dialect` None chooses by the model's abilities.
    """

    model: Model
    tools: ToolSet
    dialect: Dialect | None = None
    roles: dict[str, Model] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    model_timeout: float | None = 600.0
    _chosen: dict[int, Dialect] = field(default_factory=dict)

    def perform(self, step: Step, entry: Entry) -> Job:
        """Give the job that performs a Think or an Act of one call; it fills in what `entry` says of the author."""
        if type(step) is Think:
            return self._think(step, entry)
        assert type(step) is Act
        return self._act(step.calls[0], entry)

    def dialect_for(self, model: Model) -> Dialect:
        """Give the dialect in which this model is asked."""
        if self.dialect is not None:
            return self.dialect
        if id(model) not in self._chosen:
            self._chosen[id(model)] = dialects.choose(getattr(model, "abilities", Abilities()))
        return self._chosen[id(model)]

    def _think(self, step: Think, entry: Entry) -> Job:
        model = self.roles.get(step.role, self.model)
        dialect = self.dialect_for(model)
        request = Request(step.chat, dialect, step.tools, step.role, step.choice, self.settings)
        output = yield Effect(model, (request,), {}, self.model_timeout, True)
        reply = Reply(output) if isinstance(output, str) else output
        if not isinstance(reply, Reply):
            raise TypeError(f"a model gives a Reply, a text or chunks, not {type(reply).__name__}")
        entry.author, entry.model, entry.dialect = "model", name_of(model), dialect.name
        entry.usage = reply.usage
        return dialect.read(_masked_reply(reply), step.tools)

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


def _masked(message: Message) -> Message:
    text = mask(message.text)
    if text is not message.text or message.value is not None:
        return replace(message, text=text, value=mask_json(message.value))
    return message


def _masked_reply(reply: Reply) -> Reply:
    text, reasoning = mask(reply.text), mask(reply.reasoning) if reply.reasoning else ""
    if text is reply.text and reasoning is reply.reasoning:
        return reply
    return replace(reply, text=text, reasoning=reasoning)
