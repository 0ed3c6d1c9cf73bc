"""What guards a run: approvals, remembered answers, the policy for repeated calls, the budget, breakpoints, and hooks.

Guards are part of the run. Entry 0 records those that it starts with, and a row of the kind "guards" every change, with
its author; so a run that is opened again is guarded as before. An agent that opens it can only add to its guards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, get_args

from agentkit.core.display import Displayed
from agentkit.core.messages import Call
from agentkit.core.secrets import mask
from agentkit.core.text import one_line
from agentkit.errors import UsageError
from agentkit.gates.breakpoints import Breakpoint
from agentkit.gates.limits import NAMES, Budget
from agentkit.gates.permissions import Permissions, only_strict
from agentkit.hooks.builtin import BUILTIN, restored
from agentkit.hooks.guardrail import guardrails_of
from agentkit.hooks.hook import Hook, both, hooks_of
from agentkit.hooks.hook import from_json as hook_from_json
from agentkit.inert import inert_lines
from agentkit.journal.entries import Entry, Note, Row
from agentkit.tools.tool import Repeat

Json = dict[str, Any]

OPTIONS = ("approve", "budget", "repeat", "permissions", "hooks", "guardrails")
"""The options of an agent that guard its runs."""

WAIVABLE = ("approve", "breakpoints", "hooks", "guardrails")
"""The guards that `resume` can do without if they cannot be restored."""


@dataclass(frozen=True, slots=True)
class Approval:
    """Which calls need a person's approval: all, those of some tools, or those for which a function is true.

    `name` is the name of the function; if only the name is known, the function cannot be restored.
    """

    everything: bool = False
    tools: frozenset[str] = frozenset()
    function: Callable[[Call], Any] | None = None
    name: str = ""

    @classmethod
    def of(cls, option: Any) -> Approval:
        """Return the approvals that an agent's option `approve` asks for."""
        if isinstance(option, Approval):
            return option
        if callable(option):
            return cls(function=option, name=getattr(option, "__qualname__", type(option).__name__))
        return cls(everything=option is True, tools=frozenset(() if isinstance(option, bool) else option or ()))

    def is_needed(self, call: Call) -> bool:
        """Return whether a call needs approval. Raises what the function raises."""
        if self.everything or call.name in self.tools:
            return True
        return self.function is not None and bool(self.function(call))

    @property
    def text(self) -> str:
        """The calls that need approval, in words; "" if none do."""
        tools = ["every call"] if self.everything else sorted(self.tools)
        missing = "" if self.function else ", which is not available"
        return ", ".join([*tools, f"calls for which {self.name} is true{missing}"] if self.name else tools)

    def tightened_by(self, other: Approval) -> Approval:
        """Return the approvals that are needed if both apply; a function counts for a recorded one of the same name."""
        decides = other if other.function and self.name in ("", other.name) else self
        return Approval(self.everything or other.everything, self.tools | other.tools, decides.function, decides.name)

    def to_json(self) -> Any:
        """Return the approvals as JSON data, a function by its name."""
        if self.name:
            return {"all": self.everything, "tools": sorted(self.tools), "function": self.name}
        return self.everything or sorted(self.tools)

    @classmethod
    def from_json(cls, data: Any) -> Approval:
        """Return recorded approvals. Raises `UsageError` if the data is something else."""
        if isinstance(data, dict):
            tools, name = data.get("tools", []), data.get("function", "")
            if _is_names(tools) and isinstance(name, str):
                return cls(data.get("all") is True, frozenset(tools), None, name)
        elif isinstance(data, bool) or _is_names(data):
            return cls.of(data)
        raise UsageError(f"the recorded approvals cannot be read: {data!r:.100}")


