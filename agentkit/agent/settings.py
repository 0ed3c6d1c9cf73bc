"""What an agent can be set to besides its engine's parameters, and what each setting has to be."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from typing import Any

from agentkit.core.messages import Chat
from agentkit.errors import Unknown, UsageError
from agentkit.tools.toolset import ToolSet


def _is_names(value: Any) -> bool:
    return isinstance(value, list | tuple | set | frozenset) and all(isinstance(name, str) for name in value)


def _is_journal(value: Any) -> bool:
    if isinstance(value, str | os.PathLike):
        return bool(str(value))
    return callable(getattr(value, "append", None)) and callable(getattr(value, "rows", None))


def _is_many_functions(value: Any) -> bool:
    return isinstance(value, list | tuple) and all(callable(each) or isinstance(each, str) for each in value)


CHECKED_WHERE_USED = (
    *(
        "check_completion",
        "clear_results",
        "compact",
        "max_failures",
        "offload",
        "revise_calls",
        "select_tools",
        "self_check",
    ),
    *("structured_thinking", "warn_cycles", "window"),
    *("budget", "completion_markers", "recall", "retained_turns", "session_memory"),
)
"""What goes around a run: each part checks its own value."""

SETTINGS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "instructions": (lambda value: isinstance(value, str), "a text"),
    "dialect": (lambda value: isinstance(value, str), "the name of a dialect"),
    "journal": (_is_journal, '"memory", "sqlite", a path, a Journal, or None for none'),
    "arounds": (_is_many_functions, "a list of generator functions of one step, and of names"),
    "approve": (
        lambda value: isinstance(value, bool) or callable(value) or _is_names(value),
        "True, a list of tool names, or a function",
    ),
    "approver": (callable, "a function of a call"),
    "roles": (lambda value: isinstance(value, Mapping), "a dict from roles to models"),
    "settings": (lambda value: isinstance(value, dict), "a dict"),
    "repair": (lambda value: value in (0, 1), "0 or 1 (how often a reply is asked for again)"),
    "discover": (
        lambda value: isinstance(value, bool | str | os.PathLike),
        "True, or the folder whose files are looked up, too",
    ),
    "max_tool_calls": (lambda value: True, "a whole number"),  # the cap itself checks it
    "synthesize": (
        lambda value: isinstance(value, int) and value >= 0,
        "True, False, or how many characters of each result to show, at least 1",
    ),
    "raise_errors": (lambda value: isinstance(value, bool), "True or False"),
    "on_event": (callable, "a function of an event"),
    "on_step": (callable, "a function of (iteration, action, observation, error, step)"),
    **dict.fromkeys(CHECKED_WHERE_USED, (lambda value: True, "")),
}
"""The settings by name: how a value is checked, and what it should be, in words."""

_NEEDS_A_VALUE = ("repair", "raise_errors")


def check(given: Mapping[str, Any]) -> None:
    """Check settings. Raises `ValueError` for one out of range, `UsageError` for one that is of no use."""
    for name, value in given.items():
        fits, wanted = SETTINGS[name]
        if value is None and name not in _NEEDS_A_VALUE:
            continue
        if not fits(value):
            raise (ValueError if name in ("repair", "synthesize") else UsageError)(
                f"{name} is {wanted}, not {value!r:.200}"
            )


def check_approve(approve: Any, tools: ToolSet) -> None:
    """See that tools which are to be approved are there: a name that is mistyped would never be asked about."""
    for name in approve if _is_names(approve) else ():
        if tools.find(name) is None:
            raise Unknown("tool to approve", name, [tool.name for tool in tools.tools])


def chat_of(task: Any) -> Chat:
    """Make a chat of a task. Raises `UsageError` for what is none."""
    try:
        return Chat.of(task)
    except (TypeError, AttributeError) as error:
        raise UsageError(f"a task is a text, a message, a chat, or a list of messages, not {task!r:.200}") from error


def check_timeout(timeout: Any) -> None:
    """See that a time limit is a number of seconds, or None. Raises `UsageError`."""
    fits = timeout is None or (isinstance(timeout, int | float) and not isinstance(timeout, bool) and timeout >= 0)
    if not fits or timeout == math.inf:
        raise UsageError(f"timeout is a number of seconds, or None for no limit, not {timeout!r:.100}")
