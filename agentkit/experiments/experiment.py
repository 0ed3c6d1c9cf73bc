"""An experiment: cases, variants of an agent, repeats; each is a run with a name, and the journal is the cache."""

from __future__ import annotations

import math
import queue
import re
import threading
import time
import uuid
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentkit.agent.agent import Agent
from agentkit.agent.comparison import Comparison, side_by_side
from agentkit.core import background, display
from agentkit.core.checked_arguments import checked
from agentkit.core.messages import canonical, digest
from agentkit.core.secrets import mask
from agentkit.core.text import counted, error_line
from agentkit.errors import Undecided, Unknown, UsageError
from agentkit.experiments import table
from agentkit.experiments.cases import Case, Cluster, read_cases
from agentkit.experiments.executors import Threads, executor_of, size_of
from agentkit.experiments.identity import content, identity_of_agent, identity_of_code
from agentkit.experiments.outcome import ELSEWHERE, FAILED, OVER_BUDGET, SCORED, STOPPED, WAITING, Outcome
from agentkit.experiments.worker import Job, Work, carry_out, check_time_limit, here, perform
from agentkit.inert import inert_lines
from agentkit.journal.entries import OUTCOME, Journal
from agentkit.journal.memory import MemoryJournal
from agentkit.run.run import Result, Run

if TYPE_CHECKING:
    from agentkit.experiments.statistics import Difference, Estimate

ATTEMPTS = 3
"""How often a job is given to an executor that loses it."""

_FINAL = (SCORED, OVER_BUDGET, WAITING)
"""Outcomes that are taken from the journal; what failed is tried again, and what is unscored is scored again."""

_AGAIN = 1.0
"""After how many seconds a run is tried again that somebody else is working on."""

_NEWS = 0.5
"""How long it takes at most until something that does not come back is looked after, in seconds."""


@dataclass(slots=True, eq=False)
class Cell:
    """One run of an experiment: its variant, its case and the number of its repeat, and what became of it.

    `outcome` is None while it is missing. `run_name` is the id of the run.
    """

    variant: str
    case: Case
    repeat: int
    run_name: str
    agent: Agent
    outcome: Outcome | None = None
    kept: Run | None = field(default=None, repr=False)
    """The run itself, if no journal keeps it."""

    @property
    def run(self) -> Run:
        """The run, opened again: step through it, edit it, fork it. Raises `Unknown` if it has not begun."""
        if self.kept is None:
            if self.agent.journal is None:
                raise UsageError("this run was not recorded, because journal=None, and it was made in another process")
            self.kept = self.agent.resume(self.run_name)
        elif self.kept.read_only and self.agent.journal is not None:
            self.kept = self.agent.resume(self.run_name)
        return self.kept

    def look(self) -> Run:
        """Return the run as it was recorded, to look at; nothing is written, and nobody has to let it go.

        It is the run itself if it is open here already. Raises `Unknown` if it has not begun.
        """
        return self.run if self.kept is not None or self.agent.journal is None else self.agent.look(self.run_name)

    @property
    def result(self) -> Result:
        """The result of the run, as it was recorded; if it has not ended, its `reason` says what became of it."""
        result = self.look().result
        problem = self.outcome.problem if self.outcome else ""
        return replace(result, reason=problem) if result.reason and problem else result

    @property
    def state(self) -> str:
        """What became of the run: "scored", "unscored", "failed", "waiting", "over budget", or "missing"."""
        return self.outcome.state if self.outcome else "missing"

    @property
    def scores(self) -> dict[str, float]:
        """The scores by name; empty unless the run was scored."""
        return self.outcome.scores if self.outcome else {}

    @inert_lines
    def __repr__(self) -> str:
        what = self.outcome.problem if self.outcome and self.outcome.problem else table.numbers(self.scores)
        told = ": ".join(filter(None, (self.state, what)))
        return f"{self.variant}, case {self.case.id}, repeat {self.repeat}: {told}"


@dataclass(slots=True)
class _Held:
    """A run that somebody else is working on: when to try it again, and since when that is so."""

    again: float
    since: float


