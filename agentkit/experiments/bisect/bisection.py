"""Which change turned the outcome: trials at points between two runs, repeated until luck is ruled out."""

from __future__ import annotations

import functools
import itertools
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, wait
from dataclasses import dataclass, field
from typing import Any

from agentkit.core import background
from agentkit.core.checked_arguments import checked
from agentkit.core.live_shell import live_shell
from agentkit.core.messages import canonical, digest
from agentkit.core.secrets import mask
from agentkit.core.text import counted, error_line, one_line, same_text
from agentkit.core.usage import Usage
from agentkit.errors import Busy, JournalInUse, Undecided, UsageError
from agentkit.experiments import table
from agentkit.experiments.bisect.differences import check_openable
from agentkit.experiments.bisect.halving import (
    ALONE,
    ENDS_ALIKE,
    ENOUGH,
    ERROR,
    IN_BETWEEN,
    NEIGHBOURS_ALIKE,
    NOT_ENOUGH,
    Halving,
)
from agentkit.experiments.bisect.prefixes import (
    DRAWN,
    Change,
    Point,
    Way,
    between_lines,
    between_starts,
    name_of_trials,
)
from agentkit.experiments.endings import acting_tools, case_of, check_score, ending_of, question_about
from agentkit.experiments.identity import content
from agentkit.experiments.live_output import REFRESH, LiveOutput
from agentkit.experiments.outcome import (
    ELSEWHERE,
    FAILED,
    OVER_BUDGET,
    SCORED,
    STOPPED,
    UNSCORED,
    WAITING,
    Outcome,
    outcome_of,
)
from agentkit.experiments.worker import alone, check_time_limit
from agentkit.export.tables import Table, to_html, to_text
from agentkit.inert import inert_lines
from agentkit.journal.entries import OUTCOME, Entry
from agentkit.run.run import Result, Run

MAX_FAILED = 3
"""How many trials of one point may fail, if neither run had failed; then there is nothing to be told from them."""

PATIENCE = 60.0
"""How long a trial is waited for that somebody else is working on, in seconds."""


@dataclass(slots=True, eq=False)
class Trial:
    """One trial of a bisection: its number at its point, and what became of it. `run_name` is the id of the run."""

    run_name: str
    number: int
    begin: Callable[[str], Run] = field(repr=False)
    outcome: Outcome | None = None
    is_like_other: bool | None = None
    kept: Run | None = field(default=None, repr=False)
    """The run itself, if no journal keeps it."""

    @property
    def run(self) -> Run:
        """The run, opened again: step through it, edit it, fork it. Raises `UsageError` if it has not begun."""
        if self.outcome is None and self.kept is None:
            raise UsageError("this trial has not begun")
        if self.kept is None or (self.kept.read_only and self.kept.trace.journal is not None):
            self.kept = self.begin(self.run_name)
        return self.kept

    @property
    def state(self) -> str:
        """What became of the trial: "scored", "unscored", "failed", "waiting", "over budget", or "missing"."""
        return self.outcome.state if self.outcome else "missing"

    @inert_lines
    def __repr__(self) -> str:
        outcome = self.outcome
        what = outcome.problem or table.numbers(outcome.scores) if outcome else ""
        answer = f": {one_line(outcome.answer, 60, mask)!r}" if outcome and outcome.answer else ""
        return f"trial {self.number}, {self.state} {what}".rstrip() + answer


@dataclass(slots=True, eq=False)
class Prefix:
    """The first changes of a bisection, and its trials with these changes and none of those that follow.

    `count` is how many changes these are; `ALONE` stands for the culprit alone.
    """

    count: int
    point: Point
    name: str
    trials: list[Trial] = field(default_factory=list)

    @property
    def likes(self) -> list[bool]:
        """Of each trial that counts, in order: whether it ended like `other`.

        What follows on a trial that was stopped does not count yet: those that come back first may end differently.
        """
        made = itertools.takewhile(lambda trial: trial.outcome is not None, self.trials)
        return [trial.is_like_other for trial in made if trial.is_like_other is not None]

    @property
    def failed(self) -> list[Trial]:
        """The trials that are over and do not count, because they failed, wait, or could not be scored."""
        return [trial for trial in self.trials if trial.outcome is not None and trial.is_like_other is None]

    @property
    def figures(self) -> str:
        """How many trials ended like `other`, of how many."""
        likes = self.likes
        return f"{sum(likes)} of {len(likes)}"


