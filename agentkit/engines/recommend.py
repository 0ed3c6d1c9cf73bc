"""A table that says which engine fits which task, as data, and a function that looks up a task in it."""

from __future__ import annotations

from dataclasses import dataclass

from agentkit.engines.registry import ENGINES
from agentkit.errors import Unknown


@dataclass(slots=True, frozen=True)
class Choice:
    """One line of the table: a `signal` of a task, described in `task`; the engine that fits, why, and its cost."""

    signal: str
    task: str
    engine: str
    why: str
    cost: str

    @property
    def available(self) -> bool:
        """Whether this version of agentkit has the engine."""
        return self.engine in ENGINES


TABLE = (
    Choice(
        "no_tools",
        "pure reasoning, arithmetic or logic, and no tools",
        "chain_of_thought",
        "reasons step by step in one reply; tools would only add latency",
        "exactly 1 model call",
    ),
    Choice(
        "tools",
        "a general question that a few tool calls answer",
        "react",
        "thinks, acts, observes, and repeats; simple and predictable",
        "1 model call per iteration",
    ),
    Choice(
        "sub_goals",
        "several steps with distinct sub-goals, one after the other",
        "plan_and_execute",
        "makes the plan before anything runs, so that it can be read and edited, and keeps the result of each step",
        "1 plan, a small loop per step, 1 summary",
    ),
    Choice(
        "correctness",
        "the answer must be right, and the first attempt may fail",
        "reflexion",
        "judges its own answer, notes what went wrong, and tries again with that in mind",
        "a ReAct run and 2 more calls per episode",
    ),
    Choice(
        "multi_hop",
        "a chain of facts, each needed to find the next",
        "self_ask",
        "asks itself one follow-up question at a time; one search tool, or none, is enough",
        "1 model call per follow-up question",
    ),
    Choice(
        "facts",
        "the answer contains facts that can be checked",
        "critic",
        "drafts, checks each claim with a tool, and corrects only what is wrong",
        "1 draft, 2 calls per round of checks",
    ),
    Choice(
        "strategies",
        "there are several strategies, and the best one is wanted",
        "tree_of_thoughts",
        "keeps several lines of thought alive, scores them, and follows the best",
        "the most expensive: 2 calls per branch, kept line and level",
    ),
)
"""One line per signal. This table is the only place that says which engine fits which task."""


def recommend(*signals: str) -> list[Choice]:
    """Return the table's lines for these signals of a task, in the order of the signals; without signals, ReAct.

    Engines can also be combined: Reflexion wraps another engine, and the steps of a plan are small ReAct loops. Raises
    `Unknown` if the table does not have a signal.
    """
    known = {choice.signal: choice for choice in TABLE}
    for signal in signals:
        if signal not in known:
            raise Unknown("signal", signal, known)
    return [known[signal] for signal in dict.fromkeys(signals or ("tools",))]
