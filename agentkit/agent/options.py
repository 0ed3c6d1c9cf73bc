"""The options of an agent: their names, types and descriptions, in one place.

pydantic checks the values, mypy checks the calls, and `Agent?` shows the options in a notebook. The options of an
engine are separate: `engine=Loop("react", max_iterations=5)`.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypedDict, get_type_hints

from annotated_types import Ge, MinLen

from agentkit.agent.steering import Steering
from agentkit.audit import Audit
from agentkit.engines.registry import Engine, check_value, hint_for
from agentkit.errors import Unknown
from agentkit.gates.limits import Budget
from agentkit.gates.permissions import Permissions
from agentkit.journal.entries import Journal
from agentkit.memory.base import SessionMemory
from agentkit.tools.tool import Repeat

Switch = bool | Mapping[str, Any] | None
Number = bool | int | Mapping[str, Any] | None
Names = list[str] | tuple[str, ...] | set[str] | frozenset[str]


class Options(TypedDict, total=False):
    """The options of an agent; every option may be left out, and None means the default, except for `journal`.

    An around is switched on by True, or by a dict of its parameters; many also take a number for their main parameter.
    """

    instructions: Annotated[str | None, "instructions for the model, as a system message before the task"]
    context: Annotated[
        bool | str | os.PathLike[str] | list[str | os.PathLike[str]] | tuple[str | os.PathLike[str], ...] | None,
        "notes about the project, from files read at its start: True for AGENTS.md, 'AGENTS.md#Testing', or several",
    ]
    dialect: Annotated[
        Literal["native", "json", "text"] | None,
        "how the model is asked to act; by default, the best way that it supports",
    ]
    roles: Annotated[Mapping[str, Any] | None, "other models by role, such as {'evaluate': model}"]
    settings: Annotated[dict[str, Any] | None, "settings for each request, passed on unchanged: {'temperature': 0}"]
    journal: Annotated[
        Annotated[str, MinLen(1)] | os.PathLike[str] | Journal | None,
        'where runs are recorded: "sqlite" (the default), a path, a URL, "memory", a journal, or None for nowhere',
    ]
    budget: Annotated[Budget | Mapping[str, Any] | None, "what a run may spend: a Budget, or a dict of its limits"]
    approve: Annotated[
        bool | Names | Callable[[Any], Any] | None,
        "which calls need a person's approval: all (True), those of these tools, or those for which a function is true",
    ]
    repeat: Annotated[
        Repeat | Mapping[str, Repeat] | None,
        'what happens before a call that was made before the run went back: "ask" (the default), "reuse" or "allow"; '
        "or a dict of these by tool",
    ]
    permissions: Annotated[
        str | Mapping[str, Any] | Permissions | None,
        'which calls are made, asked about, or never made: a mode ("ask", "allow", "deny", "plan"), or a dict of a '
        "mode and rules; the rules in your own settings file count, too",
    ]
    audit: Annotated[
        str | os.PathLike[str] | Audit | None,
        "a file in which each decision about a call, each call and its end gets a line; a changed line is noticed",
    ]
    approver: Annotated[
        Callable[[Any], Any] | None,
        'decides about calls in run(), also async: True, "allow" or "remember" approves, a dict changes the arguments, '
        '"reuse" takes the result of the earlier call',
    ]
    hooks: Annotated[
        Sequence[Any] | None, "functions under @hook, which run before and after tools, model calls and the run"
    ]
    guardrails: Annotated[
        Sequence[Any] | None, 'checks of the task, replies, tool results and the answer: ["secrets", length(500), …]'
    ]
    max_tool_calls: Annotated[Annotated[int, Ge(1)] | None, "how many tool calls a run may make; others are not run"]
    repair: Annotated[
        Literal[0, 1] | None, "how often to ask again for an unreadable reply (1); with 0, it is the answer"
    ]
    synthesize: Annotated[
        Annotated[int, Ge(0)] | bool | None,
        "write the final answer from the whole trace; a number is the length to which each result is cut",
    ]
    discover: Annotated[
        bool | str | os.PathLike[str] | None,
        "offer a tool that finds tools, and files if this is a folder",
    ]
    select_tools: Annotated[Number, "if there are more than this many tools (12), offer only those that the task needs"]
    window: Annotated[Number, "how many turns to show of the conversation that a run starts with"]
    compact: Annotated[Number, "limit each request to this many tokens (128,000) by summarising older messages"]
    clear_results: Annotated[
        Number,
        "show only the newest results, this many (5), and a note for each older one; "
        "by default, the first 2,000 characters of each older one, and with False all of them",
    ]
    offload: Annotated[Number, "show only the beginning of results with more than this many characters (8,000)"]
    revise_calls: Annotated[Switch, "let the model run one of its earlier calls again, with other arguments"]
    structured_thinking: Annotated[Switch, "ask for each thought as data first"]
    self_check: Annotated[Number, "ask the model to judge its progress after every this many tool calls (6)"]
    check_completion: Annotated[Number, "ask whether the answer is complete, at most this many times (1)"]
    completion_markers: Annotated[str | Names | None, "regular expressions that a model uses to say that it is done"]
    warn_cycles: Annotated[Number, "warn the model if a call has returned the same result this many times (2)"]
    max_failures: Annotated[Number, "end the run after this many failures of one tool in a row (3)"]
    mark_results: Annotated[Switch, "show tool results to the model between marks that say that they are data"]
    arounds: Annotated[Sequence[str | Callable[..., Any]] | None, "your own arounds, or names of those above"]
    retained_turns: Annotated[Annotated[int, Ge(1)] | None, "how many earlier turns of its session a run is shown (10)"]
    session_memory: Annotated[
        Literal["window", "summary"] | SessionMemory | None,
        "whether older turns of a session are dropped or summarised; or a memory of OVOS, which keeps them",
    ]
    recall: Annotated[Annotated[int, Ge(0)] | bool | None, "how many facts about the user a run is told (3)"]
    raise_errors: Annotated[bool | None, "let run() raise the error of a run instead of returning it in the result"]
    steering: Annotated[
        Steering | None, "a queue of yours: what its pop_all() returns is sent to the model with the next request"
    ]
    within: Annotated[
        Sequence[Any] | None,
        "what surrounds each run, model call and tool call: [trace()] makes spans and metrics of them",
    ]
    on_event: Annotated[Callable[[Any], Any] | None, "a function that is called with each event as it happens"]
    on_step: Annotated[
        Callable[..., Any] | None,
        "called with (iteration, action, observation, error, step) after each thought and each tool result",
    ]


NAMES = tuple(Options.__annotations__)
"""The names of all options."""


def check(options: Mapping[str, Any], engine: Engine) -> None:
    """Check options. Raises `Unknown` for an unknown name, `OptionError` for a value out of range."""
    hints = _hints() if options else {}
    for name, value in options.items():
        if name not in NAMES:
            raise Unknown("agent option", name, (*NAMES, "model", "tools", "engine"), hint_for(name, engine))
        check_value(name, value, hints[name])


@functools.cache
def _hints() -> dict[str, Any]:
    return get_type_hints(Options, include_extras=True)


def descriptions() -> dict[str, str]:
    """Return a short description of each option, by name."""
    return {name: hint.__metadata__[-1] for name, hint in _hints().items()}


def annotation(name: str) -> Any:
    """Return the evaluated annotation of an option."""
    return _hints()[name]


def signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function, with each option by name instead of `**options: Unpack[Options]`."""
    known = inspect.signature(function)
    named = [parameter for parameter in known.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [
        inspect.Parameter(name, keyword, default=None, annotation=hint)
        for name, hint in Options.__annotations__.items()
    ]
    return known.replace(parameters=[*named, *options])
