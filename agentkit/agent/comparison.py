"""Compare several engines or agents on the same task: step by step, with their costs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from inspect import signature
from types import MappingProxyType
from typing import Any, Unpack

from agentkit.agent.agent import Agent
from agentkit.agent.options import NAMES, Options
from agentkit.core import display
from agentkit.core.checked_arguments import checked
from agentkit.core.steps import Loop
from agentkit.core.text import call_text, one_line
from agentkit.engines import registry
from agentkit.errors import Unknown, UsageError
from agentkit.export.tables import Table, to_text
from agentkit.inert import inert_lines
from agentkit.journal.entries import Entry
from agentkit.models.cassette import Cassette
from agentkit.run.run import Result
from agentkit.trace.ledger import Ledger

WIDTH, MOST = 40, 60
"""The width of a cell of plain text, in characters, and the number of rows of steps that are shown."""


@dataclass(slots=True)
class Row:
    """A row of corresponding steps: the role of a model call or the name of a tool, and each run's entry, or None."""

    role: str
    entries: list[Entry | None]

    @property
    def texts(self) -> list[str]:
        """The steps as text, one line for each run; "" if a run has no such step."""
        return ["" if entry is None else _line(entry) for entry in self.entries]

    @property
    def differs(self) -> bool:
        """Whether the steps of the runs, or their results, differ."""
        return len({*self.texts}) > 1 or any(entry is None for entry in self.entries)


@dataclass(slots=True, eq=False)
class Comparison:
    """The results of several runs of a task, with their `names`, and `rows` of steps that correspond to each other."""

    task: str
    names: list[str]
    results: list[Result]
    rows: list[Row] = field(default_factory=list)

    @property
    def runs(self) -> list[Any]:
        """The runs, for example to undo steps in them, to fork them, or to show them side by side."""
        return [result.run for result in self.results]

    @property
    def first(self) -> int | None:
        """The number of the first row in which the runs differ; None if they do not."""
        return next((number for number, row in enumerate(self.rows) if row.differs), None)

    def totals(self) -> Table:
        """Return a table of the result and the cost of each run."""
        about: list[tuple[str, Callable[[Result], Any]]] = [
            ("answer", lambda result: result.answer),
            ("ended early", lambda result: result.reason),
            ("error", lambda result: f"{type(result.error).__name__}: {result.error}" if result.error else ""),
            ("model calls", lambda result: result.step_count),
            ("tool calls", lambda result: result.tool_calls_count),
            ("tokens in", lambda result: result.usage.input),
            ("tokens out", lambda result: result.usage.output),
            ("cost", lambda result: f"{result.usage.cost:.6g}" if result.usage.cost else ""),
        ]
        rows = [[label, *(str(value(result)) for result in self.results)] for label, value in about]
        return Table(["", *self.names], [row for row in rows if any(row[1:])])

    def steps(self) -> Table:
        """Return a table of the steps, in the order in which they were taken; ≠ marks rows in which the runs differ."""
        rows = [
            [f"{number} {'≠' if row.differs else '='}", row.role, *row.texts] for number, row in enumerate(self.rows)
        ]
        return Table(["", "step", *self.names], rows)

    @property
    def difference(self) -> str:
        """A sentence that says where the runs first differ."""
        if self.first is None:
            return "The runs did the same."
        return f"The runs first differ at step {self.first} ({self.rows[self.first].role})."

    @inert_lines
    def __repr__(self) -> str:
        parts = [
            f"Comparison: {one_line(self.task, 100)}",
            to_text(self.totals(), cell_width=WIDTH, max_rows=MOST),
            self.difference,
            to_text(self.steps(), cell_width=WIDTH, max_rows=MOST),
        ]
        return "\n".join(parts)

    def widget(self) -> Any:
        """Return the live views of the compared runs side by side; each run can be changed and continued there."""
        return display.live.side_by_side(self.runs)

    def _repr_html_(self) -> str:
        from agentkit.export import html

        return html.comparison(self.task, self.totals(), self.difference, self.steps())

    def _repr_markdown_(self) -> str:
        from agentkit.export import markdown

        return markdown.comparison(self.task, self.totals(), self.difference, self.steps())