class Experiment:
    """Runs of several cases with several variants of an agent, which go on in the background.

    `found.wait()` waits for them, `found.stop()` stops them; as the value of a cell, the experiment is a table that
    changes while the runs go on. `found[variant, case, repeat]` is one `Cell`, with its `run`.
    """

    def __init__(
        self,
        cells: list[Cell],
        cases: list[Case],
        *,
        name: str,
        score: Any,
        executor: Any,
        failed: str,
        timeout: float | None,
        output: Any,
        patience: float,
    ) -> None:
        self.name, self.cells, self.cases, self.failed = name, cells, cases, failed
        self.variants = list(dict.fromkeys(cell.variant for cell in cells))
        self.question, self.problem = "", ""
        self.began = self.ended = time.time()
        self.cached = 0
        self._score, self._score_ids = score, _score_ids(score, cases)
        self._executor, self._timeout, self._output, self._patience = executor, timeout, output, patience
        self._by_name = {cell.run_name: cell for cell in cells}
        self._by_key = {(cell.variant, cell.case.id, cell.repeat): cell for cell in cells}
        self._works: dict[str, Work] = {}
        self._stopping = threading.Event()
        import tempfile

        self._stop_file = Path(tempfile.gettempdir(), f"agentkit-stop-{uuid.uuid4().hex}")
        weakref.finalize(self, self._stop_file.unlink, missing_ok=True)
        self._working: Any = None
        self._futures: dict[str, Any] = {}
        self._held: dict[str, _Held] = {}
        self._beginning, self._comparing = threading.Lock(), threading.Lock()
        self._listeners: list[Callable[[list[Cell]], None]] = []
        self._by_variant: dict[str, list[Cell]] = {}
        for cell in cells:
            self._by_variant.setdefault(cell.variant, []).append(cell)
        self.version = 0
        self._compared: dict[str, tuple[int, list[tuple[str, Difference, float]]]] = {}

    # -- what is known already -----------------------------------------------------------------------------------------

    def look_up(self) -> None:
        """Take the outcomes that the journal has; no run is opened."""
        recorded = self._recorded()
        for cell in self.cells:
            known = cell.outcome
            if known is None:
                continue
            has_gone_on = cell.agent.journal is not None and cell.run_name not in recorded
            if known.state not in _FINAL or has_gone_on:  # a person may have decided, or edited the run
                self._set(cell, None)
        for name, outcome in recorded.items():
            cell = self._by_name[name]
            is_current = outcome.state != SCORED or outcome.score_id == self._score_ids[cell.case.id]
            if outcome.state in _FINAL and is_current:
                self._set(cell, outcome)

    # -- who follows it ------------------------------------------------------------------------------------------------

    def on_change(self, listener: Callable[[list[Cell]], None]) -> None:
        """Call `listener` from now on with the cells that have changed, or with none if only the status has.

        It is called in any thread, and must return at once.
        """
        self._listeners.append(listener)

    def off_change(self, listener: Callable[[list[Cell]], None]) -> None:
        """Call `listener` no more."""
        if listener in self._listeners:
            self._listeners.remove(listener)

    def _set(self, cell: Cell, outcome: Outcome | None) -> None:
        if cell.outcome != outcome:
            cell.outcome = outcome
            self._tell(cell)

    def _tell(self, *cells: Cell) -> None:
        self.version += 1
        for listener in list(self._listeners):
            listener(list(cells))

    @property
    def given_out(self) -> list[Cell]:
        """The cells whose runs are being made at the moment, or wait for a worker of the executor."""
        return [self._by_name[name] for name in list(self._futures)]

    @property
    def is_stopping(self) -> bool:
        """Whether `stop()` was called, and runs have still to come to an end."""
        return self._stopping.is_set() and self.status == "running"

    def live(self, cell: Cell) -> Run | None:
        """Return the run of a cell if a thread of this process is making it at the moment."""
        work = self._works.get(cell.variant)
        return work.live.get(cell.run_name) if work is not None else None

    def _recorded(self) -> dict[str, Outcome]:
        """Return the outcomes with which the journals close runs of this experiment, by run."""
        found = dict[str, Outcome]()
        for journal in self._journals():
            for name, note in journal.closing_notes(OUTCOME, f"{self.name}.").items():
                outcome = Outcome.from_json({**note.data, "run": name})
                if name in self._by_name and outcome is not None:
                    found[name] = outcome
        return found

    def _journals(self) -> list[Journal]:
        journals = {id(cell.agent): cell.agent.journal for cell in self.cells}
        return list({id(journal): journal for journal in journals.values() if journal is not None}.values())

    @property
    def missing(self) -> list[Cell]:
        """The cells without an outcome."""
        return [cell for cell in self.cells if cell.outcome is None]

    @property
    def problems(self) -> list[Cell]:
        """The cells that have a problem: those that failed, wait, are unscored, or were over budget."""
        return [cell for cell in self.cells if cell.outcome is not None and cell.outcome.problem]

    def __getitem__(self, key: Any) -> Any:
        """Return one cell for `[variant, case, repeat]`, or the cells for `[variant, case]` or `[variant]`.

        A case is named by its id, or by its number. Raises `Unknown`.
        """
        variant, case, repeat = (*(key if isinstance(key, tuple) else (key,)), None, None)[:3]
        if variant not in self.variants:
            raise Unknown("variant", variant, self.variants)
        if isinstance(case, int) and not isinstance(case, bool) and 0 <= case < len(self.cases):
            case = self.cases[case].id
        if case is not None and all(case != each.id for each in self.cases):
            raise Unknown("case", case, [each.id for each in self.cases[:100]])
        if case is None or repeat is None:
            return [each for each in self._by_variant[variant] if case in (None, each.case.id)]
        if (cell := self._by_key.get((variant, case, repeat))) is None:
            raise Unknown("repeat", repeat, [str(each.repeat) for each in self[variant, case]])
        return cell

    # -- running -------------------------------------------------------------------------------------------------------

    @property
    def status(self) -> str:
        """The status: "asks", "running", "stopped" or "done"; "broken" if the executor gave up."""
        if self.question:
            return "asks"
        if self._working is not None and not self._working.done():
            return "running"
        return "broken" if self.problem else "stopped" if self.missing else "done"

    def begin(self, *, approved: bool = False) -> Experiment:
        """Run what is missing, in the background; ask first if irreversible tools may be called."""
        with self._beginning:
            self._begin(approved)
        self._tell()
        return self

    def _begin(self, approved: bool) -> None:
        if self.status == "running":
            return
        self.look_up()
        self.cached = len(self.cells) - len(self.missing)
        self.question = "" if approved or not self.missing else irreversible_calls(self.missing)
        self.problem = ""
        if self.question or not self.missing:
            return
        self._stopping.clear()
        self._stop_file.unlink(missing_ok=True)
        if not isinstance(self._executor, Threads):
            self._packed = {variant: self._work(variant).pack() for variant in self.variants}
        self.began = self.ended = time.time()
        self._working = background.in_thread(self._run_all)
        self._working.add_done_callback(lambda done: self._tell())

    def approve(self) -> Experiment:
        """Allow the calls of irreversible tools that `question` is about, and begin."""
        if not self.question:
            raise UsageError("this experiment does not ask for anything")
        return self.begin(approved=True)

    def stop(self) -> Experiment:
        """Stop: begin no more runs, and stop those that go on at once, in other processes between two steps.

        `experiment(…)` with the same cases, or `begin()`, goes on where they were.
        """
        self._stopping.set()
        if not isinstance(self._executor, Threads):
            self._stop_file.touch()
        for future in list(self._futures.values()):
            future.cancel()
        for work in list(self._works.values()):
            for run in list(work.live.values()):
                run.stop()
        self._tell()
        return self

    def wait(self, timeout: float | None = None) -> Experiment:
        """Wait until all runs are over or were stopped, at most `timeout` seconds; an interrupt stops the experiment.

        Raises `Undecided` if the experiment asks something, `UsageError` if the executor broke.
        """
        if self.question:
            raise Undecided(self.question)
        if self._working is not None:
            background.wait_or_stop(self._working, self.stop, timeout)
        if self.problem:
            raise UsageError(self.problem)
        return self

    def _work(self, variant: str) -> Work:
        if variant not in self._works:
            agent = next(cell.agent for cell in self.cells if cell.variant == variant)
            self._works[variant] = Work(agent, self._score)
        return self._works[variant]

    def _job(self, cell: Cell, attempt: int, processes: int) -> Job:
        tags = {"experiment": self.name, "variant": cell.variant, "case": cell.case.id, "repeat": str(cell.repeat)}
        return Job(
            cell.run_name,
            cell.case.task,
            cell.case.data,
            {name: text[:100] for name, text in tags.items()},
            self._score_ids[cell.case.id],
            self._timeout,
            self._output,
            "" if isinstance(self._executor, Threads) else str(self._stop_file),
            processes,
            here(),
            attempt,
        )

    def _run_all(self) -> None:
        """Give out jobs, and take what comes back, until nothing is missing, or the experiment is stopped."""
        size, processes = size_of(self._executor)
        todo, news = deque(self.missing), queue.SimpleQueue[tuple[str, Any]]()
        attempts: dict[str, int] = {}
        held = self._held
        held.clear()
        latest = time.monotonic()
        try:
            while ((todo or held) and not self._stopping.is_set()) or self._futures:
                todo.extend(self._let_go())
                while todo and len(self._futures) < size and not self._stopping.is_set():
                    cell = todo.popleft()
                    attempts[cell.run_name] = attempts.get(cell.run_name, 0) + 1
                    self._submit(cell, attempts[cell.run_name], processes, news)
                try:
                    name, future = news.get(timeout=_NEWS)
                except queue.Empty:
                    if self._futures and time.monotonic() - latest > self._patience:
                        todo.extend(self._overdue(attempts))
                        latest = time.monotonic()
                    continue
                latest = time.monotonic()
                if self._futures.get(name) is future:
                    del self._futures[name]
                    self._tell(self._by_name[name])
                    todo.extend(self._came_back(self._by_name[name], future, attempts[name]))
        except Exception as error:
            what = mask(error_line(error))
            self.problem = (
                f"the executor broke ({what}); call experiment(…) again with a new one: only what is missing is run"
            )
        finally:
            self._futures.clear()
            self._take_recorded()
            self.ended = time.time()

    def _submit(self, cell: Cell, attempt: int, processes: int, news: queue.SimpleQueue[tuple[str, Any]]) -> None:
        job = self._job(cell, attempt, processes)
        if isinstance(self._executor, Threads):
            future = self._executor.submit(self._carry_out, cell, job)
        else:
            future = self._executor.submit(perform, self._packed[cell.variant], job)
        self._futures[cell.run_name] = future
        self._tell(cell)
        future.add_done_callback(lambda done: news.put((cell.run_name, future)))

    def _carry_out(self, cell: Cell, job: Job) -> Any:
        work = self._work(cell.variant)

        def keep(run: Run) -> None:
            cell.kept = run

        return carry_out(work, job, keep)

    def _let_go(self) -> list[Cell]:
        """Return the cells that somebody else was working on, and that are to be tried again now."""
        held, now = self._held, time.monotonic()
        due = [name for name, each in held.items() if each.again <= now]
        if due:
            self._take_recorded()
        for name in due:
            if self._by_name[name].outcome is not None or now - held[name].since > self._patience:
                del held[name]
            else:
                held[name].again = math.inf  # until it comes back
        return [self._by_name[name] for name in due if name in held]

    def _came_back(self, cell: Cell, future: Any, attempt: int) -> list[Cell]:
        """Take what an executor brought back for a cell; return the cells that have to be given out again."""
        now = time.monotonic()
        before = self._held.pop(cell.run_name, _Held(now, now))
        try:
            came = future.result()
        except BaseException as error:
            if self._stopping.is_set():
                return []
            if _is_broken(error):
                raise
            return self._again(cell, attempt, f"the executor failed: {mask(error_line(error))}")
        outcome = came if isinstance(came, Outcome) else Outcome.from_json(came)
        if outcome is None or outcome.run not in self._by_name:
            return self._again(cell, attempt, "the executor brought nothing back")
        if outcome.state == ELSEWHERE:
            self._held[outcome.run] = _Held(now + _AGAIN, before.since)
        elif outcome.state != STOPPED:
            own = self._by_name[outcome.run]  # an executor may confuse its tasks
            if own.outcome is None or own.outcome.state == FAILED:
                self._set(own, outcome)
        return [] if outcome.run == cell.run_name else self._again(cell, attempt, "the executor lost it")

    def _again(self, cell: Cell, attempt: int, why: str) -> list[Cell]:
        """Return the cell, so that it is given out again; if that was done too often, it has failed."""
        if cell.outcome is not None or self._stopping.is_set():
            return []
        if attempt < ATTEMPTS:
            return [cell]
        self._set(cell, Outcome(cell.run_name, FAILED, why))
        return []

    def _overdue(self, attempts: dict[str, int]) -> list[Cell]:
        """Return the cells to give out again after a long time without news, if nobody is working on any of them."""
        self._take_recorded()
        out = [self._by_name[name] for name in self._futures]
        for cell in out:
            if cell.outcome is not None:
                del self._futures[cell.run_name]
        out = [cell for cell in out if cell.outcome is None]
        statuses = {info.run: info.status for journal in self._journals() for info in journal.runs(f"{self.name}.")}
        if not statuses or any(statuses.get(cell.run_name) == "running" for cell in out):
            return []
        for cell in out:
            del self._futures[cell.run_name]
            self._held.pop(cell.run_name, None)
        return [each for cell in out for each in self._again(cell, attempts[cell.run_name], "the executor lost it")]

    def _take_recorded(self) -> None:
        """Take outcomes from the journal that did not come back: somebody else made them, or an answer was lost."""
        for name, outcome in self._recorded().items():
            cell = self._by_name[name]
            is_open = cell.outcome is None or cell.outcome.state == FAILED
            if is_open and outcome.score_id == self._score_ids[cell.case.id]:
                self._set(cell, outcome)

    # -- what comes out ------------------------------------------------------------------------------------------------

    @property
    def score_names(self) -> list[str]:
        """The names of the scores, in the order in which they first appear."""
        return list(dict.fromkeys(name for cell in self.cells for name in cell.scores))

    def scores(self, variant: str, name: str = "") -> dict[str, list[float]]:
        """Return the scores of a variant by case, one for each repeat.

        Without a name, it is the first score. What failed or was over budget counts 0, or is left out with
        `failed="drop"`; what waits, is unscored or is missing is left out.
        """
        name = name or next(iter(self.score_names), "score")
        found: dict[str, list[float]] = {}
        for cell in self[variant]:
            if cell.state == SCORED and name in cell.scores:
                found.setdefault(cell.case.id, []).append(cell.scores[name])
            elif cell.state in (FAILED, OVER_BUDGET) and self.failed == "zero":
                found.setdefault(cell.case.id, []).append(0.0)
        return found

    def worse(self, variant: str, than: str = "", name: str = "") -> list[Cell]:
        """Return the first cell of each case in which a variant has a lower score than another one, worst first.

        The other one is the first variant, unless it is named.
        """
        name = name or next(iter(self.score_names), "score")
        mine, theirs = self.scores(variant, name), self.scores(than or self.variants[0], name)
        lost = {case: table.mean(theirs[case]) - table.mean(mine[case]) for case in mine if case in theirs}
        cases = sorted((case for case in lost if lost[case] > 0), key=lost.__getitem__, reverse=True)
        return [min(self[variant, case], key=lambda cell: cell.scores.get(name, 0.0)) for case in cases]

    def compare(self, case: Any, repeat: int = 0) -> Comparison:
        """Return the runs of a case with each variant, step by step and side by side, as they were recorded.

        The case is named by its id, or by its number. Nothing is performed. Raises `UsageError` if a run is missing.
        """
        if case is None or repeat is None:
            raise UsageError("compare takes a case, by its id or its number, and the number of a repeat")
        cells = {variant: self[variant, case, repeat] for variant in self.variants}
        if missing := [repr(variant) for variant, cell in cells.items() if cell.outcome is None]:
            raise UsageError(f"case {case!r:.100} has no run of {', '.join(missing)} yet: wait(), or begin() again")
        return side_by_side(list(cells), [cell.result for cell in cells.values()])

    def _clusters(self, cases: Iterable[str]) -> list[Any] | None:
        """Return the clusters of some cases; None if nothing was said about clusters."""
        known = {case.id: case.cluster for case in self.cases if case.cluster is not None}
        return [known[case] for case in cases] if known else None

    def estimate(self, variant: str, name: str = "") -> Estimate | None:
        """Return the mean score of a variant over the cases, with its 95 % interval; None if nothing is scored."""
        from agentkit.experiments.statistics import estimate

        scores = self.scores(variant, name)
        return estimate(list(scores.values()), clusters=self._clusters(scores)) if scores else None

    def differences(self, name: str = "") -> list[tuple[str, Difference, float]]:
        """Return how much higher each variant scores than the first one, on the cases that both have.

        Each with its p, corrected for the number of variants (Holm).
        """
        with self._comparing:
            version, known = self._compared.get(name, (-1, []))
            if version != self.version:
                version, known = self._compared[name] = self.version, self._differences(name)
            return list(known)

    def _differences(self, name: str) -> list[tuple[str, Difference, float]]:
        from agentkit.experiments.statistics import difference, holm

        first = self.scores(self.variants[0], name)
        found: list[tuple[str, Difference]] = []
        for variant in self.variants[1:]:
            other = self.scores(variant, name)
            if both := [case for case in first if case in other]:
                pair = [other[case] for case in both], [first[case] for case in both]
                found.append((variant, difference(*pair, clusters=self._clusters(both))))
        corrected = holm([each.p for _, each in found])
        return [(variant, each, p) for (variant, each), p in zip(found, corrected, strict=True)]

    def count(self, state: str, variant: str = "") -> int:
        """Return the number of cells in a state, of one variant or of all."""
        return sum(cell.state == state and variant in ("", cell.variant) for cell in self.cells)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return one dict for each run: variant, case, repeat, run, state, scores and what it used."""
        return [table.record(cell) for cell in self.cells]

    def to_frame(self) -> Any:
        """Return a pandas DataFrame with one row for each run. Raises `UsageError` if pandas is not installed."""
        return table.to_frame(self.to_dicts())

    @property
    def seconds_left(self) -> float | None:
        """The estimated time until all runs are over, in seconds; None if nothing is known about it yet."""
        made = len(self.cells) - len(self.missing) - self.cached
        return None if made <= 0 else (time.time() - self.began) / made * len(self.missing)

    @inert_lines
    def __repr__(self) -> str:
        return table.text(self)

    def _repr_html_(self) -> str:
        return table.html(self)

    def _ipython_display_(self) -> None:
        """Show the live table in a notebook; elsewhere HTML or text is shown."""
        display.live.show_experiment(self)


def _score_ids(score: Any, cases: list[Case]) -> dict[str, str]:
    """Return by case what its score follows from: the function, and the case with what is expected."""
    if score is None:
        return {case.id: "" for case in cases}
    code = identity_of_code(score)
    return {case.id: digest(canonical([code, content(case.data)])) for case in cases}


def _is_broken(error: BaseException) -> bool:
    """Return whether an executor can make no more runs after this error."""
    from concurrent.futures import BrokenExecutor

    return isinstance(error, BrokenExecutor)


def irreversible_calls(cells: list[Cell]) -> str:
    """Return the question about the irreversible tools that runs may call, with how often; "" if there are none."""
    runs: dict[str, int] = {}
    calls: dict[str, float] = {}
    for cell in cells:
        agent = cell.agent.prepared()
        names = [tool.name for tool in agent.tools.tools if tool.effect == "irreversible"]
        budget = agent.guards.budget
        limits = [agent.options.get("max_tool_calls"), getattr(budget, "max_tool_calls", None)]
        for name in names:
            runs[name] = runs.get(name, 0) + 1
            calls[name] = calls.get(name, 0) + min(
                [limit for limit in limits if limit is not None], default=float("inf")
            )
    if not runs:
        return ""
    parts = [
        f"{counted(runs[name], 'run')} may call {name} (irreversible), "
        + (
            f"at most {calls[name]:,.0f} times in all"
            if calls[name] < float("inf")
            else "each as often as its model asks"
        )
        for name in runs
    ]
    return f"{'; '.join(parts)}. found.approve() allows that and begins; approved=True says so beforehand" + (
        "" if all(count < float("inf") for count in calls.values()) else "; max_tool_calls=… limits each run"
    )


@checked
def experiment(
    cases: Any,
    variants: Any,
    *,
    score: Callable[[Any, dict[str, Any]], Any] | None = None,
    repeats: int = 1,
    on: Any = 16,
    name: str = "experiment",
    failed: str = "zero",
    approved: bool = False,
    timeout: float | None = None,
    output: Any = None,
    patience: float = 60.0,
    cluster: Cluster | None = None,
) -> Experiment:
    """Run each case with each variant, `repeats` times, and return at once: the runs go on in the background.

    `cases` are texts, dicts with a "task", a DataFrame, or the path of a JSONL file. `variants` are agents by name, a
    list of agents, or one agent. `score` takes the result of a run and its case as a dict, and returns a number, True
    or False, or a dict of these. `on` is a number of threads, or any executor of `concurrent.futures`.

    The journal is the cache: the same task with the same agent under the same `name` is not run again, so that a
    second call, after a crash too, runs only what is missing, has failed, or has changed. `failed` says whether a run
    that failed counts as 0 ("zero") or not at all ("drop"). `timeout` is for each run, in seconds. After `patience`
    seconds without news, jobs that nobody works on are given out again.

    If several cases have something in common, such as a document that they ask about, `cluster` is the name of the
    field that says what, or a function of the case: they tell less than as many cases without, and the intervals show
    it (K.-Y. Liang and S. L. Zeger, 1986; E. Miller, "Adding error bars to evals", 2024, arXiv:2411.00640).

    If a variant has irreversible tools, the experiment asks before it begins, unless it is `approved`.
    """
    if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,29}", name):
        raise UsageError(
            f"the name of an experiment must have 1 to 30 letters, digits, '-' or '_'; {name!r:.100} does not"
        )
    if isinstance(repeats, bool) or not 1 <= repeats <= 10_000:
        raise UsageError(f"repeats must be a number from 1 to 10,000, not {repeats!r:.100}")
    if failed not in ("zero", "drop"):
        raise UsageError(f'failed must be "zero" or "drop", not {failed!r:.100}')
    check_time_limit(timeout)
    if cluster is not None and not isinstance(cluster, str) and not callable(cluster):
        raise UsageError(f"cluster must be the name of a field of the cases, or a function, not {cluster!r:.100}")
    executor, read = executor_of(on), read_cases(cases, cluster)
    agents = _agents(variants)
    if not isinstance(executor, Threads):
        for variant, agent in agents.items():
            if isinstance(agent.journal, MemoryJournal):
                raise UsageError(
                    f"variant {variant!r} records its runs in memory, which other processes do not share; use the "
                    "default journal or a path, or threads: on=16"
                )
    cells = [
        Cell(variant, case, repeat, run_name, agent)
        for variant, agent in agents.items()
        for case, start in _names(name, variant, agent, read, output)
        for repeat, run_name in ((repeat, f"{start}.{repeat}") for repeat in range(repeats))
    ]
    found = Experiment(
        cells,
        read,
        name=name,
        score=score,
        executor=executor,
        failed=failed,
        timeout=timeout,
        output=output,
        patience=patience,
    )
    return found.begin(approved=approved)


def _agents(variants: Any) -> dict[str, Agent]:
    if isinstance(variants, Agent):
        variants = {"agent": variants}
    elif isinstance(variants, Iterable) and not isinstance(variants, Mapping | str):
        listed = list(variants)
        engines = [agent.engine_name.rpartition(":")[2] if isinstance(agent, Agent) else "" for agent in listed]
        names = [
            f"{name} {engines[: n + 1].count(name)}" if engines.count(name) > 1 else name
            for n, name in enumerate(engines)
        ]
        variants = dict(zip(names, listed, strict=True))
    if not isinstance(variants, Mapping) or not variants:
        raise UsageError("variants must be agents by name: {'plain': agent, 'brief': agent.using(instructions=…)}")
    for name, agent in variants.items():
        if not isinstance(name, str) or not name.strip() or len(name) > 60:
            raise UsageError(f"the name of a variant must be a text of 1 to 60 characters, not {name!r:.100}")
        if not isinstance(agent, Agent):
            raise UsageError(f"variant {name!r} must be an Agent, not {agent!r:.200}")
    return dict(variants)


def _names(name: str, variant: str, agent: Agent, cases: list[Case], output: Any) -> Iterable[tuple[Case, str]]:
    """Yield each case with the beginning of the names of its runs, which follows from what decides how they go."""
    label = re.sub(r"[^A-Za-z0-9_-]+", "-", variant).strip("-")[:24] or "variant"
    identity = digest(canonical([variant, identity_of_agent(agent.prepared()), content(output)]))
    for case in cases:
        yield case, f"{name}.{label}.{digest(canonical([identity, case.key]))[:16]}"
