"""What runs have cost, counted from their entries, as a table."""

from __future__ import annotations

from typing import Any

from agentkit.core.display import Displayed
from agentkit.export.html import fragment
from agentkit.export.tables import Table, to_html, to_markdown, to_text
from agentkit.inert import inert_lines
from agentkit.run.run import Run

NOTE = "A round is a time of waiting: calls that are made side by side are one round."


class Costs(Displayed):
    """The costs of some runs: `costs["react"]["model calls"]`, and all of them as a table."""

    def __init__(self, runs: dict[str, Run]) -> None:
        self.runs = runs
        self._costs = {name: cost(run) for name, run in runs.items()}

    def __getitem__(self, name: str) -> dict[str, int]:
        return self._costs[name]

    def table(self) -> Table:
        """Return a table with one row for each run."""
        header = ["", "answer", *next(iter(self._costs.values()))]
        rows = [[name, str(self.runs[name].answer), *map(str, row.values())] for name, row in self._costs.items()]
        return Table(header, rows, NOTE)

    @inert_lines
    def __repr__(self) -> str:
        return to_text(self.table(), cell_width=50)

    def _repr_html_(self) -> str:
        return fragment(to_html(self.table()))

    def _repr_markdown_(self) -> str:
        return to_markdown(self.table())


def costs(**runs: Run) -> Costs:
    """Return what runs have cost: `costs(react=run, self_ask=other_run)`."""
    return Costs(runs)


def cost(run: Run) -> dict[str, int]:
    """Return what a run has cost: its model calls, tool calls, rounds, and the tokens that were read and written."""
    kinds = [entry.kind for entry in run.entries]
    return {
        "model calls": kinds.count("think"),
        "tool calls": kinds.count("act"),
        "rounds": rounds(run),
        "tokens read": run.usage.input,
        "tokens written": run.usage.output,
    }


def rounds(run: Run) -> int:
    """Return the number of times that one has to wait for model and tool calls; calls side by side are one round.

    This is the length of the run if every call takes equally long. It is counted by replaying the run: a round is
    everything that the engine waits for at the same time.
    """
    results: dict[tuple[str, int], Any] = {(entry.path, entry.index): entry.result for entry in run.entries[1:]}
    stepper, count = run.trace.new_stepper(), 0
    while due := [pending for pending in stepper.pending if (pending.path, pending.index) in results]:
        count += any(pending.step.kind in ("think", "act") for pending in due)
        for pending in due:
            if pending.lane.pending is pending:
                stepper.feed(pending, results[pending.path, pending.index])
    return count