@checked
def compare(
    task: Any,
    engines: Iterable[Any] = (),
    *,
    model: Any = None,
    tools: Any = (),
    agents: Iterable[Agent] = (),
    timeout: float | None = None,
    shared: Mapping[str, Any] = MappingProxyType({}),
    **options: Unpack[Options],
) -> Comparison:
    """Run a task with several engines, one after the other, with the same model and tools; or with several agents.

    An engine is given as in `Agent(engine=...)`, for example by name or as a `Loop`. `shared` are options for each
    engine that has them, and `options` are those of the agents. A `Cassette` is played from the beginning for each run.
    A run that fails is shown as failed.

    If one run has called an irreversible tool, the others do not call it, unless an `approver` allows that; with
    "reuse" they get its result. Tools without a declared effect are called by each run.

    Raises `UsageError` if there is no engine or agent, `Unknown` for a shared option that no engine has.
    """
    for name in options:
        if name not in NAMES:
            raise Unknown("argument", name, (*NAMES, *signature(compare).parameters), of="compare")
    configured = [registry.configure(engine) for engine in ([engines] if isinstance(engines, str) else engines)]
    known = {name for engine in configured for name in registry.parameters(engine.engine)}
    for name in shared:
        if name not in known:
            raise Unknown("option of these engines", name, known)
    agents = list(agents)
    for agent in agents:
        if not isinstance(agent, Agent):
            raise UsageError(f"an agent must be an Agent, not {agent!r:.200}")
    compared = [_agent(model, tools, engine, shared, options) for engine in configured] + agents
    if not compared:
        raise UsageError('there is nothing to compare; pass engines=["react", ...] or agents=[...]')
    results, ledgers = list[Result](), list[Ledger]()
    for agent in compared:
        run = agent.start(task, paused=True)
        run.state.elsewhere = tuple(ledgers)
        results.append(agent.complete(run, timeout))
        ledgers.append(run.trace.tree.ledger)
    return side_by_side(_names(compared), results)


def side_by_side(names: list[str], results: list[Result]) -> Comparison:
    """Return the comparison of runs of one task that have been made already."""
    question = one_line(results[0].run[0].result["task"][-1]["text"])
    return Comparison(question, names, results, align([result.run.entries[1:] for result in results]))


def _agent(
    model: Any, tools: Any, engine: registry.Configured, shared: Mapping[str, Any], options: Mapping[str, Any]
) -> Agent:
    fitting = {name: value for name, value in shared.items() if name in registry.parameters(engine.engine)}
    nested = {name: engine.options[name] for name in registry.loops(engine.engine) & engine.options.keys()}
    own = {**engine.options, **registry.build(engine.engine, nested, engine.given)}
    if isinstance(model, Cassette):
        model = model.rewound()
    return Agent(model, tools, engine=Loop(engine.engine, **{**fitting, **own}), **options)


def _names(agents: list[Agent]) -> list[str]:
    """Return the names of the agents' engines; equal names are numbered."""
    names = [agent.engine_name.rpartition(":")[2] for agent in agents]
    return [f"{name} {names[: n + 1].count(name)}" if names.count(name) > 1 else name for n, name in enumerate(names)]


def align(runs: list[list[Entry]]) -> list[Row]:
    """Return rows of steps of several runs; steps with the same role are in one row, in the order of each run."""
    rows: list[Row] = []
    for number, entries in enumerate(runs):
        keys, aligned = [_role(entry) for entry in entries], list[Row]()
        matcher = SequenceMatcher(None, [row.role for row in rows], keys, autojunk=False)
        for what, a, b, c, d in matcher.get_opcodes():
            if what == "equal":
                aligned += [
                    Row(row.role, [*row.entries, entry]) for row, entry in zip(rows[a:b], entries[c:d], strict=True)
                ]
            else:
                aligned += [Row(row.role, [*row.entries, None]) for row in rows[a:b]]
                aligned += [Row(_role(entry), [*[None] * number, entry]) for entry in entries[c:d]]
        rows = aligned
    return rows


def _role(entry: Entry) -> str:
    step: Any = entry.step
    return step.call.name if entry.kind == "act" else step.role


def _line(entry: Entry) -> str:
    step: Any = entry.step
    if entry.kind == "think":
        asks = f" → {', '.join(map(call_text, entry.result.calls))}" if entry.result.calls else ""
        return one_line(f"{entry.result.text or entry.result.raw}{asks}".strip())
    if entry.kind == "act":
        return one_line(f"{call_text(step.call)} → {entry.result.text}")
    if entry.kind == "end":
        return one_line(entry.result.answer)
    return one_line(step.answer if entry.kind == "conclude" else f"{step.question} → {entry.result}")
