"""The outcome of one run of an experiment: its scores, or why it has none."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from typing import Any

from agentkit.core.secrets import mask
from agentkit.core.text import error_line
from agentkit.core.usage import Usage
from agentkit.experiments.scores import Scored, checked_scores, fits
from agentkit.gates.state import Status
from agentkit.run.run import Result

SCORED, UNSCORED, FAILED, WAITING, OVER_BUDGET = "scored", "unscored", "failed", "waiting", "over budget"
STATES = (SCORED, UNSCORED, FAILED, WAITING, OVER_BUDGET)
"""What may have become of a run. `STOPPED` and `ELSEWHERE` are none of these: the run is missing, and goes on later."""
STOPPED, ELSEWHERE = "stopped", "elsewhere"

_MAX_ANSWER = 2000


@dataclass(slots=True)
class Outcome:
    """What became of a run, without the run.

    `state` is "scored", "unscored" (it ended, and the score function failed), "failed" (a model or the engine failed),
    "waiting" (for a person) or "over budget"; `problem` says why if it is not "scored". `scores` are numbers by name,
    `spreads` those with which a judge contradicts itself. `cost` and so on are those of the run, `judging` is the cost
    of its judges. `score_id` is a digest of the score function.
    """

    run: str
    state: str
    problem: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    spreads: dict[str, float] = field(default_factory=dict)
    answer: str = ""
    reason: str = ""
    calls: int = 0
    tool_calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    judging: float = 0.0
    seconds: float = 0.0
    score_id: str = ""

    def to_json(self) -> dict[str, Any]:
        """Return the outcome as JSON data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Any) -> Outcome | None:
        """Return an outcome that was recorded or sent; None if this is not one."""
        known = {each.name: each for each in fields(cls)}
        if not isinstance(data, dict) or not isinstance(data.get("run"), str) or data.get("state") not in _ALL:
            return None
        numbers = ("calls", "tool_calls", "tokens", "cost", "judging", "seconds")
        texts = ("problem", "answer", "reason", "score_id")
        for name, value in data.items():
            if name in numbers and not _is_number(value):
                return None
            if name in texts and not isinstance(value, str):
                return None
            if name in ("scores", "spreads") and not _are_numbers(value):
                return None
        return cls(**{name: value for name, value in data.items() if name in known})


_ALL = (*STATES, STOPPED, ELSEWHERE)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and fits(value)


def _are_numbers(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_number, value.values()))


def outcome_of(result: Result, score: Any, case: dict[str, Any], score_id: str) -> Outcome:
    """Return the outcome of a run at rest; if it is over, its result is scored."""
    run = result.run
    outcome = Outcome(run.id, SCORED, score_id=score_id, answer=mask(result.answer)[:_MAX_ANSWER], reason=result.reason)
    usage: Usage = result.usage
    outcome.calls, outcome.tool_calls = result.step_count, result.tool_calls_count
    outcome.tokens, outcome.cost, outcome.seconds = usage.total, usage.cost, _seconds(run)
    status = run.status
    if status == Status.WAITING:
        outcome.state, outcome.problem = WAITING, mask("; ".join(verdict.why for _, verdict in run.waiting))
    elif result.reason.startswith("budget:"):
        outcome.state, outcome.problem = OVER_BUDGET, result.reason
    elif result.reason == "timeout":
        outcome.state, outcome.problem = FAILED, "it took too long"
    elif result.error is not None:
        outcome.state, outcome.problem = FAILED, mask(error_line(result.error))
    elif status == Status.STOPPED:
        outcome.state = STOPPED
    elif status == Status.READONLY:
        outcome.state, outcome.problem = FAILED, mask(run.read_only)
    elif status != Status.DONE:
        outcome.state, outcome.problem = WAITING, mask(run.hold or f"the run is {status}")
    else:
        _score(outcome, result, score, case)
    return outcome


def _score(outcome: Outcome, result: Result, score: Any, case: dict[str, Any]) -> None:
    if score is None:
        return
    try:
        scored: Scored = checked_scores(score(result, case))
    except (Exception, SystemExit) as error:  # a score that calls a program ends neither this one nor the trials
        outcome.state, outcome.problem = UNSCORED, mask(error_line(error))
        return
    outcome.scores, outcome.spreads, outcome.judging = scored.values, scored.spreads, scored.usage.cost


def _seconds(run: Any) -> float:
    """Return how long the steps of a run took, without the time in which it was paused."""
    return float(sum(max(0.0, entry.ended - entry.started) for entry in run.entries if entry.kind != "begin"))
