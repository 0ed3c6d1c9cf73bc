"""The gate of budgets: before every model call and every tool call, it compares what was spent with the limits.

The amounts spent are read from the entries, so that they are the same after a resume. Calls that run in parallel
reserve what they will probably spend, so that together they do not exceed a limit; when they have ended, the real
amount counts.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping
from typing import Any

from agentkit.core.messages import Message
from agentkit.core.steps import Act, Conclude, Step, Think
from agentkit.core.text import call_text, one_line
from agentkit.core.usage import Lost, Usage
from agentkit.gates.deadline import is_within
from agentkit.gates.limits import NAMES, Budget
from agentkit.gates.state import State
from agentkit.gates.verdict import Verdict
from agentkit.journal.entries import Entry, Note, Row
from agentkit.models.tokens import tokens, tokens_of_tools
from agentkit.stepper.stepper import Pending

OUTPUT = 4_000
"""The tokens to reserve for a reply while no reply is known, unless the settings set a maximum."""

_STEPS, _TEXT = 20, 200


class Meter:
    """A count of what the entries at a frame path and below have spent; money is in the currency of the model's prices.

    Every model call and tool call that was begun counts, even one that failed, was cancelled or was abandoned; its
    tokens count as far as they are known, see `Lost`. Only a model call during which the process ended is not counted,
    because nothing is recorded before its reply. Time only counts while at least one step is being performed; a run
    that is paused spends none.
    """

    def __init__(self, path: str = "") -> None:
        self.path = path
        self.usage = Usage()
        self.largest = Usage()
        self.model_calls = self.tool_calls = self.iterations = 0
        self.seconds = 0.0
        self._last = 0
        self._until = 0.0

    def read(self, state: State) -> dict[str, float]:
        """Read the entries that are new since the last time; return all that was spent, by the name of the limit."""
        trace = state.trace
        for number in range(self._last + 1, trace.latest + 1):
            entry = trace.tree.entries.get(number)
            if (
                entry is not None
                and entry.run in state.counted
                and not entry.original
                and is_within(entry.path, self.path)
            ):
                self._take(entry)
        self._last = max(self._last, trace.latest)
        lost = sum((lost for path, lost in list(state.spent.lost.items()) if is_within(path, self.path)), Lost())
        used = self.usage + lost
        return {
            "max_tokens": used.total,
            "max_input_tokens": used.input,
            "max_output_tokens": used.output,
            "max_cost": used.cost,
            "max_seconds": self.seconds + lost.seconds,
            "max_model_calls": self.model_calls + lost.calls,
            "max_tool_calls": self.tool_calls + lost.tool_calls,
            "max_iterations": self.iterations,
        }

    def _take(self, entry: Entry) -> None:
        if entry.usage is not None:
            self.usage += entry.usage
            largest = self.largest
            self.largest = Usage(max(largest.input, entry.usage.input), max(largest.output, entry.usage.output))
        if entry.kind == "think" and entry.author in ("model", "host"):  # the host writes for a model that failed
            self.model_calls += 1
            self.iterations += entry.step is not None and entry.step.role == "thought"
        elif entry.kind == "act" and entry.author == "tool":
            self.tool_calls += 1
        elif entry.author not in ("model", "tool"):
            return
        self.seconds += max(0.0, entry.ended - max(entry.started, self._until))
        self._until = max(self._until, entry.ended)

    def expect(self, pending: Pending, settings: Mapping[str, Any]) -> dict[str, float]:
        """Return an estimate of what a step that is being performed will spend, by the name of the limit."""
        step = pending.step
        if type(step) is Act:
            return {"max_tool_calls": 1}
        if type(step) is not Think:
            return {}
        input_ = max(self.largest.input, sum(map(tokens, step.chat)) + tokens_of_tools(step.tools))
        output = self.largest.output or int(settings.get("max_tokens") or OUTPUT)
        price = self.usage.cost / self.usage.total if self.usage.total and self.usage.cost else float("inf")
        return {
            "max_tokens": input_ + output,
            "max_input_tokens": input_,
            "max_output_tokens": output,
            "max_cost": (input_ + output) * price,
            "max_model_calls": 1,
            "max_iterations": step.role == "thought",
        }


class BudgetGate:
    """The gate of a run's budget; it also enforces the limits of the scopes that a step is in."""

    kinds = ("think", "act", "conclude")

    def __init__(self, budget: Budget) -> None:
        self.use(budget)
        self._meters: dict[str, Meter] = {}
        self._expected: dict[Pending, dict[str, float]] = {}

    def use(self, budget: Budget) -> None:
        """Apply other limits from now on; what was spent stays spent."""
        self.budget = budget
        self.limits = budget.limits
        self.ask = _in_notebook() if budget.ask is None else budget.ask
        self._told: set[str] = set()

    @property
    def is_idle(self) -> bool:
        """Whether there is nothing to check, because no limit is set."""
        return not self.limits

    def __call__(self, pending: Pending, state: State) -> Verdict | None:
        """Let a step pass while the budget lasts; if other steps are running, only if it will probably last for all."""
        scopes = [(path, Budget.of(scope.limits).limits) for path, scope in reversed(pending.scopes) if scope.limits]
        for path, limits in [*scopes, ("", self.limits)]:
            if not limits:
                continue
            meter = self._meters.setdefault(path, Meter(path))
            spent = meter.read(state)
            if not path:
                self._warn(spent, state)
            reached = _reached(pending.step, limits, spent)
            others = [other for other in (*state.in_flight, *state.starting) if other is not pending]
            if others and (reached or self._too_much(pending, limits, spent, meter, others, state)):
                return Verdict("later", "other steps are running, and the budget may not last for one more")
            if reached:
                return self._exceeded(pending, state, path, reached, limits, spent)
        return None

    def seconds_left(self, pending: Pending, state: State) -> float | None:
        """Return the seconds that are left for a step before a limit on time is reached; None if there is no limit."""
        scopes = [(path, Budget.of(scope.limits).limits) for path, scope in pending.scopes if scope.limits]
        return min(
            (
                limits["max_seconds"] - self._meters.setdefault(path, Meter(path)).read(state)["max_seconds"]
                for path, limits in [*scopes, ("", self.limits)]
                if "max_seconds" in limits
            ),
            default=None,
        )

    def _exceeded(
        self,
        pending: Pending,
        state: State,
        path: str,
        name: str,
        limits: Mapping[str, float],
        spent: Mapping[str, float],
    ) -> Verdict:
        """Ask for more, or end the run, or the scope at `path`, with what has been done."""
        why = f"the {NAMES[name][1]} budget is used up ({spent[name]:g} of {limits[name]:g})"
        self._tell(state, "budget_exceeded", name, limits[name], spent[name], why, path)
        if self.ask and not path:
            choices = "approve() allows as much again, reject() ends the run with what it has done so far"
            return Verdict("ask", f"{why}: {choices}", limit=name)
        if path and type(pending.step) is Act:  # the model of the nested engine can still answer
            call = pending.step.call
            text = f"Error: not run: {why}. Answer with what you know."
            return Verdict("answer", why, Message("tool", text, (), call.id, call.name, False), name)
        verdict = Verdict.finish(self._summary(state, path, name, limits, spent), why, f"budget:{name}", path)
        verdict.limit = name
        return verdict

    def _summary(
        self, state: State, path: str, name: str, limits: Mapping[str, float], spent: Mapping[str, float]
    ) -> str:
        text = f"I reached the {NAMES[name][1]} budget ({spent[name]:g} of {limits[name]:g}) before I had finished."
        return f"{text}\n{what_was_done(state.trace.line, path)}".strip()

    def end(self, state: State, name: str) -> Verdict:
        """Return the verdict that ends a run that waits for more of a limit."""
        spent = self._meters[""].read(state)
        summary = self._summary(state, "", name, self.limits, spent)
        return Verdict.finish(summary, "no more budget", f"budget:{name}")

    def extend(self, state: State, name: str) -> None:
        """Raise a limit by its original value, and record that, so that it still holds after a resume."""
        self.limits[name] += self.budget.limits[name]
        self._told -= {f"budget_warning {name}", f"budget_exceeded {name}"}
        data = {"limit": name, "of": self.budget.limits[name], "to": self.limits[name]}
        state.trace.note("budget", data, at=time.time())

    def restore(self, rows: Iterable[Row], run: str) -> None:
        """Read from the journal which limits were extended, and which warnings were given.

        An extension counts only for the limit that it extended, and not if the budget is stricter now.
        """
        for row in rows:
            if not isinstance(row, Note) or row.run != run:
                continue
            if row.kind == "guards" and "budget" in row.data:
                self.limits = self.budget.limits
                self._told.clear()
            elif row.kind in ("budget", "budget_warning", "budget_exceeded"):
                name = row.data["limit"]
                if row.kind != "budget":
                    self._told.add(f"{row.kind} {name}")
                elif name in self.limits and row.data.get("of", self.limits[name]) == self.budget.limits[name]:
                    self.limits[name] = row.data["to"]
                    self._told -= {f"budget_warning {name}", f"budget_exceeded {name}"}

    def _warn(self, spent: Mapping[str, float], state: State) -> None:
        for name, limit in self.limits.items():
            if spent[name] >= limit * self.budget.warn_at:
                text = f"{NAMES[name][0]} at {spent[name] / limit:.0%}"
                self._tell(state, "budget_warning", name, limit, spent[name], text)

    def _tell(self, state: State, kind: str, name: str, limit: float, spent: float, text: str, path: str = "") -> None:
        if path or f"{kind} {name}" not in self._told:
            if not path:
                self._told.add(f"{kind} {name}")
            data, at = {"limit": name, "max": limit, "spent": spent, "text": text, "path": path}, time.time()
            state.trace.unsaved.attempt(lambda: state.trace.note(kind, data, at=at))

    def _too_much(
        self,
        pending: Pending,
        limits: Mapping[str, float],
        spent: Mapping[str, float],
        meter: Meter,
        others: list[Pending],
        state: State,
    ) -> bool:
        """Return whether the running steps will probably use up a limit that this step needs."""
        self._expected = {
            other: self._expected.get(other) or meter.expect(other, state.settings)
            for other in others
            if is_within(other.path, meter.path)
        }
        for name in _limits_of(pending.step, limits):
            reserved = sum(expected.get(name, 0) for expected in self._expected.values())
            if reserved and spent[name] + reserved >= limits[name]:
                return True
        return False


