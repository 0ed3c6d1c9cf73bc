"""Trials: forks of a run before a thought, each driven to its end, to see how much of the outcome is chance.

A trial is a run in the journal, whose name follows from the run, the thought and what is asked there; so a later call,
in another process too, finds what is there, goes on with what was interrupted, and pays for nothing twice.
"""

from __future__ import annotations

import concurrent.futures
import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from agentkit.core import background
from agentkit.core.display import Displayed
from agentkit.core.messages import canonical, digest
from agentkit.core.secrets import mask
from agentkit.core.text import counted, error_line, one_line
from agentkit.core.usage import Usage
from agentkit.errors import Busy, JournalInUse, Undecided, Unknown, UsageError
from agentkit.experiments.endings import acting_tools, case_of, check_score, ending_of, question_about
from agentkit.experiments.identity import content, identity_of_code
from agentkit.experiments.live_output import LiveOutput
from agentkit.experiments.outcome import ELSEWHERE, FAILED, OVER_BUDGET, SCORED, STATES, UNSCORED, WAITING, Outcome
from agentkit.experiments.scores import checked_scores
from agentkit.experiments.statistics import Estimate, estimate, wilson
from agentkit.experiments.table import duration, mean, money, to_frame
from agentkit.experiments.worker import check_time_limit, when_free
from agentkit.gates.limits import Budget
from agentkit.inert import inert, inert_lines
from agentkit.journal.entries import OUTCOME, Entry, begun
from agentkit.models.tokens import tokens, tokens_of_tools
from agentkit.run.asked_again import Asking, is_reply, question
from agentkit.run.run import Run
from agentkit.run.samples import IN_THE_RUN
from agentkit.runtime.control import GRACE
from agentkit.stepper.stepper import Pending
from agentkit.trace.line import has_drifted

MAX_TIMES = 10_000
_POLL = 0.1
"""How often it is looked whether the budget is used up or the trials were stopped, in seconds."""
_ORDER = (SCORED, OVER_BUDGET, UNSCORED, FAILED, WAITING)


@dataclass(slots=True, eq=False)
class Trial:
    """One trial: `run_name` is the id of its run, and `outcome` what became of it; None while it is missing."""

    number: int
    run_name: str
    of: Run = field(repr=False)
    outcome: Outcome | None = None
    opened: Run | None = field(default=None, repr=False)

    @property
    def run(self) -> Run:
        """A fork at the end of the trial, made when it is first asked for: step back in it, edit it; the trial stays as
        it was. A trial that waits for you is opened itself, so that your decision counts. Nothing is performed.

        Raises `UsageError` if the trial has not begun.
        """
        if self.outcome is None:
            raise UsageError("this trial is missing: go() makes it")
        if self.opened is None or self.opened.read_only:
            line = self.of.trace.tree.lines.get(self.run_name)
            if self.outcome.state == WAITING:
                self.opened = self.of.agent.resume(self.run_name)
            elif line is not None:
                self.opened = self.of.fork(line.entries[-1])
            else:
                self.opened = self.of.agent.fork(self.run_name)
        return self.opened

    @inert
    def __repr__(self) -> str:
        problem = self.outcome.problem if self.outcome and self.outcome.state == WAITING else ""
        why = f" ({one_line(problem, 300, mask)})" if problem else ""
        return f"trial {self.number}: {_text_of(self.outcome) if self.outcome else 'missing'}{why}"


@dataclass(slots=True, eq=False)
class Ending:
    """What several trials have in common: their score, or their answer if there is no score; or what they failed at.

    `state` is that of their outcomes, see `Outcome`. `share` is their part of all trials that have ended, from `low` to
    `high` with 95 % confidence (Wilson). `happened` is true if the run itself ended so.
    """

    text: str
    state: str
    trials: list[Trial]
    share: float
    low: float
    high: float
    happened: bool = False

    @property
    def count(self) -> int:
        """The number of trials."""
        return len(self.trials)

    @property
    def run(self) -> Run:
        """The run of the first trial, see `Trial.run`."""
        return self.trials[0].run

    @inert
    def __repr__(self) -> str:
        return f"{self.count}x {one_line(self.text, 100, mask)}"


