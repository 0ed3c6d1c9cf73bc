"""Permissions: rules about which calls are made without a question, which are asked about, and which are never made.

Rules are data. Each table of them has a source, the agent or the settings file of the person, and they are decided
together: a rule that denies comes first, wherever it stands; then the first rule that fits, those of the person before
those of the agent; then the mode. If several tables have a mode, the strictest outcome counts.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Literal, get_args

from agentkit.core.messages import Call
from agentkit.core.secrets import mask
from agentkit.core.text import counted
from agentkit.errors import ArgumentsError, Unknown, UsageError
from agentkit.tools.tool import Tool
from agentkit.tools.toolset import ToolSet

Json = dict[str, Any]
Outcome = Literal["allow", "ask", "deny"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
"""What a rule can say, the least strict first."""

BYPASS = "bypass-all-permissions"
MODES = {
    "ask": "a call is asked about, unless its tool is pure",
    "allow": "a call is not made, unless a rule allows it",
    "deny": "a call is made, but one of an irreversible tool is asked about",
    "plan": "a call is made only if its tool is pure, whatever is allowed",
    BYPASS: "a call is made; only rules that deny still count",
}
"""The modes, and what happens in each to a call that no rule is about."""

PERSON, AGENT, OPENER = "person", "agent", "opener"
"""The sources of tables: the person's settings file, the agent, and an agent that has opened the recorded run."""

