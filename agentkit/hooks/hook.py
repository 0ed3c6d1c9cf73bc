"""A hook: a function that runs before or after tools, model calls or runs, and when it does."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

from agentkit.around.synthesis import ROLE
from agentkit.core.messages import canonical
from agentkit.core.steps import Act, Conclude, Think
from agentkit.errors import UsageError
from agentkit.hooks.decision import CHANGES
from agentkit.inert import inert
from agentkit.tools.toolset import ToolSet

When = Literal["before", "after"]
Of = Literal["tool", "model", "run"]
TIMEOUT = 10.0
MOST = 15
"""How often one hook can have a run go on."""

Data = dict[str, Any]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Hook:
    """A function that runs `when` ("before" or "after") a tool, a model call or a run (`of`).

    `tool` is a pattern of tool names, as in "shell*". Hooks with a higher `priority` run first. It must decide within
    `timeout` seconds. A hook after a run can have it go on `most` times. A guardrail also has the name of what it
    `checks` and the `action` when it trips. `options` are those with which a built-in guardrail was made. `function` is
    None if it is only known from a recording. One that `is_around` has a model decide, in steps of its own.
    """

    function: Callable[..., Any] | None
    name: str
    when: str
    of: str = "tool"
    tool: str = "*"
    priority: int = 0
    timeout: float = TIMEOUT
    most: int = MOST
    checks: str = ""
    action: str = ""
    options: Data = field(default_factory=dict)
    is_around: bool = False

    def __call__(self, *args: Any) -> Any:
        """Call the function."""
        if self.function is None:
            raise UsageError(f"{self} is not available in this process")
        return self.function(*args)

    def to_json(self) -> Data:
        """Return what a recording says about the hook; its function is only named."""
        data: Data = {"name": self.name, "when": self.when, "of": self.of}
        more = {"tool": self.tool, "checks": self.checks, "action": self.action, "options": self.options}
        default = {"tool": "*", "checks": "", "action": "", "options": {}}
        return data | {name: value for name, value in more.items() if value != default[name]}

    @property
    def label(self) -> str:
        """The kind and the short name of the hook."""
        return f"{'guardrail' if self.checks else 'hook'} {self.short_name!r}"

    @property
    def short_name(self) -> str:
        """The name without that of the module, and of the function in which it was defined."""
        return self.name.rpartition(":")[2].rpartition("<locals>.")[2]

    @property
    def point(self) -> str:
        """When the hook runs, in words."""
        if self.of == "tool":
            return f"{self.when} {'every tool' if self.tool == '*' else f'the tools {self.tool}'}"
        return f"{self.when} {'each model call' if self.of == 'model' else 'the run'}"

    @inert
    def __repr__(self) -> str:
        return f"{'guardrail' if self.checks else 'hook'} {self.name!r} ({self.point})"


def hook(
    when: When,
    of: Of = "tool",
    *,
    tool: str = "*",
    priority: int = 0,
    timeout: float = TIMEOUT,
    most: int = MOST,
    name: str = "",
) -> Callable[[Callable[..., Any]], Hook]:
    """Return a decorator that makes a hook of a function, even of an asynchronous one.

    Before a tool, the function is called with the `Call`; after it, with the call and the `Message` with its result;
    before a model call, with the `Think`, and after it, with the `Think` and the `Reply`; before a run, with the `Chat`
    of its task, and after it, with the text of its answer. It returns a decision, or None to go on. After a run it may
    return a text, with which the run goes on, at most `most` times. Raises `UsageError`.
    """
    if (when, of) not in CHANGES:
        raise UsageError(f'a hook runs "before" or "after" a "tool", a "model" call or a "run", not {when!r}, {of!r}')
    if not isinstance(tool, str) or not tool:
        raise UsageError(f'tool must be a pattern of tool names such as "shell*", not {tool!r}')
    if tool != "*" and of != "tool":
        raise UsageError(f"a hook {when} a {of} has no tool; leave out tool={tool!r}")
    if isinstance(priority, bool) or not isinstance(priority, int):
        raise UsageError(f"priority must be an integer, not {priority!r}")
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not 0 < timeout < math.inf:
        raise UsageError(f"timeout must be a number of seconds greater than 0, not {timeout!r}")
    if isinstance(most, bool) or not isinstance(most, int) or most < 1:
        raise UsageError(f"most must be an integer of at least 1, not {most!r}")

    def make(function: Callable[..., Any]) -> Hook:
        if isinstance(function, Hook) or not callable(function):
            raise UsageError(f"a hook is made of a function, not of {function!r:.100}")
        return Hook(function, name or name_of(function), when, of, tool, priority, float(timeout), most)

    return make


def name_of(function: Any) -> str:
    """Return the name by which a recording names a function: that of its module, and its own."""
    own = getattr(function, "__qualname__", None) or type(function).__qualname__
    return f"{getattr(function, '__module__', None) or '?'}:{own}"


def hooks_of(option: Any) -> tuple[Hook, ...]:
    """Return the hooks of an agent's option. Raises `UsageError` for anything else."""
    given = [option] if isinstance(option, Hook) else list(option or ())
    for one in given:
        if not isinstance(one, Hook):
            raise UsageError(f'hooks are functions under @hook("before", …) or @hook("after", …), not {one!r:.100}')
    return tuple(given)