def _limits_of(step: Step, limits: Mapping[str, float]) -> list[str]:
    """Return the names of the limits that apply to a step."""
    if type(step) is Think:
        unless = {"max_tool_calls"} if step.role == "thought" else {"max_tool_calls", "max_iterations"}
        return [name for name in limits if name not in unless]
    return [name for name in limits if name in ("max_tool_calls", "max_seconds")] if type(step) is Act else []


def _reached(step: Step, limits: Mapping[str, float], spent: Mapping[str, float]) -> str:
    assert type(step) in (Think, Act, Conclude)
    return next((name for name in _limits_of(step, limits) if spent[name] >= limits[name]), "")


def what_was_done(entries: Iterable[Entry], path: str) -> str:
    """Return one line for each tool call with its result, and the last thought."""
    own = [entry for entry in entries if is_within(entry.path, path)]
    acts = [entry for entry in own if entry.kind == "act"]
    lines = [
        f"Step {number}: called {call_text(entry.step.call)} → {one_line(entry.result.text, _TEXT)}"  # type: ignore[union-attr]
        for number, entry in enumerate(acts, 1)
    ]
    if len(lines) > _STEPS:
        lines = [f"({len(lines) - _STEPS} earlier steps)", *lines[-_STEPS:]]
    thoughts = [entry.result for entry in own if entry.kind == "think" and entry.result.text]
    if thoughts:
        lines.append(f"The last thought: {thoughts[-1].text}")
    return "\n".join(lines)


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and shell.get_ipython() is not None