_ORDER = (OPENER, PERSON, AGENT)
_MEANT = {
    "always": "allow",
    "never": "deny",
    "prompt": "ask",
    "default": "ask",
    "readonly": "plan",
    "read_only": "plan",
}
_KEYS = (*OUTCOMES, "arguments", "paths", "relative_to", "why")
_WILDCARDS = "*?["


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: what happens to the calls that it fits.

    `tool` is a pattern of names ("read_*"), `arguments` are patterns of the texts of arguments, and `paths` are files
    or folders that hold what an argument names; a pattern has the wildcards of `fnmatch`. A path is resolved before it
    is compared: links, `..` and `~`; a relative one begins at `relative_to`, or else at the working folder. A rule with
    several conditions fits a call that meets all of them. `why` is the reason to show.
    """

    outcome: Outcome
    tool: str
    arguments: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    relative_to: str = ""
    why: str = ""

    @classmethod
    def of(cls, data: Any) -> Rule:
        """Return the rule that a dict describes, such as `{"deny": "shell", "arguments": {"command": "rm *"}}`.

        Raises `UsageError`.
        """
        if isinstance(data, Rule):
            return data
        if not isinstance(data, Mapping):
            raise UsageError(f"a rule must be a table such as {{'allow': 'read_*'}}, not {data!r:.100}")
        for key in data:
            if key not in _KEYS:
                raise Unknown("key", key, _KEYS, of="a rule")
        given = [name for name in OUTCOMES if name in data]
        if len(given) != 1:
            named = f", not {' and '.join(given)}" if given else ""
            raise UsageError(f"a rule needs exactly one of {', '.join(OUTCOMES)}, with the name of a tool{named}")
        outcome = given[0]
        for key in (outcome, "relative_to", "why"):
            if not isinstance(data.get(key, ""), str) or not data.get(key, "x"):
                raise UsageError(f"{key} of a rule must be a text, not {data[key]!r:.100}")
        for key in ("arguments", "paths"):
            patterns = data.get(key, {})
            is_table = isinstance(patterns, Mapping) and all(type(name) is str for name in patterns)
            if not is_table or not all(type(pattern) is str and pattern for pattern in patterns.values()):
                raise UsageError(f"{key} of a rule must be a table of patterns by argument, not {patterns!r:.100}")
        conditions = dict(data.get("arguments", {})), dict(data.get("paths", {}))
        return cls(outcome, data[outcome], *conditions, data.get("relative_to", ""), data.get("why", ""))

    def to_json(self) -> Json:
        """Return the rule as JSON data, as `of` reads it."""
        data = {self.outcome: self.tool, "arguments": dict(self.arguments), "paths": dict(self.paths)}
        data |= {"relative_to": self.relative_to, "why": self.why}
        return {key: value for key, value in data.items() if value or key == self.outcome}

    @property
    def text(self) -> str:
        """The rule in a line, for example ``deny shell if command is like 'rm *'``."""
        conditions = [f"{name} is like {pattern!r}" for name, pattern in self.arguments.items()]
        conditions += [f"{name} is in {path}" for name, path in self.paths.items()]
        return mask(f"{self.outcome} {self.tool}{' if ' if conditions else ''}{' and '.join(conditions)}")

    def fits(self, facts: Facts) -> bool:
        """Return whether the rule is about a call. Raises `UsageError` if an argument that should be a path is none.

        If an argument is a list, a rule that allows needs all of it, and any other rule a part of it.
        """
        if not fnmatchcase(facts.name, self.tool):
            return False
        is_met = all if self.outcome == "allow" else any
        for name, pattern in self.arguments.items():
            texts = [_text_of(value) for value in facts.values_of(name)]
            if not texts or not is_met(fnmatchcase(text, pattern) for text in texts):
                return False
        for name, pattern in self.paths.items():
            places = [place for value in facts.values_of(name) for place in self._places(value)]
            if not places or not is_met(_is_in(place, self._full(pattern)) for place in places):
                return False
        return True

    def _places(self, value: Any) -> Iterable[str]:
        """Yield the files that a tool may mean by an argument: two if it begins with `~`, which not every tool expands.

        Raises `UsageError` if the argument is not a path.
        """
        try:
            if not isinstance(value, str | os.PathLike) or b"\0" in os.fsencode(value):
                raise ValueError
            for path in dict.fromkeys((str(value), os.path.expanduser(str(value)))):
                yield os.path.realpath(self._full(path, expand=False))
        except ValueError:
            raise UsageError(f"an argument that {self.text!r} is about is not a path") from None

    def _full(self, path: str, *, expand: bool = True) -> str:
        base = os.path.expanduser(self.relative_to) if self.relative_to else os.getcwd()
        return os.path.join(base, os.path.expanduser(path) if expand else path)


class Facts:
    """What rules ask about a call: the name of its tool, and the arguments with which the tool would run."""

    def __init__(self, call: Call, tool: Tool) -> None:
        self.name = tool.name
        self.effect = tool.effect
        self._call = call
        self._tool = tool
        self._bound: Mapping[str, Any] | _Fields | None = None

    def bind(self) -> Mapping[str, Any] | _Fields:
        """Return the arguments. Raises `ArgumentsError` if they do not fit the tool, which is not called then."""
        if self._bound is None:
            arguments, _ = self._tool.bind(self._call)
            model = self._tool.interface.model_parameter
            fields = arguments[model] if model else arguments
            self._bound = fields if isinstance(fields, Mapping) else _Fields(fields)
        return self._bound

    def values_of(self, name: str) -> list[Any]:
        """Return the value of an argument, or the values in it if it is a list; nothing if it is not known."""
        value = self.bind().get(name, _MISSING)
        if value is _MISSING:  # a parameter with an alias: the model writes the alias
            value = self._call.arguments.get(name, _MISSING)
        if value is _MISSING:
            described = self._tool.parameters.get("properties", {}).get(name, {})
            value = described.get("default", _MISSING) if isinstance(described, dict) else _MISSING
        if value is _MISSING:
            return []
        return list(value) if isinstance(value, list | tuple | set | frozenset) else [value]


_MISSING = object()


class _Fields:
    """The fields of an object that holds the arguments of a call."""

    def __init__(self, held: Any) -> None:
        self._held = held

    def get(self, name: str, default: Any) -> Any:
        kind = type(self._held)
        fields = getattr(kind, "model_fields", None) or getattr(kind, "__pydantic_fields__", {})
        own = (field for field, about in fields.items() if name in (about.validation_alias, about.alias))
        return getattr(self._held, next(own, name), default)


@dataclass(frozen=True, slots=True)
class Table:
    """The rules of one source, in order, and its mode; "" if it has none."""

    source: str = AGENT
    mode: str = ""
    rules: tuple[Rule, ...] = ()

    @classmethod
    def of(cls, data: Any, source: str = AGENT, mode: str = "") -> Table:
        """Return the table that a mode or a dict describes; `mode` is used if a dict names none. Raises `UsageError`.

        The dict has a `mode`, `rules`, and lists of tools to `deny`, `ask` and `allow`, which come after the rules.
        """
        if isinstance(data, str):
            data = {"mode": data}
        if not isinstance(data, Mapping):
            raise UsageError(f"permissions must be a mode ({', '.join(MODES)}) or a dict, not {data!r:.100}")
        for key in data:
            if key not in ("mode", "rules", *OUTCOMES):
                raise Unknown("key", key, ("mode", "rules", *OUTCOMES), of="permissions")
        mode = data.get("mode", mode)
        if mode and (not isinstance(mode, str) or mode not in MODES):
            raise _unknown_mode(mode)
        rules = data.get("rules", [])
        if not isinstance(rules, list | tuple):
            raise UsageError(f"rules must be a list of tables, not {rules!r:.100}")
        read = [_numbered(rule, number) for number, rule in enumerate(rules, 1)]
        for outcome in reversed(OUTCOMES):
            names = data.get(outcome, ())
            if not isinstance(names, list | tuple | set | frozenset):
                raise UsageError(f"{outcome} must be a list of the names of tools, not {names!r:.100}")
            read += [Rule.of({outcome: name}) for name in names]
        return cls(source, mode, tuple(read))

    def to_json(self) -> Json:
        """Return the table as JSON data."""
        return {"source": self.source, "mode": self.mode, "rules": [rule.to_json() for rule in self.rules]}

    @property
    def strict(self) -> Table:
        """The table without what it allows."""
        kept = tuple(rule for rule in self.rules if rule.outcome != "allow")
        return replace(self, mode="" if self.mode == BYPASS else self.mode, rules=kept)


def _numbered(rule: Any, number: int) -> Rule:
    try:
        return Rule.of(rule)
    except UsageError as error:
        raise UsageError(f"rule {number}: {error}") from None


def _unknown_mode(mode: Any) -> UsageError:
    if isinstance(mode, str) and "bypass" in mode.lower():
        return UsageError(f'to ask about nothing, write the mode in full: "{BYPASS}"')
    hint = f"did you mean {_MEANT[mode]!r}?" if isinstance(mode, str) and mode in _MEANT else ""
    return Unknown("mode of permissions", mode, MODES, hint)


_Place = tuple[Rule, Table, int]
"""A rule, its table, and its number there."""


@dataclass(frozen=True, slots=True)
class Judgment:
    """What the permissions say about a call, and why; `by_person` if a rule of the person's own settings allows it."""

    outcome: Outcome
    why: str
    by_person: bool = False


