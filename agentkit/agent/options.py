"""The options of an agent: their names, types and meanings, in one place.

pydantic checks the values, mypy the calls, and `Agent?` shows them in a notebook. The options of an engine are apart from
these: `engine=Loop("react", max_iterations=5)`.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypedDict, get_type_hints

from annotated_types import Ge, MinLen

from agentkit.engines.registry import Engine, check_value, hint_for
from agentkit.errors import Unknown
from agentkit.gates.budget import Budget
from agentkit.journal.entries import Journal

Switch = bool | Mapping[str, Any] | None
Number = bool | int | Mapping[str, Any] | None
Names = list[str] | tuple[str, ...] | set[str] | frozenset[str]


class Options(TypedDict, total=False):
    """What an agent can be set to; every option may be left out, and None means the default, except for `journal`.

    What goes around the loop is switched on by True, or by a dict of its parameters; if a number is enough, by that.
    """

    instructions: Annotated[str | None, "what the model is told before the task, as a system message"]
    dialect: Annotated[
        Literal["native", "json", "text"] | None,
        "how the model is asked to act; by default, what its abilities allow",
    ]
    roles: Annotated[Mapping[str, Any] | None, "other models by role, such as {'evaluate': model}"]
    settings: Annotated[dict[str, Any] | None, "what goes into each request as it is, such as {'temperature': 0}"]
    journal: Annotated[
        Annotated[str, MinLen(1)] | os.PathLike[str] | Journal | None,
        'where runs are recorded: "sqlite" (the default), a path, "memory", a journal, or None for nowhere',
    ]
    budget: Annotated[Budget | Mapping[str, Any] | None, "what a run may spend: a Budget, or a dict of its limits"]
    approve: Annotated[
        bool | Names | Callable[[Any], Any] | None,
        "which calls need a person's yes: all of them (True), those of these tools, or those for which a function is true",
    ]
    approver: Annotated[
        Callable[[Any], Any] | None,
        'decides in run(), where nobody can be asked: True, "allow" or "remember" is a yes, a dict a yes with other arguments',
    ]
    max_tool_calls: Annotated[Annotated[int, Ge(1)] | None, "how many tool calls a run may make; the rest is not run"]
    repair: Annotated[
        Literal[0, 1] | None, "how often an unreadable reply is asked for again (1); with 0 it is the answer"
    ]
    synthesize: Annotated[
        Annotated[int, Ge(0)] | bool | None,
        "have the final answer written from the whole trace; a number: with that many characters of each result",
    ]
    discover: Annotated[
        bool | str | os.PathLike[str] | None,
        "offer a tool that looks up tools, and with a folder also its files",
    ]
    select_tools: Annotated[Number, "of more than this many tools (12), offer those that the task needs"]
    window: Annotated[Number, "of the conversation that a run begins with, show this many turns"]
    compact: Annotated[Number, "hold each request to this many tokens (128,000); older messages are summarised"]
    clear_results: Annotated[Number, "show the newest so many results (5), and of older ones only that they were there"]
    offload: Annotated[Number, "of results with more than this many characters (8,000), show the beginning"]
    revise_calls: Annotated[Switch, "let the model run an earlier call of its own again, with other arguments"]
    structured_thinking: Annotated[Switch, "have each thought written as data first"]
    self_check: Annotated[Number, "have the model judge its progress after every so many tool calls (6)"]
    check_completion: Annotated[Number, "ask before the answer whether it is complete, up to so many times (1)"]
    completion_markers: Annotated[str | Names | None, "regular expressions with which a model says that it is done"]
    warn_cycles: Annotated[Number, "warn the model when a call has given the same result so many times (2)"]
    max_failures: Annotated[Number, "end the run after so many equal failures in a row (3)"]
    arounds: Annotated[Sequence[str | Callable[..., Any]] | None, "arounds of your own, or names of those above"]
    retained_turns: Annotated[
        Annotated[int, Ge(1)] | None, "how many earlier turns of its session a run is told of (10)"
    ]
    session_memory: Annotated[
        Literal["window", "summary"] | None, "whether older turns of a session are dropped or summarised"
    ]
    recall: Annotated[Annotated[int, Ge(0)] | bool | None, "how much of what is known of the user a run is told (3)"]
    raise_errors: Annotated[bool | None, "raise the error of a run from run(), instead of returning it in the result"]
    on_event: Annotated[Callable[[Any], Any] | None, "is called with each event as it happens"]
    on_step: Annotated[
        Callable[..., Any] | None,
        "is called with (iteration, action, observation, error, step) after each thought and each tool result",
    ]


NAMES = tuple(Options.__annotations__)
"""The names of all options."""


def check(options: Mapping[str, Any], engine: Engine) -> None:
    """Check options. Raises `Unknown` for a name that no option has, `OptionError` for a value out of range."""
    hints = _hints() if options else {}
    for name, value in options.items():
        if name not in NAMES:
            raise Unknown("agent option", name, NAMES, hint_for(name, engine))
        check_value(name, value, hints[name])


@functools.cache
def _hints() -> dict[str, Any]:
    return get_type_hints(Options, include_extras=True)


def descriptions() -> dict[str, str]:
    """Return what each option is for, in a few words."""
    return {name: hint.__metadata__[-1] for name, hint in _hints().items()}


def signature(function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature of a function with `**options: Unpack[Options]`, with each option by name."""
    known = inspect.signature(function)
    named = [parameter for parameter in known.parameters.values() if parameter.kind is not parameter.VAR_KEYWORD]
    keyword = inspect.Parameter.KEYWORD_ONLY
    options = [
        inspect.Parameter(name, keyword, default=None, annotation=hint)
        for name, hint in Options.__annotations__.items()
    ]
    return known.replace(parameters=[*named, *options])
