"""The kind of final answer that a run gives: an object of a type, or a text that is written from the whole trace.

Both are recorded with the task, so that a run that is resumed or loaded gives the same kind of answer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from agentkit.around.bare_json import bare_data
from agentkit.around.base import Around
from agentkit.around.synthesis import LONGEST, synthesis
from agentkit.core.messages import Chat, canonical, digest, message_from_json, message_to_json, system, user
from agentkit.core.schema import Shape, in_words, shape_of
from agentkit.core.secrets import mask_json
from agentkit.core.steps import Conclude
from agentkit.errors import OutputValidationError
from agentkit.gates.state import Gate, State, gate
from agentkit.gates.verdict import Verdict
from agentkit.models.json_in_text import candidates
from agentkit.models.structured_output import NOTHING, misfit
from agentkit.stepper.stepper import Pending

ASK = """\
Your final answer must be data: instead of text, write one JSON object, without any prose around it, that follows this
JSON schema:

"""
AGAIN = "Your answer does not fit the schema: {problem}\nGive the final answer again, as one JSON object that fits it."

_KNOWN: dict[str, Any] = {}
"""The types that were used in this process, by what is recorded about them; the last thousand are kept."""


def begin(spec: dict[str, Any], output: Any, synthesize: Any) -> dict[str, Any]:
    """Return the spec of a run with the kind of its answer; for a typed answer, with the schema in a system message."""
    if output is None:
        return {**spec, **changed({"synthesize": synthesize})} if synthesize else spec
    shape, _ = shape_of(output)
    about = mask_json({"name": shape.name, "schema": shape.schema, "type": _path(output)})
    if not isinstance(output, dict):
        _KNOWN[_key(about)] = output
    if len(_KNOWN) > 1_000:
        del _KNOWN[next(iter(_KNOWN))]
    return with_request(spec, about)


def with_request(spec: dict[str, Any], about: dict[str, Any]) -> dict[str, Any]:
    """Return the spec of a run with a typed answer, whose schema is the last system message before the task."""
    parameters = Shape(about["name"], about["schema"]).parameters
    request = message_to_json(system(ASK + json.dumps(parameters, indent=2, ensure_ascii=False)))
    at = _after_system_messages(spec["task"])
    return {**spec, "task": [*spec["task"][:at], request, *spec["task"][at:]], "output": about}


def without_request(spec: dict[str, Any]) -> tuple[int, list[dict[str, Any]]]:
    """Return how many messages the agent of a recorded run put before its task, and the messages without the schema
    of its answer. If it is not recorded how many, all system messages at the beginning are those of the agent.
    """
    task, at = list(spec["task"]), _after_system_messages(spec["task"])
    if "output" in spec and at:
        at -= 1
        del task[at]
    return max(0, min(spec.get("told", at), at)), task


def _after_system_messages(task: list[dict[str, Any]]) -> int:
    return next((n for n, message in enumerate(task) if message["role"] != "system"), len(task))


def shape(spec: Mapping[str, Any]) -> Shape | None:
    """Return the shape of a run's typed answer, or None if its answer is a text."""
    return Shape(spec["output"]["name"], spec["output"]["schema"]) if "output" in spec else None


def changed(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of a run's spec that changed options of an agent affect: how the answer is written."""
    if "synthesize" not in changes:
        return {}
    return {"synthesize": LONGEST if changes["synthesize"] is True else int(changes["synthesize"] or 0)}


def arounds(spec: dict[str, Any], usual: tuple[Around, ...]) -> tuple[Around, ...]:
    """Return the arounds of a run: the usual ones, and the one that its kind of answer needs."""
    if "output" in spec:
        return (*usual, bare_data(spec["output"]["schema"]))
    if not spec.get("synthesize"):
        return usual
    return (synthesis(Chat.of(map(message_from_json, spec["task"])), spec["synthesize"]), *usual)


def gates(spec: dict[str, Any]) -> tuple[Gate, ...]:
    """Return the gate that checks the final answer against the recorded type.

    An answer that does not fit is sent back once; a second one is an error. If the run is then driven again, the answer
    is sent back once more. An answer that was forced by a limit ends the run in any case; the result then has the
    error.
    """
    if "output" not in spec:
        return ()
    failed: set[Pending] = set()

    @gate(Conclude)
    def fits(pending: Pending, state: State) -> Verdict | None:
        assert type(pending.step) is Conclude
        if pending.step.interrupted:
            return None
        try:
            read(pending.step.answer, spec["output"])
            return None
        except OutputValidationError as misfit:
            error = misfit
        if pending not in failed and _was_sent_back(state):
            failed.add(pending)
            return Verdict("fail", str(error), error)
        failed.discard(pending)
        why = f"the answer does not fit {spec['output']['name']}: {error.problem}"
        return Verdict("answer", why, user(AGAIN.format(problem=error.problem)))

    return (fits,)


def _was_sent_back(state: State) -> bool:
    return any(entry.kind == "conclude" and entry.author == "gate" for entry in state.trace.line)


def result(spec: dict[str, Any], answer: str) -> tuple[Any, OutputValidationError | None]:
    """Return the validated object of a final answer, or the error that says why there is none."""
    if "output" not in spec:
        return None, None
    try:
        return read(answer, spec["output"]), None
    except OutputValidationError as error:
        return None, error


def read(answer: str, about: dict[str, Any]) -> Any:
    """Return an object of the recorded type: the first JSON in the answer that fits and whose end is not missing.

    If the type itself is not available (in another kernel, or in another version), plain data is returned.
    Raises `OutputValidationError`.
    """
    shape = Shape(about["name"], about["schema"])
    load, problems = _loader(about), []
    for candidate in candidates(answer):
        if candidate.completed:
            problems.append("its end is missing")
            continue
        for value in shape.unwrapped(candidate.value):
            try:
                return load(json.dumps(value, ensure_ascii=False))
            except Exception as error:
                problems.append(in_words(error))
    problem = problems[0] if problems else NOTHING
    hint = "edit the last thought, or drive the run again to ask the model once more"
    raise OutputValidationError(f"the answer does not fit {shape.name}: {problem}; {hint}", raw=answer, problem=problem)


def _loader(about: dict[str, Any]) -> Callable[[str], Any]:
    """Return the function that parses JSON text: that of the recorded type, or one that checks only the schema."""
    kind = _KNOWN.get(_key(about)) or _named(about)
    if kind is not None:
        return shape_of(kind)[1]
    problem_of = misfit(Shape(about["name"], about["schema"]))

    def load(text: str) -> Any:
        value = json.loads(text)
        if problem := problem_of(value):
            raise ValueError(problem)
        return value

    return load


def _key(about: dict[str, Any]) -> str:
    return digest(canonical(about))


def _path(output: Any) -> str:
    return f"{output.__module__}:{output.__qualname__}" if isinstance(output, type) else ""


def _named(about: dict[str, Any]) -> Any:
    """Return the pydantic model with this name and schema, if it was imported already; otherwise None.

    A recording never imports or calls anything else.
    """
    module, _, names = about.get("type", "").partition(":")
    value: Any = sys.modules.get(module)
    for name in names.split("."):
        value = vars(value).get(name) if isinstance(value, type | type(sys)) else None
    pydantic: Any = sys.modules.get("pydantic")
    if pydantic is None or not isinstance(value, type) or not issubclass(value, pydantic.BaseModel):
        return None
    return value if shape_of(value)[0].schema == about["schema"] else None
