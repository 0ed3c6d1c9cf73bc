"""What goes around a run, by the names of an agent's options: which arounds, in which order, and the tools that they bring."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agentkit.around.base import Around
from agentkit.around.call_limit import cap_calls
from agentkit.around.check_completion import check_completion
from agentkit.around.clear_results import clear_results
from agentkit.around.compaction import compact
from agentkit.around.completion import MARKERS, pattern
from agentkit.around.ends_turn import ends_turn
from agentkit.around.limits import over_budget
from agentkit.around.nudge import nudge
from agentkit.around.offload import address, offload
from agentkit.around.reformat import reformatting
from agentkit.around.repeated_calls import warn_cycles
from agentkit.around.repeated_failures import stop_after_failures
from agentkit.around.revise_calls import revise_calls
from agentkit.around.self_check import self_check
from agentkit.around.structured_thinking import think_in_data
from agentkit.around.tool_selection import select_tools
from agentkit.around.window import window
from agentkit.errors import Unknown, UsageError
from agentkit.runtime.control import DRIVING
from agentkit.tools import meta_tools
from agentkit.tools.toolset import ToolSet


def _found(wanted: str) -> str:
    """Give the result with an address, of the run whose tool asks: from its trace, which keeps results whole."""
    line = DRIVING.get().desk.history.line
    texts = (message.text for entry in reversed(line) if entry.kind == "act" for message in entry.result)
    text = next((text for text in texts if address(text) == wanted.strip()), None)
    if text is None:
        raise UsageError("there is no such result; copy the address from below its beginning")
    return text


FROM_OUTSIDE: dict[str, tuple[Callable[..., Around], str]] = {
    "check_completion": (check_completion, "most"),
    "self_check": (self_check, "every"),
    "structured_thinking": (think_in_data, ""),
    "select_tools": (lambda **options: select_tools(meta_tools.load_tools, **options), "over"),
    "revise_calls": (lambda: revise_calls(meta_tools.revise_call()), ""),
    "offload": (lambda **options: offload(meta_tools.read_result(_found), **options), "over"),
    "window": (window, "turns"),
    "clear_results": (clear_results, "keep"),
    "compact": (compact, "tokens"),
    "warn_cycles": (warn_cycles, "after"),
    "max_failures": (stop_after_failures, "most"),
}
"""The options that are off unless they are asked for, from the outside in, and what a bare number sets."""

_BRINGS: dict[str, Callable[[], Any]] = {
    "select_tools": meta_tools.load_tools,
    "revise_calls": meta_tools.revise_call,
    "offload": lambda: meta_tools.read_result(_found),
}


def tools(own: ToolSet, options: Mapping[str, Any], given: Iterable[Any]) -> ToolSet:
    """Give the tools that an engine is offered: the agent's own, and `discover` where that is asked for."""
    wanted = options.get("discover")
    if wanted is None or wanted is False:
        return own
    found: list[ToolSet] = []
    root = None if wanted is True else wanted
    found.append(
        ToolSet.of([*given, meta_tools.discover(lambda: [tool for tool in found[0] if tool.name != "discover"], root)])
    )
    return found[0]


def performed(offered: ToolSet, options: Mapping[str, Any], given: Iterable[Any]) -> ToolSet:
    """Give the tools that can be performed: those, and what arounds bring with them."""
    names = _named(given, options)
    brought = [make() for name, make in _BRINGS.items() if _on(names.get(name))]
    return ToolSet.of([offered, *brought]) if brought else offered


def stack(offered: ToolSet, options: Mapping[str, Any], own: Iterable[Any]) -> tuple[Around, ...]:
    """Give the arounds of a run, the outermost first; `own` are those of the user, or names of options.

    Raises `Unknown` for a name that is none, `ValueError` for a value out of range.
    """
    own = tuple(own)
    repair, most = options.get("repair", 1), options.get("max_tool_calls")
    names = _named(own, options)
    last = frozenset(tool.name for tool in offered.tools if tool.ends_turn)
    markers = options.get("completion_markers")
    done = pattern(MARKERS if markers is None else markers)
    return (
        *(each for each in own if not isinstance(each, str)),
        *(_made(name, value, offered) for name in FROM_OUTSIDE if _on(value := names.get(name))),
        *([ends_turn(last)] if last else []),
        *([] if most is None else [cap_calls(most)]),
        nudge,
        *([reformatting(done)] if repair else []),
        *([over_budget] if options.get("budget") is not None else []),
    )


def _named(own: Iterable[Any], options: Mapping[str, Any]) -> dict[str, Any]:
    names = {each: True for each in own if isinstance(each, str)}
    for name in names:
        if name not in FROM_OUTSIDE:
            raise Unknown("around", name, FROM_OUTSIDE)
    return {**names, **{name: options[name] for name in FROM_OUTSIDE if name in options}}


def _on(value: Any) -> bool:
    return value is not None and value is not False


def _made(name: str, value: Any, offered: ToolSet) -> Around:
    """Make an around of an option: True for its defaults, a number for what it counts, a dict for all of its parameters."""
    make, number = FROM_OUTSIDE[name]
    if not number and value is not True and not isinstance(value, Mapping):
        raise UsageError(f"{name} is True, or a dict of its parameters, not {value!r}")
    settings = dict(value) if isinstance(value, Mapping) else {} if value is True else {number: value}
    for pin in settings.get("pins", ()):
        if all(tool.name != pin for tool in offered.tools):
            raise Unknown("tool", pin, [tool.name for tool in offered.tools])
    try:
        return make(**settings)
    except TypeError as error:
        raise UsageError(f"{name}={value!r} is True, a number, or a dict of its parameters: {error}") from error