def from_json(data: Any) -> Hook:
    """Return a recorded hook, without its function. Raises `UsageError` if the data is something else."""
    kinds = {"name": str, "when": str, "of": str, "tool": str, "checks": str, "action": str, "options": dict}
    if not isinstance(data, dict) or not {"name", "when", "of"} <= data.keys() <= kinds.keys():
        raise UsageError(f"a recorded hook cannot be read: {data!r:.100}")
    if any(not isinstance(value, kinds[name]) for name, value in data.items()):
        raise UsageError(f"a recorded hook cannot be read: {data!r:.100}")
    if data["when"] not in get_args(When) or data["of"] not in get_args(Of):
        raise UsageError(f"a recorded hook cannot be read: {data!r:.100}")
    return Hook(None, **data)


def both(recorded: Iterable[Hook], given: Iterable[Hook]) -> tuple[Hook, ...]:
    """Return recorded hooks, each with the function of a given one that is recorded alike, and the other given ones."""
    left, found = list(given), []
    for hook in recorded:
        same = next((other for other in left if canonical(other.to_json()) == canonical(hook.to_json())), None)
        if same is not None:
            left.remove(same)
        found.append(same if same is not None and hook.function is None else hook)
    return (*found, *left)


class HookSet:
    """The hooks of a run, those with a higher priority first, found by the steps that they see."""

    def __init__(self, hooks: Iterable[Hook], tools: ToolSet) -> None:
        self._tools = tools
        self._at: dict[tuple[str, str], tuple[Hook, ...]] = {}
        for hook in sorted((hook for hook in hooks if not hook.is_around), key=lambda hook: -hook.priority):
            self._at[hook.when, hook.of] = (*self._at.get((hook.when, hook.of), ()), hook)

    def at(self, when: When, of: Of) -> tuple[Hook, ...]:
        """Return the hooks at this point, for every tool."""
        return self._at.get((when, of), ())

    def before(self, step: Any) -> tuple[Hook, ...]:
        """Return the hooks that decide about a step before it is performed; the answer of a run is such a step."""
        if type(step) is Act:
            return self._of_call(step, "before")
        if type(step) is Think:
            return self.at("before", "model")
        return self.at("after", "run") if type(step) is Conclude else ()

    def after(self, step: Any) -> tuple[Hook, ...]:
        """Return the hooks that see the result of a step; those of answers also see a result that ends the run."""
        if type(step) is Act:
            hooks, tool = self._of_call(step, "after"), self._tools.find(step.call.name)
            return (*hooks, *self._of_answers()) if tool is not None and tool.ends_turn else hooks
        if type(step) is Think:
            hooks = self.at("after", "model")
            return (*hooks, *self._of_answers()) if step.role == ROLE else hooks
        return ()

    def _of_answers(self) -> tuple[Hook, ...]:
        """Return the guardrails that check the answer."""
        return tuple(hook for hook in self.at("after", "run") if hook.checks)

    def _of_call(self, step: Act, when: When) -> tuple[Hook, ...]:
        """Return the hooks for a call; none if it cannot be performed, because its tool or arguments are unreadable."""
        hooks = self.at(when, "tool")
        tool = self._tools.find(step.call.name) if hooks and not step.call.problem else None
        return tuple(hook for hook in hooks if fnmatchcase(tool.name, hook.tool)) if tool is not None else ()