class Trials(Displayed):
    """How a run ends if a recorded thought is asked again `times` times; see `Run.resample`.

    `forecast` says what is still to be done and what that will probably cost; `question` is not empty if a person has
    to allow something first. `go()` makes the trials, `stop()` stops them. `trials[0]` is the most frequent ending, and
    `trials[0].run` a run with it; `estimate` is the mean score with its interval. `trials.all` has every trial.
    """

    def __init__(
        self,
        run: Run,
        thought: Entry,
        times: int,
        *,
        score: Callable[[Any, dict[str, Any]], Any] | None = None,
        case: dict[str, Any] | None = None,
        timeout: float | None = None,
    ) -> None:
        if isinstance(times, bool) or not isinstance(times, int) or not 1 <= times <= MAX_TIMES:
            raise UsageError(f"times must be an integer from 1 to {MAX_TIMES:,}, not {times!r:.100}")
        check_score(score)
        check_time_limit(timeout)
        if run.trace.journal is None:
            raise UsageError(
                'trials are runs that are opened again, which needs a journal: Agent(…, journal="memory") or a path'
            )
        self.run, self.thought, self.times = run, thought, times
        self._score, self._case, self._timeout = score, case_of(run, case), timeout
        self._score_id = "" if score is None else digest(canonical([identity_of_code(score), content(self._case)]))
        self._asked = question(run.performer, thought)
        decides = {name: value for name, value in run.task.items() if name != "guards" and value not in (None, {})}
        self.key = digest(canonical([run.id, thought.id, self._asked.digest, decides]))[:16]
        self._own: dict[tuple[str, str | None], float] = run.attached.setdefault("own scores", {})
        self._trials = [Trial(number, f"trial.{self.key}.{number}", run) for number in range(times)]
        if score is not None:
            run.attached.setdefault("scores of trials", {})[self.key] = {"score": score, "case": case}
        self._recorded: dict[str, Outcome] = {}
        self._unrecorded: dict[str, Outcome] = run.attached.setdefault("unrecorded trials", {})
        self._rows = -1
        self._began, self._made, self._shown = time.monotonic(), 0, ""

    # -- what is there -------------------------------------------------------------------------------------------------

    @property
    def all(self) -> list[Trial]:
        """All trials, also those that are missing."""
        journal = self.run.trace.journal
        assert journal is not None
        try:
            rows = journal.count(self.run.id)
        except Unknown:  # the run was deleted, and its trials were not
            rows = -1
        if rows < 0 or rows != self._rows:  # somebody has added something to the tree of the run
            notes = journal.closing_notes(OUTCOME, f"trial.{self.key}.")
            read = {name: Outcome.from_json({**note.data, "run": name}) for name, note in notes.items()}
            self._recorded = {
                name: outcome
                for name, outcome in read.items()
                if outcome is not None and outcome.state in STATES and name.rpartition(".")[2].isdecimal()
            }
            self._rows = rows
        for trial in self._trials:
            trial.outcome = self._recorded.get(trial.run_name) or self._unrecorded.get(trial.run_name)
        return self._trials

    @property
    def recorded(self) -> int:
        """The number of trials up to the last one that is recorded, also above `times`."""
        _ = self.all
        return max((int(name.rpartition(".")[2]) + 1 for name in self._recorded), default=0)

    @property
    def ended(self) -> list[Trial]:
        """The trials that have ended, or wait for a person."""
        return [trial for trial in self.all if trial.outcome is not None]

    @property
    def missing(self) -> list[Trial]:
        """The trials that `go()` would make: those that have not begun or ended, and those that have failed."""
        return [trial for trial in self.all if trial.outcome is None or trial.outcome.state == FAILED]

    @property
    def unscored(self) -> list[Trial]:
        """The trials that have ended and have no score by this function; `go()` scores them, and asks no model."""
        if self._score is None:
            return []
        return [
            trial
            for trial in self.all
            if (outcome := trial.outcome) is not None
            and (outcome.state == UNSCORED or (outcome.state == SCORED and outcome.score_id != self._score_id))
        ]

    # -- what it would cost --------------------------------------------------------------------------------------------

    @property
    def tools(self) -> dict[str, str]:
        """The effects of the tools that trials may call and that are irreversible or undeclared, by their names."""
        return acting_tools(self.run)

    @property
    def question(self) -> str:
        """What a person has to decide before `go()`; "" if trials can call no tool that acts on the world."""
        options, budget = self.run.agent.options, self.run.guards.budget
        limits = [limit for limit in (options.get("max_tool_calls"), budget.max_tool_calls) if limit is not None]
        return question_about(self.tools, len(self.missing), min(limits, default=None)) if self.missing else ""

    @property
    def question_in_view(self) -> str:
        """The question for a person who has buttons for the answers, and not arguments."""
        asked = self.question.partition(" approved=")[0]
        return f"{asked} Without them, a trial that asks for one waits there." if asked else ""

    @property
    def expected(self) -> Usage:
        """What `go()` will probably use: as much for each trial as the rest of the run, and those that have ended.

        If the usage of the run is not known, the tokens to read are estimated, and those to write are 0.
        """
        rest, outcomes = self._rest(), [trial.outcome for trial in self.ended if trial.outcome and trial.outcome.calls]
        known = [(rest.total, rest.cost), *((each.tokens, each.cost) for each in outcomes if each.tokens)]
        calls = mean([rest.calls, *(each.calls for each in outcomes)]) * len(self.missing)
        total, cost = (mean(column) * len(self.missing) for column in zip(*known, strict=True))
        written = total * rest.output / rest.total if rest.total else 0
        return Usage(round(total - written), round(written), cost=cost, calls=round(calls))

    def _rest(self) -> Usage:
        """Return what the run has used from the thought on."""
        trace = self.run.trace
        before = {entry.id for entry in trace.before(self.thought)}
        line = trace.tree.line_with(self.thought, trace.line)
        thoughts = [entry for entry in line if entry.id not in before and is_reply(entry)] or [self.thought]
        used = sum((entry.usage for entry in thoughts if entry.usage is not None), Usage())
        if not used.total:
            steps: list[Any] = [entry.performed or entry.step for entry in thoughts]
            used = Usage(sum(sum(map(tokens, step.chat)) + tokens_of_tools(step.tools) for step in steps))
        return Usage(used.input, used.output, cost=used.cost, calls=len(thoughts))

    @property
    def forecast(self) -> str:
        """What `go()` would do, and what it will probably cost, as a sentence."""
        return f"go() makes {self.price}" if self.missing else self.price

    @property
    def price(self) -> str:
        """What is still to be done: the trials, their calls, tokens and price, and which tools they may call."""
        if not (missing := self.missing):
            return f"Nothing is left to try: {len(self.ended)} of {self.times} trials have ended.{scoring_of([self])}"
        used = self.expected
        cost = f"about ${used.cost:.3g}" if used.cost else "no price is known"
        written = f" and {used.output:,} to write" if used.output else ""
        more = "" if self.run.answer is not None else " The run itself has not ended, so it may be more."
        acts = ", ".join(f"{name} ({effect})" for name, effect in self.tools.items())
        asks = f"It asks before any of them calls {acts}." if acts else "No tool is called that acts on the world."
        return (
            f"{counted(len(missing), 'trial')} to the end, together about {counted(used.calls, 'call')} of "
            f"{self._asked.model}: about {used.input:,} tokens to read{written}; {cost}.{more} {asks}"
        )

    @property
    def usage(self) -> Usage:
        """What the trials so far have used; the tokens are those to read and to write together."""
        outcomes = [trial.outcome for trial in self.ended if trial.outcome]
        return Usage(
            sum(outcome.tokens for outcome in outcomes),
            cost=sum(outcome.cost + outcome.judging for outcome in outcomes),
            calls=sum(outcome.calls for outcome in outcomes),
        )

    # -- going ---------------------------------------------------------------------------------------------------------

    def go(self, *, approved: bool | None = None, on: int = 8, budget: Budget | None = None) -> Trials:
        """Make the trials that are missing, `on` of them at once, and return these trials.

        Each has the budget of the run for itself; `budget` is one for all of them together. If tools that act on the
        world may be called, `approved` says whether they are: see `question`. Trials that have failed are tried again,
        and with `approved=True` also those that wait for such a call.

        Raises `Undecided` if that is not said, and `UsageError` if the budget is used up, or the trials are being made
        already. What was done up to then is kept, and another `go()` goes on.
        """
        go_through([self], approved=approved, on=on, budget=budget)
        return self

    @property
    def is_asking(self) -> bool:
        """Whether the trials are being made at the moment, here or in the live view."""
        return self.key in self.run.asking

    def stop(self) -> Trials:
        """Stop `go()`, which another thread or the live view has called: the calls in progress are cancelled if
        possible. What has ended is kept, and another `go()` goes on with the rest, from where each trial was.
        """
        asking = self.run.asking.get(self.key)
        if asking is not None:
            asking.stop()
        return self

    def _to_do(self, approved: bool | None) -> list[Trial]:
        again = [trial for trial in self.ended if approved and trial.outcome and trial.outcome.state == WAITING]
        return [*self.missing, *self.unscored, *again]

    def _perform(self, trial: Trial, going: _Going) -> Outcome:
        """Make a trial in this thread, or go on with it, and return its outcome."""
        self._unrecorded.pop(trial.run_name, None)
        try:
            run = when_free(lambda: self._begun(trial), lambda: going.is_stopped)
        except (Busy, JournalInUse) as error:
            return Outcome(trial.run_name, ELSEWHERE, mask(error_line(error)))
        except Exception as error:
            return Outcome(trial.run_name, FAILED, mask(error_line(error)))
        going.live[trial.run_name] = run
        try:
            return ending_of(
                run,
                self._score,
                self._case,
                self._score_id,
                approved=going.approved,
                timeout=self._timeout,
                is_stopped=lambda: going.is_stopped,
            )
        finally:
            going.live.pop(trial.run_name, None)

    def _begun(self, trial: Trial) -> Run:
        """Return the run of a trial, before its thought, or where it was interrupted."""
        run, journal = self.run, self.run.trace.journal
        assert journal is not None
        with _making(run):
            if begun(journal, trial.run_name) is not None:
                return run.agent.resume(trial.run_name)
            fork = run.trial_at(run.trace.before(self.thought), trial.run_name)
        if (pending := _at(fork, self.thought)) is None or has_drifted(pending.step, self.thought.step):
            fork.discard()
            raise UsageError("the engine does not ask the same at this step any more, so it cannot be asked again")
        return fork

    def score_run(self) -> None:
        """Score the run itself, if it has ended and that was not done yet."""
        run, key = self.run, (self._score_id, self.run.answer)
        if self._score is not None and key not in self._own and run.status == "done":
            try:
                scores = checked_scores(self._score(run.result, self._case)).values
            except (Exception, SystemExit):  # the trials show what is wrong with the score
                return
            self._own[key] = next(iter(scores.values()))

    # -- what comes out ------------------------------------------------------------------------------------------------

    @property
    def own_score(self) -> float | None:
        """The score of the run itself; None if it has none, or was not scored yet."""
        return self._own.get((self._score_id, self.run.answer)) if self._score is not None else None

    @property
    def scores(self) -> list[float]:
        """The scores of the trials, one number each; a trial that failed or was over its budget counts as 0.

        If the score is a dict, it is the first number in it. What waits or could not be scored is left out.
        """
        found = list[float]()
        for trial in self.ended:
            outcome = trial.outcome
            assert outcome is not None
            if self._score is not None and outcome.state in (FAILED, OVER_BUDGET):
                found.append(0.0)
            elif (value := self._score_of(outcome)) is not None:
                found.append(value)
        return found

    def _score_of(self, outcome: Outcome) -> float | None:
        is_current = self._score is not None and outcome.state == SCORED and outcome.score_id == self._score_id
        return next(iter(outcome.scores.values()), None) if is_current else None

    @property
    def estimate(self) -> Estimate | None:
        """The mean score, with its 95 % interval; None if nothing is scored.

        Wilson's interval if all scores are 0 or 1, and else Student's. If all are the same number between 0 and 1,
        Student's would have no width, or no end if there is only one; Wilson's is then used, which is at least as wide
        as it has to be, because no such score varies more than one that is 0 or 1.
        """
        return self.estimated()

    def estimated(self, confidence: float = 0.95) -> Estimate | None:
        """Return the mean score as `estimate` does, with an interval of this confidence."""
        if not (scores := self.scores):
            return None
        found = estimate([[score] for score in scores], confidence=confidence)
        if len(set(scores)) == 1 and 0 <= found.value <= 1:
            low, high = wilson(found.value, len(scores), confidence)
            return Estimate(found.value, low, high, len(scores), confidence, "Wilson")
        return found

    @property
    def endings(self) -> list[Ending]:
        """The different endings: those that were scored first, the most frequent first."""
        groups: dict[tuple[str, Any], list[Trial]] = {}
        ended = self.ended
        for trial in ended:
            assert trial.outcome is not None
            groups.setdefault(self._kind(trial.outcome), []).append(trial)
        own = (SCORED, self.own_score if self._score is not None else (self.run.answer or "").strip())
        found = []
        for (state, value), trials in groups.items():
            share = len(trials) / len(ended)
            outcome = trials[0].outcome
            assert outcome is not None
            text = _text_of(outcome)
            if isinstance(value, float):
                text = f"score {value:.4g}: {text}"
            low, high = wilson(share, len(ended))
            happened = (state, value) == own and self.run.answer is not None
            found.append(Ending(text, state, trials, share, low, high, happened))
        return sorted(found, key=lambda ending: (_ORDER.index(ending.state), -ending.count))

    @property
    def other_ending(self) -> str:
        """How the run itself ended, if that is known and no trial ended so; else ""."""
        answer = self.run.answer
        is_known = answer is not None and (self._score is None or self.own_score is not None)
        if not is_known or any(each.happened for each in self.endings):
            return ""
        score = "" if self.own_score is None else f"score {self.own_score:.4g}: "
        return score + one_line(answer or "(nothing)", 300, mask)

    def _kind(self, outcome: Outcome) -> tuple[str, Any]:
        """Return what makes two outcomes the same ending."""
        state = SCORED if self._score is None and outcome.state == UNSCORED else outcome.state
        if state != SCORED:
            return state, outcome.reason if state == WAITING else ""
        score = self._score_of(outcome)
        return state, outcome.answer.strip() if score is None else score

    @property
    def counts(self) -> dict[str, int]:
        """How often each ending was seen, by its text."""
        counts: dict[str, int] = {}
        for ending in self.endings:
            counts[ending.text] = counts.get(ending.text, 0) + ending.count
        return counts

    def __len__(self) -> int:
        return len(self.endings)

    def __getitem__(self, index: int) -> Ending:
        return self.endings[index]

    def __iter__(self) -> Iterator[Ending]:
        return iter(self.endings)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dict for each trial that has ended: number, run, state, scores, answer, and what it used."""
        names = ("answer", "problem", "calls", "tool_calls", "tokens", "cost", "seconds")
        return [
            {"trial": trial.number, "run": trial.run_name, "state": outcome.state, **outcome.scores}
            | {name: getattr(outcome, name) for name in names}
            for trial in self.ended
            if (outcome := trial.outcome) is not None
        ]

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row for each trial. Raises `UsageError` if pandas is not installed."""
        return to_frame(self.to_dicts())

    @property
    def title(self) -> str:
        """What was tried, and how far it is."""
        temperature = self._asked.temperature
        at = "" if temperature is None else f" at temperature {temperature:g}"
        done = f"{len(self.ended)} of {counted(self.times, 'trial')} ended" if self.ended else "not tried yet"
        return f"From {self.thought.step_name} to the end, {self._asked.model}{at}: {done}"

    @property
    def progress(self) -> str:
        """How many trials are left, and how long they will probably take, while they are being made; else ""."""
        return progress_of([self])

    @property
    def sentence(self) -> str:
        """The mean score with its interval, as a sentence; "" without one."""
        found, scores = self.estimate, self.scores
        if found is None:
            return ""
        told = f"Score {found.value:.3f} [{found.low:.3f}, {found.high:.3f}], 95 % ({found.method}), of {len(scores)}"
        lost = sum(trial.outcome is not None and trial.outcome.state in (FAILED, OVER_BUDGET) for trial in self.ended)
        zero = f"; {lost} that failed or were over budget count as 0" if lost else ""
        unknown = len(self.ended) - len(scores)
        left = f"; {unknown} that wait for you or have no score are not counted" if unknown else ""
        return f"{told} {'trial' if len(scores) == 1 else 'trials'}{zero}{left}."

    def _bars(self) -> list[Any]:
        from agentkit.export.bars import Bar

        return [
            Bar(each.text, each.count, f"[{each.low:.2f}, {each.high:.2f}]{' ' + IN_THE_RUN if each.happened else ''}")
            for each in self.endings
        ]

    def remarks(self) -> list[str]:
        """Return the sentences below the bars."""
        told = [self.sentence]
        if self.ended and self.other_ending:
            told.append(f"In the run: {self.other_ending} (no trial ended so)")
        told += [repr(each.trials[0]) for each in self.endings if each.state == WAITING][:3]
        told.append(self.progress or (self.forecast if self.missing or self.unscored or not self.ended else ""))
        if self.missing and not self.progress:
            told.append(self.question)
        if used := self.usage.cost:
            told.append(f"The trials so far cost {money(used)}.")
        return [each for each in told if each]

    @inert_lines
    def __repr__(self) -> str:
        from agentkit.export.bars import bars_text

        bars = [bars_text(self._bars())] if self.ended else []
        return "\n".join([self.title, *bars, *(one_line(remark, 600, mask) for remark in self.remarks())])

    def _repr_html_(self) -> str:
        from agentkit.export.bars import bars_html
        from agentkit.export.escaping import escape_html
        from agentkit.export.html import fragment

        bars = bars_html(self._bars()) if self.ended else ""
        remarks = "".join(f"<p>{escape_html(remark)}</p>" for remark in self.remarks())
        return fragment(f"<p><b>{escape_html(self.title)}</b></p>", bars, remarks)

    def _repr_markdown_(self) -> str:
        from agentkit.export.bars import bars_markdown
        from agentkit.export.escaping import markdown_inline

        bars = [bars_markdown(self._bars())] if self.ended else []
        return "\n\n".join([f"**{markdown_inline(self.title)}**", *bars, *map(markdown_inline, self.remarks())])


