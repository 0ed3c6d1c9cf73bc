"""Where the outcome of a run was decided: how good its endings are if each of its thoughts is asked again."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import pairwise
from statistics import NormalDist
from typing import Any

from agentkit.core.display import Displayed
from agentkit.core.secrets import mask
from agentkit.core.text import call_text, counted, one_line
from agentkit.core.usage import Usage
from agentkit.errors import UsageError
from agentkit.experiments.statistics import Estimate
from agentkit.experiments.trials import Trials, go_through, question_of, scoring_of
from agentkit.export.tables import Table, to_html, to_markdown, to_text
from agentkit.gates.limits import Budget
from agentkit.inert import inert_lines
from agentkit.journal.entries import Entry
from agentkit.run.asked_again import is_reply
from agentkit.run.run import Run

_FEW = 5
"""How many trials with scores other than 0 and 1 are needed to compare two thoughts."""

_ERROR = 0.05
"""How often about a thought is named in a run in which no thought decided anything, for all its thoughts together."""

_BAR = 20
"""Characters of the bar of a score of 1."""


class Decided(Displayed):
    """How good the endings of a run are from each of its thoughts on; see `Run.decided`.

    `decided[0]` are the `Trials` from its first thought, `decided[0].estimate` their mean score with its interval.
    `forecast` says what `go()` would do and cost, for all thoughts together. `step` is the thought that decided how the
    run ended, and `sentence` says it, or that the trials cannot tell.
    """

    def __init__(
        self,
        run: Run,
        times: int,
        *,
        score: Callable[[Any, dict[str, Any]], Any],
        case: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> None:
        if score is None:
            raise UsageError("what is a good ending? score=… is a function of the result and the case")
        thoughts = [entry for entry in run.entries if is_reply(entry)]
        if not thoughts:
            raise UsageError("this run has no thought of a model that could be asked again")
        self.run, self.times = run, times
        self.trials = [Trials(run, thought, times, score=score, case=case, timeout=timeout) for thought in thoughts]

    # -- what it would cost, and going ---------------------------------------------------------------------------------

    @property
    def question(self) -> str:
        """What a person has to decide before `go()`, see `Trials.question`; "" if there is nothing to decide."""
        return question_of(self.trials)

    @property
    def expected(self) -> Usage:
        """What `go()` will probably use."""
        return sum((trials.expected for trials in self.trials), Usage())

    @property
    def forecast(self) -> str:
        """What `go()` would do, and what it will probably cost, as a sentence."""
        missing, used = sum(len(trials.missing) for trials in self.trials), self.expected
        if not missing:
            return f"Nothing is left to try.{scoring_of(self.trials)}"
        cost = f"about ${used.cost:.3g}" if used.cost else "no price is known"
        return (
            f"go() makes {counted(missing, 'trial')} to the end, from {counted(len(self.trials), 'thought')}: about "
            f"{counted(used.calls, 'call')}, {used.input:,} tokens to read and {used.output:,} to write; {cost}."
        )

    def go(self, *, approved: bool | None = None, on: int = 8, budget: Budget | None = None) -> Decided:
        """Make the trials that are missing, from all thoughts, and return this; see `Trials.go`."""
        go_through(self.trials, approved=approved, on=on, budget=budget)
        return self

    def stop(self) -> Decided:
        """Stop `go()`, which another thread has called; what has ended is kept."""
        for trials in self.trials:
            trials.stop()
        return self

    # -- what comes out ------------------------------------------------------------------------------------------------

    @property
    def confidence(self) -> float:
        """The confidence of the intervals: 0.95, and in runs of more than ten thoughts more, because the more of them
        are compared, the sooner two of them are apart by luck.
        """
        return confidence_for(len(self.trials))

    @property
    def estimates(self) -> list[Estimate | None]:
        """The mean score from each thought on, with its interval; None where nothing is scored."""
        confidence = self.confidence
        return [trials.estimated(confidence) for trials in self.trials]

    @property
    def step(self) -> Entry | None:
        """The thought after which the endings differ from those before it: the first one with an interval that does not
        overlap the interval of the next thought. None if there is none, or if it cannot be told yet.
        """
        estimates = self.estimates
        for trials, before, after in zip(self.trials, estimates, estimates[1:], strict=False):
            if before is None or after is None:
                return None  # what comes first is not known
            if are_apart(before, after):
                return trials.thought
        return None

    @property
    def sentence(self) -> str:
        """Where the outcome was decided, or why that cannot be told."""
        estimates = self.estimates
        if not any(estimates):
            return ""
        if (step := self.step) is not None:
            n = next(n for n, trials in enumerate(self.trials) if trials.thought is step)
            before, after = _figure(estimates[n]), _figure(estimates[n + 1])
            return (
                f"Decided at {step.step_name}: {before} if it is asked again, {after} after what it replied in the run."
            )
        if None in estimates or any(trials.missing for trials in self.trials):
            return "Cannot tell yet: trials are missing, or could not be scored."
        known = [each for each in estimates if each is not None]
        last, own = known[-1], self.trials[-1].own_score
        told = "Cannot tell where it was decided: "
        if len(known) > 1:
            apart = max((one.high - one.low + other.high - other.low) / 2 for one, other in pairwise(known))
            told += "no two neighbouring intervals are apart"
            told += f", which takes a difference of about {apart:.2f}" if apart < math.inf else ""
            told += "; more trials tell more."
        else:
            told += "the run has only one thought."
        if own is not None and not last.low <= own <= last.high:
            told += f" At the last thought it was still open: {_figure(last)}, and the run ended with {own:.4g}."
        return told

    def __len__(self) -> int:
        return len(self.trials)

    def __getitem__(self, index: int) -> Trials:
        return self.trials[index]

    def __iter__(self) -> Iterator[Trials]:
        return iter(self.trials)

    def table(self) -> Table:
        """Return a table with one row for each thought, and one for the ending of the run."""
        decided = self.step
        confidence = f"{100 * self.confidence:.3g} %"
        header = ["from", "replied in the run", "score when asked again", "", confidence, "trials"]
        rows = []
        for trials, found in zip(self.trials, self.estimates, strict=True):
            mark = " ← decided here" if trials.thought is decided else ""
            interval = f"[{found.low:.2f}, {found.high:.2f}]{mark}" if found else ""
            done = f"{len(trials.scores)} of {trials.times}"
            rows.append([trials.thought.step_name, _said(trials.thought), _bar(found), _value(found), interval, done])
        own = self.trials[-1].own_score
        if own is not None:
            rows.append(["the run", one_line(self.run.answer or "", 60, mask), _bar_of(own), f"{own:.2f}", "", ""])
        return Table(header, rows)

    @property
    def title(self) -> str:
        """What was tried."""
        return f"Where it was decided: {counted(self.times, 'trial')} to the end from each thought"

    def _remarks(self) -> list[str]:
        is_complete = not any(trials.missing or trials.unscored for trials in self.trials)
        told = [self.sentence] + ([] if is_complete else [self.forecast, self.question])
        return [each for each in told if each]

    @inert_lines
    def __repr__(self) -> str:
        return "\n".join([self.title, to_text(self.table(), cell_width=40), *self._remarks()])

    def _repr_html_(self) -> str:
        from agentkit.export.escaping import escape_html
        from agentkit.export.html import fragment

        remarks = "".join(f"<p>{escape_html(remark)}</p>" for remark in self._remarks())
        return fragment(f"<p><b>{escape_html(self.title)}</b></p>", to_html(self.table(), max_rows=None), remarks)

    def _repr_markdown_(self) -> str:
        from agentkit.export.escaping import markdown_inline

        remarks = map(markdown_inline, self._remarks())
        return "\n\n".join([f"**{markdown_inline(self.title)}**", to_markdown(self.table(), max_rows=None), *remarks])


def confidence_for(thoughts: int) -> float:
    """Return the confidence of the intervals that are compared in a run with so many thoughts.

    The intervals of two equal shares are apart as often as one number is √2 half widths away from its mean. The error
    is divided among all pairs of neighbours (C. E. Bonferroni, 1936).
    """
    normal, pairs = NormalDist(), max(1, thoughts - 1)
    return max(0.95, 2 * normal.cdf(normal.inv_cdf(1 - _ERROR / pairs / 2) / math.sqrt(2)) - 1)


def are_apart(one: Estimate, other: Estimate) -> bool:
    """Return whether two intervals do not overlap; Student's says too little of a handful of scores."""
    is_enough = all(each.method == "Wilson" or each.tasks >= _FEW for each in (one, other))
    return is_enough and (one.high < other.low or other.high < one.low)


def _figure(found: Estimate | None) -> str:
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]" if found else ""


def _value(found: Estimate | None) -> str:
    return f"{found.value:.2f}" if found else ""


def _bar(found: Estimate | None) -> str:
    return _bar_of(found.value) if found else ""


def _bar_of(score: float) -> str:
    return "█" * round(_BAR * score) if 0 <= score <= 1 else ""


def _said(thought: Entry) -> str:
    reply = thought.result
    return one_line(", ".join(map(call_text, reply.calls)) or reply.answer or reply.text, 60, mask)