class _Stopped(Exception):
    """The bisection was stopped."""


class _Stuck(Exception):
    """Trials fail or wait, so that nothing can be told; the text says why."""


class Bisection:
    """Which of the changes between two runs turned the outcome; see `bisect`.

    It shows the changes first, and what the trials will probably cost; `go()` makes them. Afterwards, `culprit` is the
    change, or None if that cannot be told, and `verdict` says it in a sentence. `before` and `after` are runs without
    and with the culprit. `prefixes` are the points that were tried, each with its trials, which open as runs.
    """

    def __init__(
        self,
        way: Way,
        ends: tuple[Run, Run],
        scores: tuple[float, float],
        *,
        score: Any,
        score_id: str,
        case: dict[str, Any],
        failing_counts: bool,
        repeats: int,
        threads: int,
        timeout: float | None,
        approved: bool | None,
    ) -> None:
        self.changes, self.ends, self.scores = way.changes, ends, scores
        self.repeats, self.approved = repeats, approved
        self.culprit: Change | None = None
        self.verdict = self.problem = self.note = ""
        self._way, self._score, self._score_id, self._case = way, score, score_id, case
        self._failing_counts, self._threads, self._timeout = failing_counts, threads, timeout
        self._prefixes: dict[int, Prefix] = {}
        self._found: tuple[Prefix, Prefix] | None = None
        self._stopping = threading.Event()
        self._live: dict[str, Run] = {}
        self._beginning, self._forking = threading.Lock(), threading.Lock()
        self._working: Any = None
        self._is_running = False
        self._known: dict[str, Outcome] = {}
        self._outputs: list[LiveOutput] = []
        has_alone = way.alone is not None
        self._halving = Halving(len(way.changes), repeats, self._likes, self._try, has_alone=has_alone, stops=way.stops)
        self._look_up()

    # -- what is known beforehand --------------------------------------------------------------------------------------

    @property
    def most(self) -> tuple[int, int]:
        """How many trials are made if they never vary, and how many at most; those that are recorded count, too."""
        return self._halving.most

    @property
    def fewest(self) -> int:
        """The smallest number of trials of a point that can rule out luck."""
        return self._halving.fewest

    @property
    def expected(self) -> Usage:
        """What one trial will probably use: as much as the run of the two that used more, from where they part."""
        used = [sum((entry.usage for entry in line if entry.usage is not None), Usage()) for line in self._way.recorded]
        return max(used, key=lambda usage: (usage.cost, usage.total, usage.calls))

    @property
    def forecast(self) -> str:
        """What `go()` would do: how many trials, with how many calls and tokens, at what price."""
        calls = max(sum(e.kind == "think" and e.author == "model" for e in line) for line in self._way.recorded)
        one = self.expected
        price = f"about {_span(one.cost, self.most, table.money)}" if one.cost else ""
        tokens = f"about {_span(one.total, self.most)} tokens" if one.total else ""
        used = "; ".join(filter(None, (tokens, price or "no price is known")))
        ours = tuple(f"{name_of_trials(point)}." for point in self._way.points) if self._known else ()
        known = sum(name.startswith(ours) for name in self._known)
        recorded = f", of which {known:,} may be on record" if known else ""
        return (
            f"go() makes {_span(1, self.most)} trials{recorded}, with about {_span(calls, self.most)} model calls in "
            f"all: {used}"
        )

    @property
    def question(self) -> str:
        """What is asked before trials begin that may call tools that act on the world; "" if nothing is."""
        if self.approved is not None or self._is_over:
            return ""
        tools = acting_tools(self.ends[0]) | acting_tools(self.ends[1])
        limits = [run.agent.options.get("max_tool_calls") for run in self.ends]
        known = [limit for limit in limits if limit is not None]
        return question_about(tools, self.most[1], max(known) if len(known) == len(limits) else None)

    def _look_up(self) -> None:
        """Read the outcomes of earlier trials from the journals."""
        journals = {id(run.agent.journal): run.agent.journal for run in self.ends}
        for journal in journals.values():
            for name, note in journal.closing_notes(OUTCOME, "bisect.").items() if journal is not None else ():
                outcome = Outcome.from_json({**note.data, "run": name})
                if outcome is not None and outcome.score_id == self._score_id and outcome.state in _FINAL:
                    self._known[name] = outcome

    # -- running -------------------------------------------------------------------------------------------------------

    @property
    def _is_over(self) -> bool:
        return bool(self.verdict)

    @property
    def status(self) -> str:
        """The status: "ready", "asks", "running", "stopped", "stuck" (trials fail or wait) or "done"."""
        if self._is_running:
            return "running"
        if self._is_over:
            return "done"
        if self.problem:
            return "stuck"
        if self.question:
            return "asks"
        return "stopped" if self._stopping.is_set() else "ready"

    def go(self, *, approved: bool | None = None, timeout: float | None = None) -> Bisection:
        """Make the trials, wait for them, and return the bisection; an interrupt stops it, and so do `timeout` seconds.

        Another `go()` continues where it was stopped; trials that are over are not made again. If tools that act on the
        world may be called, `approved` says whether they are, see `question`; without it, `Undecided` is raised.
        """
        self.begin(approved=approved)
        output = LiveOutput(self._bundle)
        output.show()
        self._outputs.append(output)
        try:
            self.wait(timeout)
            if self.status == "running":
                self.stop().wait()
        finally:
            self._outputs.remove(output)
            output.end(f"{self.title}.")
        return self

    def begin(self, *, approved: bool | None = None) -> Bisection:
        """Make the trials in the background, and return at once; `approved` is that of `go`."""
        with self._beginning:
            self._begin(approved)
        return self

    def _begin(self, approved: bool | None) -> None:
        if self.status in ("running", "done"):
            return
        self.approved = self.approved if approved is None else approved
        if self.question:
            raise Undecided(self.question)
        self._stopping.clear()
        self.problem = ""
        self._look_up()
        for prefix in self.prefixes:
            for trial in prefix.failed:
                trial.outcome = None
        self._is_running = True
        self._working = background.in_thread(self._run)

    def wait(self, timeout: float | None = None) -> Bisection:
        """Wait until it is over or was stopped, at most `timeout` seconds; an interrupt stops it."""
        if self._working is not None:
            background.wait_or_stop(self._working, self.stop, timeout)
        return self

    def stop(self) -> Bisection:
        """Stop: begin no more trials, and stop those that go on at once. `go()` continues them."""
        self._stopping.set()
        for run in list(self._live.values()):
            run.stop()
        return self

    def _run(self) -> None:
        try:
            self._search()
        except _Stopped:
            pass
        except _Stuck as stuck:
            self.problem = str(stuck)
        except Exception as error:
            self.problem = f"the bisection broke: {mask(error_line(error))}"
        finally:
            self._is_running = False
            self._show(at_end=True)

    # -- the search ----------------------------------------------------------------------------------------------------

    def _search(self) -> None:
        found = self._halving.find()
        low, high = self._at(found.low), self._at(found.high)
        if found.why_not == ENDS_ALIKE:
            self.verdict = (
                f"cannot tell: {low.figures} trials like run and {high.figures} trials like other gave the outcome of "
                "other, so what you saw may have been luck"
            )
        elif found.why_not == IN_BETWEEN:
            first, last = self._way.number(found.low) + 1, self._way.number(found.high)
            which = (
                f"changes {first} and {last}" if first < last else f"change {last} and what the model drew beside it"
            )
            self.verdict = (
                f"cannot tell between {which}: {self._at(found.middle).figures} trials "
                f"{self._place(self._at(found.middle))} ended like other, which is clearly like neither end"
            )
        elif found.why_not == NEIGHBOURS_ALIKE:
            self.verdict = (
                f"cannot tell: {self.changes[found.high - 1]} makes no clear difference by itself ({high.figures} "
                f"trials with it ended like other, {low.figures} without it), so several changes seem to have a part"
            )
        else:
            self._found, culprit = (low, high), self.changes[found.high - 1]
            self.note = self._about_alone(found.alone)
            named = f"change {self._way.number(found.high)} ({culprit})"
            which = f"luck, not a change: {culprit}" if culprit.kind == DRAWN else named
            self.verdict = f"it was {which}. {high.figures} trials with it ended like other, {low.figures} without it"
            self.culprit = culprit

    def _about_alone(self, alone: str) -> str:
        if not alone:
            return ""
        figures = self._at(ALONE).figures
        if alone == ENOUGH:
            return f"It does so without the other changes, too: {figures} trials with it alone ended like other."
        if alone == NOT_ENOUGH:
            return (
                f"It does so only together with a change before it: {figures} trials with it alone ended like other. "
                "In another order, that change would have been found."
            )
        return f"Whether it does so alone cannot be told: {figures} trials with it alone ended like other."

    def _at(self, count: int) -> Prefix:
        """Return the trials with the first changes."""
        if count not in self._prefixes:
            point = self._way.points[count] if count != ALONE else self._culprit_alone()
            self._prefixes[count] = Prefix(count, point, name_of_trials(point))
        return self._prefixes[count]

    def _culprit_alone(self) -> Point:
        assert self._way.alone is not None
        return self._way.alone(self._halving.high - 1)

    def _likes(self, count: int) -> list[bool]:
        return self._at(count).likes

    def _try(self, times: dict[int, int]) -> None:
        """Make trials at once, so many of each point, and take what comes out.

        Raises `_Stopped`, or `_Stuck` if too many of them do not count.
        """
        wanted = {count: self._at(count) for count in times}
        todo = [trial for count, prefix in wanted.items() for trial in self._next(prefix, times[count])]
        running: list[tuple[Trial, Any]] = []
        left = todo[:]
        while left or running:
            while left and len(running) < self._threads and not self._stopping.is_set():
                trial = left.pop(0)
                running.append((trial, background.in_thread(functools.partial(self._make, trial))))
            if self._stopping.is_set():
                left.clear()
            over = [(trial, future) for trial, future in running if future.done()]
            for each in over:
                running.remove(each)
                each[1].result()
            if over:
                self._show()
            elif running:
                wait([future for _, future in running], REFRESH, FIRST_COMPLETED)
        if self._stopping.is_set():
            raise _Stopped
        for prefix in wanted.values():
            self._check(prefix)

    def _next(self, prefix: Prefix, times: int) -> list[Trial]:
        """Return the next trials of a point: those that were stopped, or else new ones."""
        if trials := [trial for trial in prefix.trials if trial.outcome is None]:
            return trials
        while len(trials) < times:
            number = len(prefix.trials)
            trial = Trial(f"{prefix.name}.{number}", number, prefix.point.begin)
            prefix.trials.append(trial)
            trials.append(trial)
        return trials

    def _check(self, prefix: Prefix) -> None:
        """Raise `_Stuck` if trials wait, could not be scored, or failed too often; they are tried again by `go()`."""
        failed = prefix.failed
        elsewhere, waiting, unscored = (
            next((trial for trial in failed if trial.state == state), None) for state in (ELSEWHERE, WAITING, UNSCORED)
        )
        if not (elsewhere or waiting or unscored or len(failed) >= MAX_FAILED):
            return
        shown = elsewhere or waiting or unscored or failed[-1]
        why = shown.outcome.problem if shown.outcome else ""
        if elsewhere is not None:
            raise _Stuck(f"trial {elsewhere.run_name} is being made elsewhere ({why}); call go() again when it is over")
        if waiting is not None:
            raise _Stuck(
                f"trial {waiting.run_name} waits for you ({why}); open it with agent.resume({waiting.run_name!r}), "
                "decide, close it, and call go() again"
            )
        if unscored is not None:
            raise _Stuck(f"trial {unscored.run_name} could not be scored ({why}); correct the score, and bisect again")
        raise _Stuck(
            f"{len(failed)} trials {self._place(prefix)} failed ({why}), so nothing can be told from them. "
            "go() tries them again"
        )

    def _place(self, prefix: Prefix) -> str:
        if prefix.count == ALONE:
            return "with the culprit alone"
        drawn = prefix.count and self.changes[prefix.count - 1].kind == DRAWN
        more = ", and with what was drawn then" if drawn else ""
        number, of = self._way.number(prefix.count), self._way.number(len(self.changes))
        return f"with the first {number} of {counted(of, 'change')}{more}" if number or more else "like run"

    def _make(self, trial: Trial) -> None:
        """Make a trial, or take its outcome from the journal."""
        outcome = self._known.get(trial.run_name)
        if outcome is None:
            outcome = self._driven(trial)
        if outcome.state == STOPPED:
            return
        trial.is_like_other = self._is_like_other(outcome)
        trial.outcome = outcome

    def _driven(self, trial: Trial) -> Outcome:
        """Drive a trial to its end; one that somebody else is working on is waited for, at most `PATIENCE` seconds."""
        end = time.monotonic() + PATIENCE
        while True:
            with alone(trial.run_name) as is_alone:
                if is_alone:
                    outcome = self._driven_alone(trial)
                else:
                    outcome = Outcome(trial.run_name, ELSEWHERE, "another bisection in this process is making it")
            if outcome.state != ELSEWHERE or time.monotonic() > end:
                return outcome
            if self._stopping.wait(REFRESH):
                return Outcome(trial.run_name, STOPPED)

    def _driven_alone(self, trial: Trial) -> Outcome:
        try:
            with self._forking:
                run = trial.begin(trial.run_name)
        except (Busy, JournalInUse) as error:
            return Outcome(trial.run_name, ELSEWHERE, mask(error_line(error)))
        except Exception as error:
            return Outcome(trial.run_name, FAILED, mask(error_line(error)))
        self._live[trial.run_name] = trial.kept = run
        try:
            return ending_of(
                run,
                self._score,
                self._case,
                self._score_id,
                approved=bool(self.approved),
                timeout=self._timeout,
                is_stopped=self._stopping.is_set,
            )
        finally:
            self._live.pop(trial.run_name, None)

    def _is_like_other(self, outcome: Outcome) -> bool | None:
        """Return whether a trial ended nearer to `other` than to `run`; None if it does not count."""
        if outcome.state == SCORED:
            score = next(iter(outcome.scores.values()))
        elif outcome.state in (FAILED, OVER_BUDGET) and self._failing_counts:
            score = 0.0
        else:
            return None
        like_run, like_other = self.scores
        return abs(score - like_other) < abs(score - like_run)

    # -- what comes out ------------------------------------------------------------------------------------------------

    @property
    def prefixes(self) -> list[Prefix]:
        """The points that were tried, in the order of the changes; the culprit alone comes last."""
        return sorted(self._prefixes.values(), key=lambda prefix: (prefix.count == ALONE, prefix.count))

    @property
    def before(self) -> Run:
        """A run without the culprit, which ended like most of them. Raises `UsageError` if there is no culprit."""
        return self._example(0)

    @property
    def after(self) -> Run:
        """A run with the culprit, which ended like most of them. Raises `UsageError` if there is no culprit."""
        return self._example(1)

    def _example(self, side: int) -> Run:
        if self._found is None:
            raise UsageError(f"there is no culprit: {self.verdict or self.forecast}")
        prefix = self._found[side]
        usual = sum(prefix.likes) * 2 > len(prefix.likes)
        return next(trial for trial in prefix.trials if trial.is_like_other is usual).run

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dict for each trial: how many changes it has, its run, its state, scores and what it used."""
        found = []
        for prefix in self.prefixes:
            for trial in prefix.trials:
                outcome = trial.outcome
                used = ("answer", "problem", "calls", "tool_calls", "tokens", "cost", "seconds")
                about: dict[str, Any] = {
                    "changes": "alone" if prefix.count == ALONE else prefix.count,
                    "trial": trial.number,
                }
                about |= {"run": trial.run_name, "state": trial.state, "like other": trial.is_like_other}
                about |= outcome.scores if outcome else {}
                found.append({**about, **{name: getattr(outcome, name, None) for name in used}})
        return found

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row for each trial. Raises `UsageError` if pandas is not installed."""
        return table.to_frame(self.to_dicts())

    @property
    def title(self) -> str:
        """What was compared, and how far it is."""
        run, other = self.ends
        made = [trial.outcome for prefix in self.prefixes for trial in prefix.trials if trial.outcome]
        cost = sum(outcome.cost for outcome in made)
        known = sum(outcome.run in self._known for outcome in made)
        parts = [
            counted(self._way.number(len(self.changes)), "change"),
            counted(len(made), "trial") if made else "",
            f"{known} of them known before" if known else "",
            f"cost so far {table.money(cost)}" if cost else "",
            {"ready": "not begun", "done": ""}.get(self.status, self.status),
        ]
        return f"Bisect {run.id} (run) and {other.id} (other): {', '.join(filter(None, parts))}"

    def _rows(self) -> Table:
        """Return a table of the points: the change that is new at each, and its trials."""
        tried = {prefix.count: prefix for prefix in self.prefixes}
        rows = [["0", "(as in run)", *self._row(tried.get(0)), ""]]
        for count, change in enumerate(self.changes, 1):
            if change.kind == DRAWN and count not in tried:
                continue  # a part of what comes with the change after it
            number = "" if change.kind == DRAWN else str(self._way.number(count))
            mark = "← this one" if change is self.culprit else ""
            rows.append([number, f"+ {change}", *self._row(tried.get(count)), mark])
        if ALONE in tried:
            rows.append(["", "this one alone", *self._row(tried[ALONE]), ""])
        header = ["", "changes, one after the other", "like other", "failed", ""]
        width = [any(row[column] for row in rows) for column in range(len(header))]
        kept = [column for column in range(len(header)) if width[column]]
        return Table([header[column] for column in kept], [[row[column] for column in kept] for row in rows])

    @staticmethod
    def _row(prefix: Prefix | None) -> list[str]:
        if prefix is None or not prefix.trials:
            return ["", ""]
        return [prefix.figures if prefix.likes else "…", str(len(prefix.failed) or "")]

    def _verdict(self) -> str:
        if not self.verdict:
            return ""
        return f"{self.verdict[:1].upper()}{self.verdict[1:]}."

    def _remarks(self) -> list[str]:
        if self.problem:
            return [self.problem]
        if not self._is_over:
            doing = self.status == "running"
            return [line for line in ("" if doing else f"{self.forecast}.", self.question) if line]
        told = [self.note]
        if self.culprit is not None:
            how = "Each trial was taken at its word, so luck is not ruled out; repeats=10 does that."
            told.append(how if self.repeats == 1 else _HOW_SURE)
        return [line for line in told if line]

    @inert_lines
    def __repr__(self) -> str:
        head = [self.title, self._verdict()]
        return "\n".join([*filter(None, head), to_text(self._rows(), cell_width=100), *self._remarks()])

    def _repr_html_(self) -> str:
        from agentkit.export.escaping import escape_html
        from agentkit.export.html import fragment

        verdict = f"<p><b>{escape_html(self._verdict())}</b></p>" if self.verdict else ""
        below = "".join(f"<p><i>{escape_html(remark)}</i></p>" for remark in self._remarks())
        rows = to_html(self._rows(), max_rows=None)
        return fragment(f"<p>{escape_html(self.title)}</p>{verdict}", rows, below)

    def _ipython_display_(self) -> None:
        """Show the table; in a notebook, it changes until the bisection is over."""
        if live_shell() is None:
            raise NotImplementedError
        output = LiveOutput(self._bundle)
        output.show()
        if self.status == "running":
            self._outputs.append(output)

    def _bundle(self) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _show(self, *, at_end: bool = False) -> None:
        """Change the tables that are shown."""
        for output in list(self._outputs):
            output.show(at_once=at_end)