def as_last_scored(run: Run, thought: Entry, times: int) -> Trials:
    """Return trials with the score that was used for them last in this process, if there was one."""
    trials = Trials(run, thought, times)
    last = run.attached.get("scores of trials", {}).get(trials.key)
    return trials if last is None else Trials(run, thought, times, **last)


def _text_of(outcome: Outcome) -> str:
    """Return an outcome as a line: its answer, or its state and what is wrong."""
    if outcome.state in (SCORED, UNSCORED) and not outcome.problem:
        return one_line(outcome.answer or "(nothing)", 300, mask)
    what = outcome.reason if outcome.state == WAITING else ""
    return one_line(f"{outcome.state}: {what or outcome.problem or outcome.answer}", 300, mask)


def _at(fork: Run, thought: Entry) -> Pending | None:
    """Return the pending step of a fork at the place of a thought."""
    return next((p for p in fork.pending if (p.path, p.index) == (thought.path, thought.index)), None)


# -- going through several of them -------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Going:
    """Trials that are being made: whether acting calls are `approved`, and the runs that play."""

    approved: bool
    is_stopped: bool = False
    live: dict[str, Run] = field(default_factory=dict)

    def stop(self) -> None:
        """Stop all runs that play; those that are about to play see that they are to stop."""
        self.is_stopped = True
        for run in list(self.live.values()):
            run.stop()

    @property
    def used(self) -> Usage:
        """What the runs that play have used."""
        return sum((run.usage for run in list(self.live.values())), Usage())


