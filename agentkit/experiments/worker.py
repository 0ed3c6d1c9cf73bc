"""One run of an experiment, from its name to its outcome: in a thread of this process, or in another process.

Everything follows from the name of the run. A task that is given twice, or given again because its worker died, finds
the run under its name, and goes on where it was: nothing is paid twice.
"""

from __future__ import annotations

import concurrent.futures
import functools
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agentkit.agent import approver
from agentkit.agent.agent import Agent
from agentkit.core.secrets import mask
from agentkit.core.text import error_line
from agentkit.errors import Busy, Control, JournalInUse, UsageError
from agentkit.experiments.outcome import ELSEWHERE, FAILED, STOPPED, Outcome, outcome_of
from agentkit.gates.budget import BudgetGate
from agentkit.models.transport import rate_limit
from agentkit.run.run import Result, Run
from agentkit.runtime.control import check_timeout

POLL = 0.25
"""How often another process looks whether the experiment was stopped, in seconds."""

PATIENCE = 15.0
"""How long a run is waited for that another process still holds, in seconds: that of a worker that died is let go."""


@dataclass(slots=True, frozen=True)
class Job:
    """What a worker is told about one run: its name, its task, and what the score needs.

    `stop_file` exists from the moment the experiment is stopped. `processes` share the rate limits; `home` is the
    process of the experiment. `attempt` counts how often the job was given out.
    """

    run: str
    task: Any
    case: dict[str, Any]
    tags: dict[str, str]
    score_id: str
    timeout: float | None = None
    output: Any = None
    stop_file: str = ""
    processes: int = 1
    home: tuple[str, int] = ("", 0)
    attempt: int = 0


@dataclass(slots=True)
class Work:
    """The agent and the score function with which runs are made; it is sent to other processes as bytes."""

    agent: Agent
    score: Any
    live: dict[str, Run] = field(default_factory=dict)

    def pack(self) -> bytes:
        """Return the agent and the score function as bytes. Raises `UsageError` if they cannot be sent."""
        try:
            import cloudpickle  # type: ignore[import-untyped, unused-ignore]
        except ImportError as error:
            raise UsageError(
                'other processes need cloudpickle: pip install "jupyter-agentkit[scale]"; or use threads: on=16'
            ) from error
        try:
            packed: bytes = cloudpickle.dumps((self.agent, self.score))
        except Exception as error:
            raise UsageError(f"{self.agent!r} cannot be sent to another process: {error_line(error)}") from error
        return packed


def check_time_limit(timeout: Any) -> None:
    """Check that each of many runs may take so many seconds; None is no limit. Raises `UsageError`."""
    check_timeout(timeout)
    if timeout is not None and timeout <= 0:
        raise UsageError(f"timeout must be a number of seconds above 0, not {timeout!r:.100}")


def here() -> tuple[str, int]:
    """Return what identifies this process."""
    return socket.gethostname(), os.getpid()


def perform(packed: bytes, job: Job) -> dict[str, Any]:
    """Carry out a job in the process of a worker, and return its outcome as data; it never raises an `Exception`."""
    try:
        if job.stop_file and Path(job.stop_file).exists():
            return Outcome(job.run, STOPPED).to_json()
        if job.home != here():
            rate_limit.share_among(job.processes)
        agent, score = _unpacked(packed)
        return carry_out(Work(agent, score), job).to_json()
    except Exception as error:
        return Outcome(job.run, FAILED, f"the worker failed: {mask(error_line(error))}").to_json()


@functools.lru_cache(maxsize=64)
def _unpacked(packed: bytes) -> tuple[Agent, Any]:
    """Return an agent and a score function, the same ones for all jobs of a process."""
    import cloudpickle

    with rate_limit.arriving() as limits:
        agent, score = cloudpickle.loads(packed)
    if (take_turn := getattr(agent.journal, "take_turn", None)) is not None:
        for limit in limits:
            limit.take_turn = take_turn
    return agent, score


def carry_out(work: Work, job: Job, keep: Callable[[Run], Any] | None = None) -> Outcome:
    """Begin the run of a job, or go on with it, and return what became of it; the outcome is recorded with the run.

    If no journal keeps the run, `keep` is given it.
    """
    with alone(job.run) as is_alone:
        if not is_alone:
            return Outcome(job.run, ELSEWHERE)
        try:
            run = when_free(
                lambda: work.agent.start(job.task, output=job.output, name=job.run, tags=job.tags, paused=True)
            )
        except (Busy, JournalInUse):
            return Outcome(job.run, ELSEWHERE)
        except Exception as error:
            return Outcome(job.run, FAILED, mask(error_line(error)))
        try:
            work.live[job.run] = run
            run.control.keeps_lease = True  # until its outcome is recorded
            result = _driven(work.agent, run, job)
            outcome = outcome_of(result, work.score, job.case, job.score_id)
            if outcome.state != STOPPED and run.trace.journal is not None and not run.read_only:
                run.record_outcome(outcome.to_json())
            return outcome
        except Control as error:  # another process has taken the run over
            return Outcome(job.run, ELSEWHERE, mask(error_line(error)))
        except Exception as error:
            return Outcome(job.run, FAILED, mask(error_line(error)))
        finally:
            work.live.pop(job.run, None)
            if run.trace.journal is not None:
                with suppress(Exception):
                    run.close()
            elif keep is not None:
                keep(run)


def when_free(begin: Callable[[], Run], is_stopped: Callable[[], bool] = bool) -> Run:
    """Return the run that `begin` returns, as soon as nobody else has it open.

    Raises `Busy` or `JournalInUse` if that takes more than `PATIENCE` seconds, or it is stopped meanwhile.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return begin()
        except (Busy, JournalInUse):
            if is_stopped() or time.monotonic() > deadline:
                raise
        time.sleep(POLL)


def _driven(agent: Agent, run: Run, job: Job) -> Result:
    """Drive a run until it is over or waits for a person; an approver decides, if there is one."""
    for gate in run.state.all_gates:
        if isinstance(gate, BudgetGate):
            gate.ask = False
    end = None if job.timeout is None else time.monotonic() + job.timeout
    result = _played(run, job, end)
    decide = agent.options.get("approver")
    while decide is not None and run.waiting and not run.state.interrupted:
        try:
            approver.decide(run, decide, end)
        except approver.OutOfTime:
            return run.stop("timeout").result
        result = _played(run, job, end)
    return result


def _played(run: Run, job: Job, end: float | None) -> Result:
    if run.status in ("done", "readonly"):
        return run.result
    run.play()
    while job.stop_file and (playing := run.control.playing) is not None:
        concurrent.futures.wait([playing], POLL)
        if os.path.exists(job.stop_file):
            run.stop()
            break
        if end is not None and time.monotonic() > end:
            break
    return run.wait(None if end is None else max(0.0, end - time.monotonic()))


_driving: set[str] = set()
_guard = threading.Lock()


@contextmanager
def alone(run: str) -> Iterator[bool]:
    """Yield whether no other thread of this process is carrying out the same run."""
    with _guard:
        is_alone = run not in _driving
        _driving.add(run)
    try:
        yield is_alone
    finally:
        if is_alone:
            with _guard:
                _driving.discard(run)
