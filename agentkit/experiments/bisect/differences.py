"""In what two runs of a task differ: the settings of their agents, part by part, and what people did on their lines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agentkit.agent import arounds, recorded
from agentkit.agent.agent import Agent
from agentkit.core.messages import Reply, canonical
from agentkit.core.secrets import mask
from agentkit.core.steps import Loop
from agentkit.core.text import call_text, one_line
from agentkit.engines import registry
from agentkit.errors import UsageError
from agentkit.experiments.identity import content, identity_of_model
from agentkit.gates.guards import OPTIONS as GUARDS
from agentkit.gates.guards import Approval, Guards
from agentkit.journal.entries import Entry
from agentkit.models.base import name_of
from agentkit.run.run import Run
from agentkit.tools.tool import Tool

_ELSEWHERE = (
    *("instructions", "context", "journal", "audit", "on_event", "on_step", "raise_errors", "steering", "within"),
    *("roles", "settings", "dialect", "retained_turns", "session_memory", "recall", *GUARDS),
)
"""Options of an agent that are looked at apart, or that do not change what a run does."""

_WIDTH = 60
"""The number of characters of a value in a sentence."""


@dataclass(slots=True, frozen=True)
class Setting:
    """One part of what an agent does its runs with: its value, what makes it the same one, and a text to show."""

    value: Any
    identity: Any
    text: str


ABSENT = Setting(None, None, "none")
"""What stands for a setting that a run does not have."""


def settings_of(run: Run) -> dict[str, Setting]:
    """Return the settings of a run by name: "model", "tool price", "engine option max_iterations", "budget" …"""
    agent, task = run.agent.prepared(), run.task
    code = registry.source(agent.engine)["source_digest"]
    found = {
        "engine": Setting(
            agent.engine, [agent.engine_name, code, content(agent.engine)], agent.engine_name.rpartition(":")[2]
        )
    }
    for name, value in agent.engine_options.items():
        found[f"engine option {name}"] = _setting(value)
    found["model"] = _model(agent.model)
    found |= {f"model for {role}": _model(model) for role, model in agent.roles.items()}
    for name in ("dialect", "temperature"):
        found[name] = _setting(task.get(name))
    found |= {f"setting {name}": _setting(value) for name, value in (agent.options.get("settings") or {}).items()}
    for tool in given_tools(agent):
        found[f"tool {tool.name}"] = Setting(tool, content(tool), one_line(tool.description, _WIDTH, mask))
    names = sorted({*recorded.OPTIONS, *agent.options} - {*_ELSEWHERE})
    found |= {f"option {name}": _setting(recorded.option(agent.options, name)) for name in names}
    return {name: setting for name, setting in (found | _guards(run.guards)).items() if setting.value is not None}


def _setting(value: Any) -> Setting:
    return Setting(value, content(value), one_line(repr(value), _WIDTH, mask))


def _model(model: Any) -> Setting:
    return Setting(model, identity_of_model(model), name_of(model))


def _guards(guards: Guards) -> dict[str, Setting]:
    texts, found = dict(guards.rows), dict[str, Setting]()
    default, data = Guards(), guards.to_json()
    for name in GUARDS:
        value = getattr(guards, name)
        if value != getattr(default, name):
            functions = [value.function] if isinstance(value, Approval) else _functions(value)
            found[name] = Setting(value, [data.get(name), content(functions)], one_line(texts[name], _WIDTH))
    return found


def _functions(value: Any) -> list[Any]:
    return [hook.function for hook in value] if isinstance(value, tuple) else []


def given_tools(agent: Agent) -> list[Tool]:
    """Return the tools that a prepared agent was given, those of its sources, too."""
    parts = ([part] if isinstance(part, Tool) else part.tools or [] for part in agent.given_tools)
    return [tool for part in parts for tool in part]


def differing(run: Run, other: Run) -> list[str]:
    """Return the names of the settings in which two runs differ, in the order in which they are applied."""
    mine, its = settings_of(run), settings_of(other)
    names = [
        name
        for name in dict.fromkeys([*mine, *its])
        if canonical(mine.get(name, ABSENT).identity) != canonical(its.get(name, ABSENT).identity)
    ]
    if "engine" in names:  # its options are part of it
        names = [name for name in names if not name.startswith("engine option ")]
    return names


def in_words(name: str, run: Run, other: Run) -> str:
    """Return how a setting of `other` differs from that of `run`."""
    mine, its = settings_of(run).get(name, ABSENT), settings_of(other).get(name, ABSENT)
    if its is ABSENT and name.startswith("tool "):
        return f"{name}: taken away"
    if mine is ABSENT and name.startswith("tool "):
        return f"{name}: added"
    if mine.text == its.text:
        return f"{name}: changed (its code, its schema or its settings)"
    return f"{name}: {mine.text} → {its.text}"


def arguments(run: Run, other: Run, names: Iterable[str]) -> dict[str, Any]:
    """Return what `Agent.using` and `Run.fork` need so that the agent of `run` has these settings of `other`.

    The temperature is not among them: it is set for a run.
    """
    wanted = set(names)
    if not wanted:
        return {}
    mine, its = run.agent.prepared(), other.agent.prepared()
    theirs, found = settings_of(other), dict[str, Any]()
    taken = [name for name in dict.fromkeys([*theirs, *settings_of(run)]) if name in wanted]  # the order counts: tools

    def changed(prefix: str, present: Mapping[str, Any]) -> dict[str, Any]:
        """Return values by name, with those of `other` whose settings have names with this prefix."""
        values = dict(present)
        for name in [name.removeprefix(prefix) for name in taken if name.startswith(prefix)]:
            if (setting := theirs.get(f"{prefix}{name}")) is not None:
                values[name] = setting.value
            else:
                values.pop(name, None)
        return values

    loops = {**mine.given_loops, **its.given_loops}
    if "engine" in taken:
        found["engine"] = Loop(its.engine, **registry.build(its.engine, its.engine_options, its.given_loops))
    elif any(name.startswith("engine option ") for name in taken):
        options = changed("engine option ", mine.engine_options)
        found["engine"] = Loop(mine.engine, **registry.build(mine.engine, options, loops))
    if "model" in taken:
        found["model"] = its.model
    if any(name.startswith("model for ") for name in taken):
        found["roles"] = changed("model for ", mine.roles) or None
    if "dialect" in taken:
        found["dialect"] = other.task.get("dialect")
    if any(name.startswith("setting ") for name in taken):
        found["settings"] = changed("setting ", mine.options.get("settings") or {}) or None
    if any(name.startswith("tool ") for name in taken):
        found["tools"] = list(changed("tool ", {tool.name: tool for tool in given_tools(mine)}).values())
    for name in taken:
        if name.startswith("option "):
            option = name.removeprefix("option ")
            setting = theirs.get(name)
            found[option] = False if setting is None and option in _SWITCHES else setting and setting.value
        elif name in GUARDS:
            found[name] = _guard_option(name, other)
    return found


_SWITCHES = frozenset(arounds.DEFAULTS)
"""Options that are on by default, so that only False takes them away."""


def guard_options(run: Run) -> dict[str, Any]:
    """Return the guards of a run as options of an agent."""
    return {name: _guard_option(name, run) for name in GUARDS}


def _guard_option(name: str, run: Run) -> Any:
    value = getattr(run.guards, name)
    if isinstance(value, Approval):
        if value.function is not None and (value.tools or value.everything):
            is_needed = value.is_needed
            return lambda call: is_needed(call)
        return value.function or value.everything or sorted(value.tools)
    return value or None


# -- on the line -------------------------------------------------------------------------------------------------------

_NOBODY = ("model", "tool", "host", "gate", "hook", "recording", "approver", "nobody", "")
"""The authors of entries that no person wrote."""


def is_by_person(entry: Entry) -> bool:
    """Return whether a person wrote an entry: an edit, an answer, or a decision. A result that is used again is not."""
    return entry.kind != "begin" and not entry.repeats and (bool(entry.original) or entry.author not in _NOBODY)


def entry_in_words(entry: Entry, original: Entry | None) -> str:
    """Return what a person did at a step."""
    where = entry.step_name or (f"the {entry.kind} step" if entry.kind != "ask" else "the question")
    now = _result(entry.result)
    if original is not None:
        return f"the edit of {where} ({_result(original.result)} → {now})"
    return f"the answer of a person at {where} ({now})"


def _result(result: Any) -> str:
    """Return a result as a short text."""
    if isinstance(result, Reply):
        text = ", ".join(map(call_text, result.calls)) or result.answer or result.text or result.raw
    else:
        text = getattr(result, "text", result)
    return repr(one_line(text, _WIDTH, mask))


# -- what can be compared ----------------------------------------------------------------------------------------------


def check_openable(run: Run, name: str) -> Run:
    """Return a run that has ended and of which forks can be made with what it was made with; it is opened if need be.

    Raises `UsageError`, which says what is in the way and what to do.
    """
    if run.control.running:
        raise UsageError(f"{name}, {run.id}, is still going on; wait for its end first: run.wait()")
    if run.missing:
        missing = ", ".join(map(str, run.missing))
        raise UsageError(
            f"{name}, {run.id}, was made with what is not here: {missing}; open it with an agent that has that: "
            f"Agent(model, tools).resume({run.id!r})"
        )
    if isinstance(run.agent.model, recorded.AbsentModel):
        raise UsageError(f"{name}, {run.id}, was opened to look at; agent.resume({run.id!r}) opens it with its model")
    if run.control.sealed and run.agent.journal is not None and run.trace.journal is run.agent.journal:
        run = run.agent.resume(run.id)
    if run.control.sealed:
        raise UsageError(f"{name}, {run.id}, cannot be forked: {run.control.sealed}")
    if opened := run.trace.opened_with:
        changed = ", ".join(sorted(opened.keys() - {"author"}))
        raise UsageError(
            f"{name}, {run.id}, was opened by an agent with another {changed} than it was made with; open it with an "
            f"agent that leaves that out: Agent(tools=…).resume({run.id!r})"
        )
    now = {tool.name: tool.digest for tool in run.agent.prepared().tools.tools}
    if stale := [tool for tool, digest in run.task["tools"].items() if tool in now and now[tool] != digest]:
        raise UsageError(
            f"{name}, {run.id}, was made with another version of {', '.join(stale)}; pass the tool as it was then"
        )
    engine, code = run.task["engine"], run.task.get("source_digest")
    if code and code != registry.source(run.agent.engine)["source_digest"]:
        raise UsageError(
            f"{name}, {run.id}, was made with other code of the engine {engine.rpartition(':')[2]!r}, which is not "
            "here; make the run again with today's code: agent.run(task)"
        )
    is_over = run.trace.answer is not None or run.error is not None or run.result.reason.startswith("budget:")
    if not is_over:
        raise UsageError(f"{name}, {run.id}, has not ended ({run.status}); drive it to its end first: run.drive()")
    return run