def go_through(
    studies: list[Trials], *, approved: bool | None = None, on: int = 8, budget: Budget | None = None
) -> None:
    """Make the missing trials of all these studies of one run, `on` at once; see `Trials.go`."""
    if isinstance(on, bool) or not isinstance(on, int) or not 1 <= on <= 1000:
        raise UsageError(f"on must be a number of trials to make at once, from 1 to 1000, not {on!r:.100}")
    if approved not in (None, True, False):
        raise UsageError(f"approved must be True or False, not {approved!r:.100}")
    limits = {} if budget is None else Budget.of(budget).limits
    if unknown := limits.keys() - _LIMITS.keys():
        raise UsageError(f"a budget for all trials can limit {', '.join(_LIMITS)}, not {min(unknown)}")
    run = studies[0].run
    if run.read_only:
        raise UsageError(f"this run is read-only ({run.read_only}); trials are forks of it, which are recorded with it")
    for each in studies:
        each._rows = -1  # read again: a trial that was deleted leaves its rows in the tree
    todo = [(each, trial) for each in studies for trial in each._to_do(approved)]
    if approved is None and (asked := question_of(studies)):
        raise Undecided(asked)
    if not todo:
        for each in studies:
            each.score_run()
        return
    going = _Going(bool(approved))
    own = {each.key: Asking(each._asked, 0, cancel=going.stop) for each in studies}
    for each, _ in todo:
        own[each.key].calls += 1
    claimed = list[str]()
    try:
        for each in studies:
            if run.asking.setdefault(each.key, own[each.key]) is not own[each.key]:
                raise UsageError("these trials are being made at the moment; wait for them, or stop them with stop()")
            claimed.append(each.key)
            each._began, each._made = time.monotonic(), 0
        _make(todo, going, own, on, limits)
        for each in studies if not going.is_stopped else ():
            each.score_run()
    finally:
        for key in claimed:
            del run.asking[key]


