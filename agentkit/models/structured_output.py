"""How a model is asked for data of a certain shape: at three levels, each a dialect for one request.

The data that is found becomes the `answer` of the reply, as JSON text; `problems` say how it was mended, or why there
is none.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from agentkit.core import finish_reasons
from agentkit.core.messages import Call, Chat, Reply, canonical
from agentkit.core.schema import LEVELS, Shape, in_words
from agentkit.core.steps import Tools
from agentkit.errors import ContextOverflow, ModelDenied, ModelMissing, ModelRejected, UsageError
from agentkit.models import dialects
from agentkit.models.base import Abilities, Request
from agentkit.models.dialects import thinking_tags
from agentkit.models.dialects.base import Dialect
from agentkit.models.dialects.rendering import Block, Rendering
from agentkit.models.json_in_text import Data, candidates
from agentkit.tools import loose_json
from agentkit.tools.tool import as_native

if TYPE_CHECKING:
    from agentkit.core.steps import Think

INSTRUCTIONS = """\
Your reply is data: one JSON object and nothing else, no prose and no code fence. It follows this JSON schema:

"""
FUNCTION_DESCRIPTION = "Give the data that was asked for."
NOTHING = "there is no JSON in the reply"
REFUSED = (400, 404, 422, 501)
"""HTTP statuses of hosts that do not know tool_choice or a JSON mode, or have no route for either; `ModelRejected` says
the same whatever the status is (llama.cpp: 500 and "requires --jinja").
"""


@dataclass(slots=True, eq=False)
class StructuredOutput:
    """The dialect in which data of one shape is asked for at one level; it has the name of the level.

    `follows_schema`: the JSON mode of the host can be held to a schema.
    """

    shape: Shape
    name: str
    follows_schema: bool = False
    stop: tuple[str, ...] = ()
    json_mode: bool = field(init=False)

    def __post_init__(self) -> None:
        self.json_mode = self.name == "json"

    @property
    def constraint(self) -> Shape | None:
        """The shape that the host is asked to hold the model to."""
        return self.shape if self.json_mode and self.follows_schema else None

    def render(self, chat: Chat, tools: Tools) -> Rendering:
        """Return the chat in the dialect of this level; the schema comes first, unless a function carries it."""
        rendering = dialects.get(self.name).render(chat, ())
        if self.name == "native":
            return rendering
        schema = json.dumps(self.shape.parameters, indent=2)
        return Rendering(Block([{"role": "system", "content": INSTRUCTIONS + schema}]), rendering.last)

    def schemas(self, tools: Tools) -> list[dict[str, Any]]:
        """Return the function that must be called."""
        if self.name != "native":
            return []
        description = str(self.shape.schema.get("description") or FUNCTION_DESCRIPTION)
        return [as_native(self.shape.name, description, self.shape.parameters)]

    def read(self, reply: Reply, tools: Tools) -> Reply:
        """Read the data in the arguments of a call, else in the text."""
        text, thought = thinking_tags.split(reply.text)
        call = reply.calls[0] if reply.calls else None
        raw = _arguments_text(call) if call else text.strip()
        reasoning = "\n".join(part for part in (reply.reasoning, thought, text.strip() if call else "") if part)
        data, problem = self._first_that_fits([*(_in_call(call) if call else self._in_text(raw, reply.finish))])
        if data:
            answer = json.dumps(data.value, ensure_ascii=False)
            problems = (*reply.problems, data.mended) if data.mended else reply.problems
            more: dict[str, Any] = {"text": answer, "answer": answer, "readable": True, "problems": problems}
        else:
            problem = "; ".join((*finish_reasons.problems(reply.finish), problem))
            more = {"text": raw, "answer": None, "readable": False, "problems": (*reply.problems, problem)}
        return replace(reply, calls=(), raw=raw, dialect=self.name, reasoning=reasoning, **more)

    def _in_text(self, text: str, finish: str) -> Iterator[Data]:
        """Return what a text may mean.

        If it is known to be cut off, or a call should have carried it, nothing is completed.
        """
        must_be_whole = not finish_reasons.is_whole(finish) or self.name == "native"
        return (data for data in candidates(text) if not (must_be_whole and data.completed))

    def _first_that_fits(self, found: list[Data]) -> tuple[Data | None, str]:
        """Return the first data that fits the schema.

        If none does: the reason, or the first if the shape is not strict.
        """
        usable = [data._replace(value=value) for data in found for value in self.shape.unwrapped(data.value)]
        if not usable:
            return None, NOTHING
        check = misfit(self.shape)
        problems = []
        for data in usable:
            if not (problem := check(data.value)):
                return data, ""
            problems.append(problem)
        return (None, problems[0]) if self.shape.strict else (usable[0], "")


def _arguments_text(call: Call) -> str:
    return call.raw if call.raw is not None else json.dumps(call.arguments, ensure_ascii=False)


def _in_call(call: Call) -> list[Data]:
    """Return the arguments of a call, mended if that takes no guessing."""
    if not call.problem:
        return [Data(call.arguments)]
    parsed = loose_json.value_at(_arguments_text(call).strip())
    return [Data(parsed.value, parsed.mended)] if isinstance(parsed.value, dict) else []


def misfit(shape: Shape) -> Callable[[Any], str]:
    """Return a function that tells where a value does not fit the schema of a shape; it returns "" for
    one that fits.
    """
    check = _checker(canonical(shape.parameters).decode())
    return check if shape.is_object else lambda value: check({"value": value})


@functools.lru_cache(maxsize=64)
def _checker(parameters: str) -> Callable[[Any], str]:
    from pydantic_core import ValidationError

    from agentkit.tools.json_schema import interface_of_json_schema

    interface = interface_of_json_schema(json.loads(parameters), {})

    def check(value: Any) -> str:
        try:
            interface.validate(value, strict=True)
        except ValidationError as error:
            return in_words(error)
        except RecursionError:
            return loose_json.TOO_DEEP
        return ""

    return check


def dialect_for(shape: Shape, abilities: Abilities, forced: Dialect | None = None) -> StructuredOutput:
    """Return the best of the remaining levels at which a model can be asked; a forced dialect is the best there is."""
    best = LEVELS.index(forced.name) if forced and forced.name in LEVELS else 0
    can = {"native": abilities.tools, "json": abilities.json, "text": True}
    levels = LEVELS[max(best, LEVELS.index(shape.at_most)) :]
    level = next(level for level in levels if can[level] or (forced and level == forced.name))
    return StructuredOutput(shape, level, abilities.schema)


def dialect_named(name: str, shape: Shape | None, abilities: Abilities) -> Dialect:
    """Return the dialect that an entry names; for data this is a level."""
    return dialects.get(name) if shape is None else StructuredOutput(shape, name, abilities.schema)


def request_for(
    step: Think, dialect: Dialect, settings: dict[str, Any], answer: Shape | None, abilities: Abilities
) -> Request:
    """Return the request of a step; a step that asks for data offers its shape instead of tools.

    `answer` is the shape of the answer that the step writes, if there is one. A host is held to it if it can be, and if
    no tools are offered: hosts that constrain a reply cannot call tools in it.
    """
    if step.shape is None:
        answer = answer if step.answers and not step.tools else None
        follows, in_json = answer if abilities.schema else None, answer is not None and abilities.json
        return Request(step.chat, dialect, step.tools, step.role, step.choice, settings, follows, in_json)
    choice = "required" if dialect.name == "native" else "auto"
    return Request(step.chat, dialect, (step.shape,), step.role, choice, settings)  # type: ignore[arg-type]


def finish_after_failure(step: Think, dialect: Dialect, error: BaseException) -> Literal["", "rejected", "error"]:
    """Return the `finish` of a step whose model failed, or "" if the failure is one of the whole run.

    "rejected" means that the host refused this way to ask for data, and that there is another one.
    """
    is_refused = (getattr(error, "status", 0) in REFUSED or isinstance(error, ModelRejected)) and not isinstance(
        error, ModelDenied | ModelMissing | ContextOverflow
    )
    if step.shape is not None and dialect.name != LEVELS[-1] and is_refused:
        return "rejected"
    return "error" if step.optional and not isinstance(error, UsageError) else ""


def failed_reply(error: BaseException, error_text: str, dialect: Dialect, finish: str) -> Reply:
    """Return the reply of a step whose model failed without ending the run."""
    problem = f"the model failed: {type(error).__name__}: {error_text}"[:2000]
    return Reply(problems=(problem,), readable=False, finish=finish, dialect=dialect.name)