_HOW_SURE = (
    f"If one change did it, or none, a wrong one is named in at most {100 * ERROR:.0f} of 100 bisections. "
    "If several have a part, this is the one that turned it on this way."
)


def _span(each: float, times: tuple[int, int], form: Callable[[float], str] = "{:,}".format) -> str:
    """Return how much is used if each of so many trials uses this much: from the fewest to the most trials."""
    return " to ".join(dict.fromkeys(form(each * count) for count in times))


_FINAL = (SCORED, OVER_BUDGET)
"""Outcomes of trials that are taken from the journal."""


@checked
def bisect(
    run: Any,
    other: Any,
    *,
    score: Callable[[Any, dict[str, Any]], Any] | None = None,
    repeats: int = 10,
    case: Any = None,
    approved: bool | None = None,
    on: int = 4,
    timeout: float | None = None,
    output: Any = None,
) -> Bisection:
    """Return which of the changes between two runs turned the outcome, by trials with some of the changes.

    The runs are forks of one run, or were started with the same task and other settings. Instead of a run, it may be
    its result, or a line of `run.branches()`. Nothing is performed yet: the bisection shows the changes, and what the
    trials will cost, and `go()` makes them.

    `score` takes a result and the `case`, a dict with the task and what you pass; it returns a number, True or False.
    By default, it is whether the answer is that of `other` (of `run`, if `other` has none). A trial counts as like
    `other` if its score is nearer to that of `other` than to that of `run`. `repeats` is how many trials a point has at
    most; with 1, each is taken at its word, which is right only for models that always reply the same. `on` is how many
    trials go on at once, and `timeout` is for each, in seconds. `output` is the type of the answers, if they are typed.

    Before trials may call tools that act on the world, that is asked once. `approved=True` allows it; with
    `approved=False`, no such call is made. Calls that are on record are not made again in any case.

    Raises `UsageError`, which says what to do, if the runs cannot be bisected.
    """
    check_score(score)
    if isinstance(repeats, bool) or not 1 <= repeats <= 1_000:
        raise UsageError(f"repeats must be a number from 1 to 1,000, not {repeats!r:.100}")
    if isinstance(on, bool) or not 1 <= on <= 1_000:
        raise UsageError(f"on must be a number of threads from 1 to 1,000, not {on!r:.100}")
    check_time_limit(timeout)
    ends = _opened(run, other)
    first, second = ends
    way = between_lines(*ends) if first.tree_id == second.tree_id else between_starts(*ends, output)
    if not way.changes:
        raise UsageError(
            "the two runs do not differ in anything that is recorded, so their outcomes differ by luck alone; "
            "run.resample(entry) shows how often a model replies what it replied"
        )
    about = case_of(second, case)
    has_answer = outcome_of(second.result, None, about, "").state == SCORED
    used = score or functools.partial(_is_answer, (second if has_answer else first).answer or "")
    score_id = digest(canonical([content(used), content(about)]))
    outcomes = [outcome_of(each.result, used, about, score_id) for each in ends]
    found = Bisection(
        way,
        ends,
        _scores_of(ends, outcomes, is_default=score is None),
        score=used,
        score_id=score_id,
        case=about,
        failing_counts=any(outcome.state != SCORED for outcome in outcomes),
        repeats=repeats,
        threads=on,
        timeout=timeout,
        approved=approved,
    )
    if 1 < repeats < (least := found.fewest):
        raise UsageError(
            f"with {counted(way.number(len(way.changes)), 'change')}, it takes {least} trials of a point to rule luck "
            f"out: repeats must be at least {least}, or 1 for models that always reply the same"
        )
    return found