def progress_of(studies: list[Trials]) -> str:
    """Return how many trials of several studies of one run are left, and how long they will probably take, while they
    are being made; else "".
    """
    asking = [found for each in studies if (found := each.run.asking.get(each.key)) is not None]
    if not asking:
        return ""
    left, made = sum(each.calls for each in asking), sum(each._made for each in studies)
    took = time.monotonic() - min(each._began for each in studies)
    about = f", about {duration(took / made * left)}" if made else ""
    return f"{counted(left, 'trial')} left{about}"


def scoring_of(studies: list[Trials]) -> str:
    """Return how many trials `go()` only scores, as a further sentence of a forecast; "" if there are none."""
    count = sum(len(each.unscored) for each in studies)
    return f" go() scores {counted(count, 'trial')}; no model is asked." if count else ""


def question_of(studies: list[Trials]) -> str:
    """Return the question about all trials of several studies of one run."""
    asked = [each.question for each in studies if each.question]
    if len(asked) < 2:
        return "".join(asked)
    options, guards = studies[0].run.agent.options, studies[0].run.guards.budget
    limits = [limit for limit in (options.get("max_tool_calls"), guards.max_tool_calls) if limit is not None]
    missing = sum(len(each.missing) for each in studies)
    return question_about(studies[0].tools, missing, min(limits, default=None))


