"""How a model is asked for data: three levels, each a dialect for one shape.

The data that was found goes on as JSON text in `answer`; how it was mended, or why there is none, stands in `problems`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from agentkit.core.messages import Call, Chat, Reply, canonical
from agentkit.core.schema import LEVELS, Shape, in_words
from agentkit.errors import ContextOverflow, ModelDenied, ModelMissing, UsageError
from agentkit.models import dialects, finish_reasons
from agentkit.models.base import Abilities, Request
from agentkit.models.dialects import loose_json, thinking_tags
from agentkit.models.dialects.base import Dialect
from agentkit.models.dialects.rendering import View
from agentkit.models.json_in_text import Data, candidates
from agentkit.tools.tool import as_native

if TYPE_CHECKING:
    from agentkit.core.steps import Think
    from agentkit.tools.tool import Tool

ASK = """\
Your reply is data: one JSON object and nothing else, no prose and no code fence. It follows this JSON schema:

"""
CALL = "Give the data that was asked for."
REFUSED = (400, 404, 422, 501)  # HTTP statuses of hosts that do not know tool_choice, or a JSON mode, or route neither
NOTHING = "there is no JSON in the reply"


@dataclass(slots=True, eq=False)
class Shaped:
    """The dialect in which data of one shape is asked for at one level; its name is that of the level."""

    shape: Shape
    name: str
    stop: tuple[str, ...] = ()
    json_mode: bool = field(init=False)

    def __post_init__(self) -> None:
        self.json_mode = self.name == "json"

    def render(self, chat: Chat, tools: tuple[Tool, ...]) -> list[View]:
        """Write the chat as the dialect of this level does; where no function carries the schema, it comes first."""
        asked = (
            []
            if self.name == "native"
            else [{"role": "system", "content": ASK + json.dumps(self.shape.parameters, indent=2)}]
        )
        return asked + dialects.get(self.name).render(chat, ())

    def schemas(self, tools: tuple[Tool, ...]) -> list[dict[str, Any]]:
        """Give the function that must be called."""
        if self.name != "native":
            return []
        return [as_native(self.shape.name, str(self.shape.schema.get("description") or CALL), self.shape.parameters)]

    def read(self, reply: Reply, tools: tuple[Tool, ...]) -> Reply:
        """Read the data out of the arguments of a call, else out of the text."""
        said, thought = thinking_tags.split(reply.text)
        call = reply.calls[0] if reply.calls else None
        raw = _written(call) if call else said.strip()
        reasoning = "\n".join(part for part in (reply.reasoning, thought, said.strip() if call else "") if part)
        found, problem = self._choose([*(_of_call(call) if call else self._of_text(raw, reply.finish))])
        if not found:
            problem = "; ".join((*finish_reasons.problems(reply.finish), problem))
        more: dict[str, Any] = {"text": raw, "answer": None, "readable": False, "problems": (*reply.problems, problem)}
        if found:
            text, notes = json.dumps(found.value, ensure_ascii=False), (found.mended,) if found.mended else ()
            more = {"text": text, "answer": text, "readable": True, "problems": reply.problems + notes}
        return replace(reply, calls=(), raw=raw, dialect=self.name, reasoning=reasoning, **more)

    def _of_text(self, text: str, finish: str) -> Iterator[Data]:
        """Give what a text may mean; nothing is completed that is known to be cut off, or that a call should have carried."""
        sure = not finish_reasons.is_whole(finish) or self.name == "native"
        return (found for found in candidates(text) if not (sure and found.completed))

    def _choose(self, found: list[Data]) -> tuple[Data | None, str]:
        """Take the first that fits the schema; without one, say why, or leave it to whoever asked to say so."""
        usable = [data._replace(value=value) for data in found for value in self.shape.unwrapped(data.value)]
        wrong = misfit(self.shape)
        faults = [wrong(each.value) for each in usable]
        fitting = next((each for each, fault in zip(usable, faults, strict=True) if not fault), None)
        if fitting or not usable:
            return fitting, NOTHING
        return (None, faults[0]) if self.shape.strict else (usable[0], "")


def _written(call: Call) -> str:
    return call.raw if call.raw is not None else json.dumps(call.arguments, ensure_ascii=False)


def _of_call(call: Call) -> list[Data]:
    """Give the arguments of a call, mended where that takes no guessing."""
    if not call.problem and isinstance(call.arguments, dict):
        return [Data(call.arguments)]
    found = loose_json.value_at(_written(call).strip())
    return [Data(found.value, found.mended)] if isinstance(found.value, dict) else []


def misfit(shape: Shape) -> Callable[[Any], str]:
    """Give the function that says where a value does not fit the schema of a shape, in words; empty when it does."""
    wrong = _misfit(canonical(shape.parameters).decode())
    return wrong if shape.is_object else lambda value: wrong({"value": value})


@functools.lru_cache(maxsize=64)
def _misfit(parameters: str) -> Callable[[Any], str]:
    from pydantic_core import ValidationError

    from agentkit.tools.json_schema import form_of_json

    form = form_of_json(json.loads(parameters), {})

    def wrong(value: Any) -> str:
        try:
            form.validate(value, strict=True)
        except ValidationError as error:
            return in_words(error)
        except RecursionError:
            return loose_json.TOO_DEEP
        return ""

    return wrong


def shaped(shape: Shape, abilities: Abilities, forced: Dialect | None = None) -> Shaped:
    """Give the best level, of those that are left, at which a model can be asked; a forced dialect is the best there is."""
    best = LEVELS.index(forced.name) if forced and forced.name in LEVELS else 0
    can = {"native": abilities.tools, "json": abilities.json, "text": True}
    levels = LEVELS[max(best, LEVELS.index(shape.at_most)) :]
    return Shaped(shape, next(level for level in levels if can[level] or (forced and level == forced.name)))


def named(name: str, shape: Shape | None) -> Dialect:
    """Give the dialect of a name, as an entry holds it; for data that is a level."""
    return dialects.get(name) if shape is None else Shaped(shape, name)


def request(step: Think, dialect: Dialect, settings: dict[str, Any]) -> Request:
    """Give the request of a step; one for data offers its shape in the place of tools."""
    if step.shape is None:
        return Request(step.chat, dialect, step.tools, step.role, step.choice, settings)
    choice = "required" if dialect.name == "native" else "auto"
    return Request(step.chat, dialect, (step.shape,), step.role, choice, settings)  # type: ignore[arg-type]


def spared(step: Think, dialect: Dialect, error: BaseException) -> str:
    """Say how a step ends whose model fails, where that is no failure of the run: "rejected", "error"; empty where it is one.

    "rejected": the host refuses this way to ask for data, and there is another one.
    """
    refused = getattr(error, "status", 0) in REFUSED and not isinstance(
        error, ModelDenied | ModelMissing | ContextOverflow
    )
    if step.shape is not None and dialect.name != LEVELS[-1] and refused:
        return "rejected"
    return "error" if step.optional and not isinstance(error, UsageError) else ""


def failed(error: BaseException, words: str, dialect: Dialect, finish: str) -> Reply:
    """Give what such a step comes to."""
    problem = f"the model failed: {type(error).__name__}: {words}"[:2000]
    return Reply(problems=(problem,), readable=False, finish=finish, dialect=dialect.name)
