"""Which engine for which task: the choosing table, as data, and what it says about a task."""

from __future__ import annotations

from dataclasses import dataclass

from agentkit.engines.registry import ENGINES
from agentkit.errors import Unknown


@dataclass(slots=True, frozen=True)
class Choice:
    """One line of the table: what a task shows (`signal`, in words `task`), the engine that fits, why, and what it costs."""

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
        "thinks, acts, reads what came of it, and again; simple and predictable",
        "1 model call per iteration",
    ),
    Choice(
        "sub_goals",
        "several steps with distinct sub-goals, one after the other",
        "plan_and_execute",
        "the plan stands before anything runs, to be read and edited, and each step keeps its own output",
        "1 plan, a small loop per step, 1 summary",
    ),
    Choice(
        "correctness",
        "it must be right, and the first attempt may fail",
        "reflexion",
        "judges its own answer, notes what went wrong, and tries again with that in mind",
        "a whole ReAct run per episode, and 2 calls more",
    ),
    Choice(
        "multi_hop",
        "a chain of facts, each found with the one before",
        "self_ask",
        "asks itself one follow-up question at a time; one search tool, or none, is enough",
        "1 model call per follow-up question",
    ),
    Choice(
        "facts",
        "the answer holds facts that can be checked",
        "critic",
        "drafts, checks each claim with a tool, and mends only what was wrong",
        "1 draft, 2 calls per round of checks",
    ),
    Choice(
        "strategies",
        "several strategies compete, and the best is wanted",
        "tree_of_thoughts",
        "keeps several lines of thought alive, scores them, and follows the best",
        "the dearest: 2 calls per branch, kept line and level",
    ),
)
"""One line per signal; nothing else in agentkit says which engine fits what."""


def recommend(*signals: str) -> list[Choice]:
    """Give the engines that fit a task with these signals, in the order of the signals; with none, ReAct.

    The engines are no alternatives only: Reflexion goes around another engine, and the steps of a plan are small ReAct
    loops. Raises `Unknown` for a signal that the table does not have.
    """
    known = {choice.signal: choice for choice in TABLE}
    for signal in signals:
        if signal not in known:
            raise Unknown("signal", signal, known)
    return [known[signal] for signal in dict.fromkeys(signals or ("tools",))]