@dataclass(slots=True, repr=False)
class Guards(Displayed):
    """The guards of a run.

    `approve` says which calls a person must approve, `remembered` which tools a person has always allowed (true) or
    always rejected (false). `repeat` is the policy for repeated calls by tool, with "" for all others: "ask" (the
    default), "reuse" or "allow". `permissions` are the rules about which calls are made, asked about, or never made.
    `hooks` and `guardrails` run before and after its steps.
    """

    approve: Approval = field(default_factory=Approval)
    budget: Budget = field(default_factory=Budget)
    repeat: dict[str, str] = field(default_factory=dict)
    remembered: dict[str, bool] = field(default_factory=dict)
    breakpoints: list[Breakpoint] = field(default_factory=list)
    permissions: Permissions = field(default_factory=Permissions)
    hooks: tuple[Hook, ...] = ()
    guardrails: tuple[Hook, ...] = ()

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Guards:
        """Return the guards that the options of an agent ask for."""
        return cls(
            Approval.of(options.get("approve")),
            Budget.of(options.get("budget") or Budget()),
            policies(options.get("repeat")),
            permissions=Permissions.of(options.get("permissions")),
            hooks=hooks_of(options.get("hooks")),
            guardrails=guardrails_of(options.get("guardrails"), BUILTIN),
        )

    def changed(self, changes: Mapping[str, Any]) -> Guards:
        """Return these guards with some replaced, given like options of an agent; None takes a guard away.

        The permissions in the settings file of the person stay.
        """
        given = Guards.of(changes)
        given.permissions = self.permissions.replaced_by(given.permissions)
        return replace(self, **{name: getattr(given, name) for name in OPTIONS if name in changes})

    def copy(self) -> Guards:
        """Return the same guards for another run, with breakpoints of its own."""
        return replace(self, breakpoints=[point.copy() for point in self.breakpoints])

    def tightened_by(self, other: Guards) -> Guards:
        """Return these guards and those of another set that are stricter."""
        stricter = {name: policy for name, policy in other.repeat.items() if policy != "allow"}
        kept = {name: policy for name, policy in self.repeat.items() if policy != "allow" or name not in stricter}
        return replace(
            self,
            approve=self.approve.tightened_by(other.approve),
            budget=_stricter(self.budget, other.budget),
            repeat={**stricter, **kept},
            permissions=self.permissions.tightened_by(other.permissions),
            hooks=both(self.hooks, other.hooks),
            guardrails=both(self.guardrails, other.guardrails),
        )

    def differences(self, other: Guards) -> tuple[str, ...]:
        """Return the names of the guards that are recorded differently."""
        mine, its = self.to_json(), other.to_json()
        return tuple(option.name for option in fields(self) if mine.get(option.name) != its.get(option.name))

    @property
    def missing(self) -> list[tuple[str, str]]:
        """What cannot be restored, each with the name by which it is waived: the functions of guards."""
        approval = self.approve.name if self.approve.name and not self.approve.function else ""
        lost = [point.when.text for point in self.breakpoints if isinstance(point.when, Lost)]
        approvals = [("approve", f"approve={approval}")] if approval else []
        hooks = [(name, hook) for name in ("hooks", "guardrails") for hook in getattr(self, name)]
        return [
            *approvals,
            *(("breakpoints", f"the breakpoint when={text}") for text in lost),
            *((name, f"the {hook}") for name, hook in hooks if hook.function is None),
        ]

    def without(self, waived: Iterable[str]) -> Guards:
        """Return these guards without those that cannot be restored and are waived by name, as in `WAIVABLE`.

        Raises `UsageError` for another name.
        """
        guards = self
        for name in waived:
            if name == "approve":
                guards = replace(guards, approve=replace(guards.approve, function=None, name=""))
            elif name == "breakpoints":
                kept = [point for point in guards.breakpoints if not isinstance(point.when, Lost)]
                guards = replace(guards, breakpoints=kept)
            elif name in ("hooks", "guardrails"):
                kept_hooks: Any = {name: tuple(hook for hook in getattr(guards, name) if hook.function is not None)}
                guards = replace(guards, **kept_hooks)
            else:
                raise UsageError(f"only {', '.join(map(repr, WAIVABLE))} can be waived, not {name!r}")
        return guards

    @property
    def rows(self) -> list[list[str]]:
        """The name and the text of each guard."""
        policies = {**self.repeat, "": self.repeat.get("", "ask")}
        breakpoints = [point.text + ("" if point.enabled else " (disabled)") for point in self.breakpoints]
        texts = {
            "approve": [self.approve.text],
            "budget": [f"{name}={value}" for name, value in _budget_to_json(self.budget).items()],
            "repeat": [f"{name or 'all other tools'}: {policies[name]}" for name in sorted(policies, reverse=True)],
            "remembered": [
                f"{name}: always {'allowed' if is_allowed else 'rejected'}"
                for name, is_allowed in self.remembered.items()
            ],
            "breakpoints": breakpoints,
            "permissions": [self.permissions.text],
            "hooks": [f"{hook.name} ({hook.point})" for hook in self.hooks],
            "guardrails": [f"{hook.name} ({hook.checks}: {hook.action})" for hook in self.guardrails],
        }
        return [[name, mask(", ".join(filter(None, parts)) or "none")] for name, parts in texts.items()]

    @inert_lines
    def __repr__(self) -> str:
        return "Guards\n" + "\n".join(f"  {name:<11}  {one_line(text)}" for name, text in self.rows)

    def to_json(self) -> Json:
        """Return the guards as JSON data, without those that are not set."""
        default = Guards()
        data = {
            "approve": self.approve.to_json() if self.approve != default.approve else None,
            "budget": _budget_to_json(self.budget) if self.budget != default.budget else None,
            "repeat": dict(self.repeat),
            "remembered": dict(self.remembered),
            "breakpoints": [_breakpoint_to_json(point) for point in self.breakpoints],
            "permissions": self.permissions.to_json(),
            "hooks": [hook.to_json() for hook in self.hooks],
            "guardrails": [hook.to_json() for hook in self.guardrails],
        }
        return {name: value for name, value in data.items() if value}

    @classmethod
    def recorded(cls, start: Any, rows: Iterable[Row], run: str) -> Guards:
        """Return the guards of a run: those that it started with, and the changes since. Raises `UsageError`."""
        data = dict(start) if isinstance(start, dict) else start
        for row in rows:
            if isinstance(row, Note) and row.kind == "guards" and row.run == run and isinstance(data, dict):
                data.update((option.name, row.data[option.name]) for option in fields(cls) if option.name in row.data)
        return cls.from_json(data)

    @classmethod
    def from_json(cls, data: Any) -> Guards:
        """Return recorded guards. Raises `UsageError` if the data is something else."""
        if not isinstance(data, dict):
            raise UsageError(f"the recorded guards cannot be read: {data!r:.100}")
        remembered, points = data.get("remembered") or {}, data.get("breakpoints") or []
        is_answers = isinstance(remembered, dict) and all(isinstance(answer, bool) for answer in remembered.values())
        hooks, guardrails = data.get("hooks") or [], data.get("guardrails") or []
        if not is_answers or not all(isinstance(items, list) for items in (points, hooks, guardrails)):
            raise UsageError(f"the recorded guards cannot be read: {data!r:.100}")
        try:
            return cls(
                Approval.from_json(data.get("approve") or False),
                Budget.of(data.get("budget") or {}),
                policies(data.get("repeat")),
                dict(remembered),
                [_breakpoint_from_json(point) for point in points],
                Permissions.from_json(data.get("permissions") or []),
                tuple(hook_from_json(hook) for hook in hooks),
                tuple(restored(hook_from_json(hook)) for hook in guardrails),
            )
        except (ValueError, TypeError) as error:
            raise UsageError(f"the recorded guards cannot be read: {error}") from None