@dataclass(frozen=True, slots=True)
class Permissions:
    """The tables of permissions of a run; without tables, every call is made."""

    tables: tuple[Table, ...] = ()
    modes: tuple[str, ...] = field(init=False, repr=False, compare=False)
    _rules: tuple[_Place, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rules = ((rule, table, number) for table in self.tables for number, rule in enumerate(table.rules, 1))
        object.__setattr__(self, "modes", tuple(dict.fromkeys(table.mode for table in self.tables if table.mode)))
        object.__setattr__(self, "_rules", tuple(rules))

    @classmethod
    def of(cls, option: Any) -> Permissions:
        """Return the permissions that an agent's option `permissions` describes; the mode is "ask" if it names none."""
        if option is None or isinstance(option, Permissions):
            return option or cls()
        return cls((Table.of(option, AGENT, "ask"),))

    def __bool__(self) -> bool:
        return bool(self.tables)

    @property
    def is_bypassed(self) -> bool:
        """Whether nothing is asked, so that a view has to show it."""
        return self.modes == (BYPASS,)

    def with_table(self, table: Table) -> Permissions:
        """Return these permissions with the table of one source replaced; a table that says nothing is left out."""
        others = [other for other in self.tables if other.source != table.source]
        tables = [*others, *([table] if table.mode or table.rules else [])]
        return Permissions(tuple(sorted(tables, key=lambda other: _ORDER.index(other.source))))

    def in_mode(self, mode: str) -> Permissions:
        """Return these permissions with another mode of the agent, whose rules stay. Raises `Unknown`."""
        checked = Table.of(mode)
        own = next((table for table in self.tables if table.source == AGENT), checked)
        return self.with_table(replace(own, mode=mode))

    def with_rule(self, rule: Rule) -> Permissions:
        """Return these permissions with one more rule of the person, before the others."""
        own = next((table for table in self.tables if table.source == PERSON), Table(PERSON))
        return self.with_table(replace(own, rules=(rule, *own.rules)))

    def replaced_by(self, other: Permissions) -> Permissions:
        """Return other permissions of the agent; those of the person stay, and what opening the run has added."""
        kept = [table for table in self.tables if table.source != AGENT]
        added = [table for table in other.tables if table.source == AGENT]
        return Permissions(tuple(sorted([*kept, *added], key=lambda table: _ORDER.index(table.source))))

    def tightened_by(self, other: Permissions) -> Permissions:
        """Return these permissions, with what another agent's add to them: its modes, and what it denies or asks."""
        tables = list(self.tables)
        known = {rule for table in tables for rule in map(_key, table.rules)}
        for table in other.tables:
            strict = table.strict
            rules = tuple(rule for rule in strict.rules if _key(rule) not in known)
            mode = "" if any(strict.mode == mine.mode for mine in tables) else strict.mode
            if rules or mode:
                tables.insert(0, Table(OPENER, mode, rules))
        return Permissions(tuple(tables))

    def check(self, tools: ToolSet) -> None:
        """Check the names of tools and arguments in the rules of the agent: a mistyped one would never fit a call.

        Raises `Unknown`.
        """
        for rule in (rule for table in self.tables if table.source == AGENT for rule in table.rules):
            if set(rule.tool) & set(_WILDCARDS):
                continue
            if (tool := tools.find(rule.tool)) is None:
                raise Unknown("tool in the permissions", rule.tool, tools.names)
            named = {*rule.arguments, *rule.paths}
            known = tool.parameters.get("properties", {}) if named else {}
            for name in sorted(named - set(known)):
                if not tool.parameters.get("additionalProperties"):
                    raise Unknown("argument in the permissions", name, known, of=tool.name)

    def judge(self, call: Call, tool: Tool | None) -> Judgment:
        """Return what happens to a call. A call that cannot be made, since its tool or arguments are wrong, is allowed:
        the model is told what is wrong.
        """
        if tool is None or call.problem:
            return Judgment("allow", "")
        facts = Facts(call, tool)
        try:
            judgment = self._judge(facts) if self._rules else _in_modes(self.modes, tool.name, tool.effect)
            if judgment.outcome == "ask":
                facts.bind()  # nobody is asked about a call that is not made in any case
        except ArgumentsError:
            return Judgment("allow", "")
        return judgment

    def _judge(self, facts: Facts) -> Judgment:
        fitting, unclear = list[_Place](), None
        for place in self._rules:
            try:
                if place[0].fits(facts):
                    if place[0].outcome == "deny":
                        return Judgment("deny", _because(place))
                    fitting.append(place)
            except UsageError as error:  # a person is asked, unless another rule denies the call
                unclear = unclear or error
        if unclear:
            raise unclear
        if not fitting:
            return _in_modes(self.modes, facts.name, facts.effect)
        return _strictest(_in_mode(mode, facts.name, facts.effect, fitting[0]) for mode in self.modes or ("",))

    @property
    def rows(self) -> list[list[str]]:
        """Each mode and each rule, as the source, its number, what it says, and the reason."""
        rows = []
        for table in self.tables:
            if table.mode:
                rows.append([table.source, "mode", table.mode, MODES[table.mode]])
            rows += [
                [table.source, f"rule {number}", rule.text, mask(rule.why)]
                for number, rule in enumerate(table.rules, 1)
            ]
        return rows

    @property
    def text(self) -> str:
        """The permissions in a line."""
        parts = []
        for table in self.tables:
            rules = counted(len(table.rules), "rule") if table.rules else ""
            parts.append(f"{table.source}: {', '.join(filter(None, (table.mode and f'mode {table.mode}', rules)))}")
        return "; ".join(parts)

    def to_json(self) -> list[Json]:
        """Return the permissions as JSON data."""
        return [table.to_json() for table in self.tables]

    @classmethod
    def from_json(cls, data: Any) -> Permissions:
        """Return recorded permissions. Raises `UsageError` if the data is something else."""
        tables = []
        for table in data if isinstance(data, list) else [data]:
            source = table.get("source") if isinstance(table, dict) else None
            if source not in _ORDER:
                raise UsageError(f"the recorded permissions cannot be read: {table!r:.100}")
            tables.append(Table.of({key: value for key, value in table.items() if key != "source"}, source))
        return cls(tuple(tables))


NOTHING = Permissions()


def only_strict(data: Any) -> Any:
    """Return recorded permissions without what they allow."""
    return [table.strict.to_json() for table in Permissions.from_json(data).tables] if data else data


@functools.lru_cache(1024)
def _in_modes(modes: tuple[str, ...], name: str, effect: str) -> Judgment:
    """Return what modes say about a call that no rule is about."""
    return _strictest(_in_mode(mode, name, effect) for mode in modes or ("",))


def _strictest(judgments: Iterable[Judgment]) -> Judgment:
    return max(judgments, key=lambda judgment: OUTCOMES.index(judgment.outcome))


def _in_mode(mode: str, name: str, effect: str, first: _Place | None = None) -> Judgment:
    """Return what a mode and the first rule that fits say about a call that no rule denies."""
    by_person = first is not None and first[1].source == PERSON and first[0].outcome == "allow"
    if mode == BYPASS:
        return Judgment("allow", f"mode {mode}", by_person)
    if mode == "plan" and effect != "pure":
        return Judgment("deny", f"in mode plan, only pure tools are called, and {name} is {effect}")
    if first is not None:
        return Judgment(first[0].outcome, _because(first), by_person)
    if mode == "allow":
        return Judgment("deny", f"in mode allow, only what a rule allows is called, and no rule allows {name}")
    kind = "a tool that does not declare its effect" if effect == "undeclared" else f"a tool that is {effect}"
    asks = effect == "irreversible" if mode == "deny" else bool(mode) and effect != "pure"
    if asks:
        return Judgment("ask", f"in mode {mode}, {kind} is asked about, and no rule allows {name}")
    return Judgment("allow", f"mode {mode}: {kind}" if mode else "")


def _because(place: _Place) -> str:
    rule, table, number = place
    why = f" ({mask(rule.why)})" if rule.why else ""
    return f"rule {number} of the {table.source}: {rule.text}{why}"


def _key(rule: Rule) -> str:
    return json.dumps(rule.to_json(), sort_keys=True)


def _text_of(value: Any) -> str:
    """Return a value as the model would write it: a text, or JSON; also an enumeration, a model or bytes."""
    if isinstance(value, str):
        return value
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    try:
        plain = to_jsonable_python(value, by_alias=True, fallback=str)
    except PydanticSerializationError:
        plain = str(value)
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _is_in(path: str, folder: str) -> bool:
    """Return whether a resolved path is a file or folder, or inside of it, or fits a pattern of paths."""
    pattern = _resolved(folder)
    if set(pattern) & set(_WILDCARDS):
        normal, like = os.path.normcase(path), os.path.normcase(pattern)
        return fnmatchcase(normal, like) or fnmatchcase(normal, os.path.join(like, "*"))
    return any(_is_same(part, pattern) for part in _and_folders(path))


def _resolved(pattern: str) -> str:
    """Return a pattern of paths in which the part before the first wildcard is resolved."""
    at = next((index for index, char in enumerate(pattern) if char in _WILDCARDS), None)
    if at is None:
        return os.path.realpath(pattern)
    folder, _, rest = pattern[:at].rpartition(os.sep)
    return os.path.join(os.path.realpath(folder or os.sep), rest + pattern[at:])


def _and_folders(path: str) -> Iterable[str]:
    """Yield a path and the folders that hold it."""
    while True:
        yield path
        above = os.path.dirname(path)
        if above == path:
            return
        path = above


def _is_same(path: str, other: str) -> bool:
    """Return whether two paths are the same file, even if their case differs where that does not matter."""
    if os.path.normcase(path) == os.path.normcase(other):
        return True
    try:
        return os.path.samefile(path, other)
    except (OSError, ValueError):
        return False