_LIMITS: dict[str, Callable[[Usage], float]] = {
    "max_cost": lambda used: used.cost,
    "max_tokens": lambda used: used.total,
    "max_model_calls": lambda used: used.calls,
}


def _make(
    todo: list[tuple[Trials, Trial]], going: _Going, own: dict[str, Asking], on: int, limits: dict[str, float]
) -> None:
    """Make trials, `on` at once, until all have ended, they are stopped, or the budget for all of them is used up."""
    left, playing = todo[::-1], dict[Any, tuple[Trials, Trial]]()
    used, spent = Usage(), ""
    studies = list({each.key: each for each, _ in todo}.values())
    shown = LiveOutput(lambda: {"text/plain": f"Trials to the end: {progress_of(studies)}"})
    try:
        while left or playing:
            while left and len(playing) < on and not going.is_stopped:
                each, trial = left.pop()
                playing[background.in_thread(functools.partial(each._perform, trial, going))] = each, trial
            if going.is_stopped and not playing:
                break
            done, _ = concurrent.futures.wait(playing, _POLL, concurrent.futures.FIRST_COMPLETED)
            for future in done:
                each, trial = playing.pop(future)
                outcome = future.result()
                used += Usage(outcome.tokens, cost=outcome.cost + outcome.judging, calls=outcome.calls)
                each._made += 1
                own[each.key].calls -= 1
                if outcome.state == FAILED:
                    each._unrecorded[outcome.run] = outcome
            if limits and not going.is_stopped and (spent := _spent(limits, used + going.used)):
                going.stop()
            shown.show()
    except BaseException:
        going.stop()
        concurrent.futures.wait(playing, 2 * GRACE)  # so that another go() finds the runs closed
        raise
    finally:
        shown.end("")
    if spent:
        raise UsageError(f"{spent}; what has ended is kept, and go() with a larger budget goes on")


def _spent(limits: dict[str, float], used: Usage) -> str:
    """Return which limit of a budget is used up, as a sentence; "" if none is."""
    for name, limit in limits.items():
        if (amount := _LIMITS[name](used)) >= limit:
            return f"the budget for all trials is used up ({name} {amount:g} of {limit:g})"
    return ""


@contextmanager
def _making(run: Run) -> Iterator[None]:
    """Make forks of a run one after the other."""
    with run.attached.setdefault("making trials", threading.Lock()):
        yield