class Lost:
    """The condition of a breakpoint that was a function in another process; only its text is known."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.__name__ = text

    def __call__(self, entry: Any) -> bool:
        raise UsageError(f"the condition {self.text} is not available in this process")


def disallow(row: Row) -> None:
    """Remove from a row of a file what it allows: a file can guard a run, but not loosen what guards it."""
    if isinstance(row, Entry):
        if row.kind == "begin" and isinstance(row.result, dict) and "guards" in row.result:
            row.result = {**row.result, "guards": _only_strict(row.result["guards"])}
    elif row.kind == "guards":
        row.data = _only_strict(row.data)
    elif row.kind == "budget":
        row.data = {**row.data, "of": 0}  # an extension of no limit
    elif isinstance(changes := row.data.get("changes"), dict) and "guards" in changes:
        row.data = {**row.data, "changes": {**changes, "guards": _only_strict(changes["guards"])}}


def _only_strict(guards: Any) -> Any:
    if not isinstance(guards, dict):
        return guards
    strict = dict(guards)
    for name, allowed in (("repeat", "allow"), ("remembered", True)):
        if isinstance(given := guards.get(name), dict):
            strict[name] = {tool: value for tool, value in given.items() if value != allowed}
    if "permissions" in guards:
        strict["permissions"] = only_strict(guards["permissions"])
    return strict


def policies(option: Any) -> dict[str, str]:
    """Return the policies for repeated calls by tool, with "" for all others. Raises `UsageError` if one is unknown."""
    by_tool = option if isinstance(option, Mapping) else {"": option} if option is not None else {}
    for name, policy in by_tool.items():
        if policy not in get_args(Repeat) or not isinstance(name, str):
            known = ", ".join(get_args(Repeat))
            raise UsageError(f"repeat must be one of {known}, or a dict of them by tool, not {option!r:.100}")
    return dict(by_tool)


def _stricter(budget: Budget, other: Budget) -> Budget:
    """Return a budget with the lower of each two limits."""
    both = budget.limits, other.limits
    limits = {name: min((limits[name] for limits in both if name in limits), default=None) for name in NAMES}
    return replace(budget, **limits, ask=budget.ask if other.ask is None else other.ask)  # type: ignore[arg-type]


def _budget_to_json(budget: Budget) -> Json:
    default = Budget()
    values = {option.name: getattr(budget, option.name) for option in fields(Budget)}
    return {name: value for name, value in values.items() if value != getattr(default, name)}


def _breakpoint_to_json(point: Breakpoint) -> Json:
    data = {name: value for name in Breakpoint.CONDITIONS if (value := getattr(point, name)) not in (None, False)}
    if point.when is not None:
        data["when"] = point.when_text
    return data | ({"file": point.file} if point.file else {}) | ({} if point.enabled else {"enabled": False})


def _breakpoint_from_json(data: Any) -> Breakpoint:
    if not isinstance(data, dict):
        raise UsageError(f"a recorded breakpoint cannot be read: {data!r:.100}")
    kinds = {"tool": str, "role": str, "line": int, "error": bool, "repeat": bool, "when": str, "file": str}
    condition = {name: value for name, value in data.items() if name != "enabled"}
    if any(not isinstance(value, kinds.get(name, object)) for name, value in condition.items()):
        raise UsageError(f"a recorded breakpoint cannot be read: {data!r:.100}")
    if "when" in condition:
        condition["when"] = Lost(condition["when"])
    point = Breakpoint.of(condition)
    point.enabled = data.get("enabled") is not False
    return point


def _is_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)