def _scores_of(ends: tuple[Run, Run], outcomes: list[Outcome], *, is_default: bool) -> tuple[float, float]:
    """Return the scores of both runs. Raises `UsageError` if one is not known, or if they are equal."""
    for each, outcome in zip(ends, outcomes, strict=True):
        if outcome.state not in (SCORED, FAILED, OVER_BUDGET):
            raise UsageError(f"the score of {each.id} is not known: {outcome.problem or outcome.state}")
    mine, its = [next(iter(outcome.scores.values()), 0.0) for outcome in outcomes]
    if mine == its:
        default = " (it asks for the answer of other; pass another one with score=…)" if is_default else ""
        raise UsageError(
            f"both runs have the score {mine:g}, so there is nothing to explain{default}; "
            "take a score by which they differ"
        )
    return mine, its


def _is_answer(answer: str, result: Any, case: dict[str, Any]) -> bool:
    """Return whether a result has this answer."""
    return same_text(result.answer, answer)


def _opened(run: Any, other: Any) -> tuple[Run, Run]:
    """Return the two runs of what was passed, ready to be forked. Raises `UsageError`."""
    given = [each.run if isinstance(each, Result) else each for each in (run, other)]
    known = next((each for each in given if isinstance(each, Run)), None)
    runs = list[Run]()
    for name, each in zip(("run", "other"), given, strict=True):
        if isinstance(each, list) and each and isinstance(each[-1], Entry) and known is not None:
            each = known.fork(each[-1])
        if not isinstance(each, Run):
            raise UsageError(
                f"{name} must be a run, a result, or a line of run.branches(), not {each!r:.200}; "
                "agent.resume(id) opens a run of the journal"
            )
        runs.append(check_openable(each, name))
    if runs[0] is runs[1] or runs[0].id == runs[1].id:
        raise UsageError("run and other are the same run; pass a fork of it, or a line of run.branches()")
    return runs[0], runs[1]
