"""The arounds of a run, chosen by an agent's options: which ones, in which order, and the tools that they need."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from agentkit.around.base import Around
from agentkit.around.check_completion import check_completion
from agentkit.around.clear_results import BEGINNING, clear_results
from agentkit.around.compaction import compact
from agentkit.around.completion import MARKERS, pattern
from agentkit.around.ends_turn import ends_turn
from agentkit.around.mark_results import mark_results
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


def _result_at(result_address: str) -> str:
    """Return the full result with an address, from the trace of the run whose tool is asking."""
    line = DRIVING.get().trace.line
    results = (entry.result.text for entry in reversed(line.entries) if entry.kind == "act")
    text = next((text for text in results if address(text) == result_address.strip()), None)
    if text is None:
        raise UsageError("there is no such result; copy the address from the end of the shortened result")
    return text


FROM_OUTSIDE: dict[str, tuple[Callable[..., Around], str]] = {
    "check_completion": (check_completion, "most"),
    "self_check": (self_check, "every"),
    "structured_thinking": (think_in_data, ""),
    "select_tools": (lambda **options: select_tools(meta_tools.load_tools, **options), "over"),
    "revise_calls": (lambda: revise_calls(meta_tools.revise_call()), ""),
    "offload": (lambda **options: offload(meta_tools.read_result(_result_at), **options), "over"),
    "window": (window, "turns"),
    "clear_results": (clear_results, "keep"),
    "compact": (compact, "tokens"),
    "warn_cycles": (warn_cycles, "after"),
    "max_failures": (stop_after_failures, "most"),
    "mark_results": (mark_results, ""),
}
"""The arounds that an option brings, the outermost first, and for each the parameter that a bare number sets."""

DEFAULTS: dict[str, Any] = {"clear_results": {"shown": BEGINNING}}
"""The arounds that are on unless an agent switches them off with False, and their parameters."""

_TOOLS: dict[str, Callable[[], Any]] = {
    "select_tools": meta_tools.load_tools,
    "revise_calls": meta_tools.revise_call,
    "offload": lambda: meta_tools.read_result(_result_at),
}


def offered_tools(own: ToolSet, options: Mapping[str, Any], given: Iterable[Any]) -> ToolSet:
    """Return the tools that an engine is offered: the agent's own, and `discover` if that option is on."""
    option = options.get("discover")
    if option is None or option is False:
        return own
    offered: list[ToolSet] = []  # a list, because `discover` needs the tools that it belongs to
    root = None if option is True else option
    discover = meta_tools.discover(lambda: [tool for tool in offered[0] if tool.name != "discover"], root)
    offered.append(ToolSet.of([*given, discover]))
    return offered[0]


def performed_tools(offered: ToolSet, options: Mapping[str, Any]) -> ToolSet:
    """Return the tools that can be performed: those that are offered, and those that arounds add."""
    names = _named(options)
    added = [make() for name, make in _TOOLS.items() if _is_on(names.get(name))]
    return ToolSet.of([offered, *added]) if added else offered


def stack(offered: ToolSet, options: Mapping[str, Any], *, is_complete: bool = True) -> tuple[Around, ...]:
    """Return the arounds of a run, the outermost first; names of tools are checked if `offered` is complete.

    Raises `Unknown` for an unknown name, `ValueError` for a value out of range.
    """
    names = _named(options)
    last = frozenset(tool.name for tool in offered.tools if tool.ends_turn)
    markers = options.get("completion_markers")
    known = offered.names if is_complete else None
    return (
        *(around for around in options.get("arounds") or () if not isinstance(around, str)),
        *(_made(name, value, known) for name in FROM_OUTSIDE if _is_on(value := names.get(name))),
        *([ends_turn(last)] if last else []),
        nudge,
        *([reformatting(pattern(MARKERS if markers is None else markers))] if options.get("repair") != 0 else []),
    )


def _named(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arounds that are on or off by name, and their parameters."""
    names = {around: True for around in options.get("arounds") or () if isinstance(around, str)}
    for name in names:
        if name not in FROM_OUTSIDE:
            raise Unknown("around", name, FROM_OUTSIDE)
    given = {name: value for name in FROM_OUTSIDE if (value := options.get(name)) is not None}
    return {**DEFAULTS, **names, **given}


def _is_on(value: Any) -> bool:
    return value is not None and value is not False


def _made(name: str, value: Any, known: tuple[str, ...] | None) -> Around:
    """Return the around for an option: True for its defaults, a number for its main parameter, a dict for several."""
    make, number = FROM_OUTSIDE[name]
    if not number and value is not True and not isinstance(value, Mapping):
        raise UsageError(f"{name} must be True, or a dict of its parameters, not {value!r}")
    settings = dict(value) if isinstance(value, Mapping) else {} if value is True else {number: value}
    for pin in settings.get("pins", ()):
        if known is not None and pin not in known:
            raise Unknown("tool", pin, known)
    try:
        return make(**settings)
    except TypeError as error:
        raise UsageError(f"{name}={value!r} must be True, a number, or a dict of its parameters: {error}") from error
