"""All errors that agentkit raises.

AgentkitError
├── EngineError              the author of the engine or the around can fix it
│   └── Diverged                 a replay reached a step that was not recorded
├── UsageError               the caller can fix it
│   ├── Unknown                  there is no engine, model, tool or option of that name
│   ├── OptionError              the value of an option is out of range (also a ValueError)
│   ├── Busy                     something else is driving this run
│   ├── Undecided                the step waits for a person's decision
│   ├── Ended                    the run is over
│   ├── ReadOnly                 the run was opened without something that it needs to continue
│   └── NotRecorded              a recording does not contain the requested exchange
├── ModelError               the model or its provider failed; the step can be tried again
│   ├── ModelUnreachable         there is no connection to its host, or it was lost
│   ├── ModelTimeout             it was silent for too long
│   ├── ModelDenied              the key is missing, wrong, or not allowed to do this
│   ├── ModelMissing             the host has no model of that name, or is not a model's host
│   ├── ModelRejected            the host refuses this request
│   │   └── ContextOverflow          the chat is longer than the model can read
│   ├── ModelBusy                a rate limit, or the host is overloaded
│   ├── ModelGarbled             the reply was cut off or is not valid
│   └── OutputValidationError    its output does not fit the schema (also a ValueError)
├── ToolError                a tool failed; the model is told
│   ├── ArgumentsError           the arguments do not fit the tool
│   ├── ToolTimeout              it took too long
│   └── Unfinished               it was called and gave no result, so it may have run
└── JournalError             the store of runs could not be read or written
    ├── JournalInUse             another process has this run open
    ├── JournalInDoubt           a row may have been written, or not
    ├── JournalDamaged           a row was changed or is missing
    ├── JournalTooNew            the file was written by a newer agentkit
    └── AuditError               a line of the audit log could not be written or read

Control flow derives from BaseException, so that an `except Exception` in a tool cannot turn it into an observation:

Control
├── Finish                   an around ends the run with an answer
├── Stopped                  a person stopped the run
└── Fenced                   another process took the run over
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentkit.inert import inert_lines


class AgentkitError(Exception):
    """The base class of all errors that agentkit raises.

    Its text is inert, because Python prints it in tracebacks: hidden characters are escapes. The text as it was given
    is `args[0]`.
    """

    @inert_lines
    def __str__(self) -> str:
        return super().__str__()


class EngineError(AgentkitError):
    """An engine or an around violated the protocol of steps."""


class Diverged(EngineError):
    """An engine that is replayed yielded a different step from the recorded one."""


class UsageError(AgentkitError):
    """A call that is not possible; the message says what to do instead."""


class Unknown(UsageError):
    """A name that is not known; the message suggests the nearest known one. `of` is what the name should belong to."""

    def __init__(self, what: str, name: object, known: Iterable[str], hint: str = "", *, of: str = "") -> None:
        names = sorted(known)
        if not hint:
            near = nearest(str(name), names)
            hint = f"did you mean {near!r}?" if near else f"known: {', '.join(names) or 'none'}"
        super().__init__(f"unknown {what} {name!r}{of and f' of {of}'}; {hint}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is the fewest edits away (at most 2, or a third of its letters), or "" if none is."""
    name = name[:60]
    distances = {other: _distance(name.lower(), other[:60].lower()) for other in known}
    best = min(distances, key=distances.__getitem__, default="")
    return best if best and distances[best] <= max(2, len(best) // 3) and distances[best] < len(best) else ""


def _distance(one: str, other: str) -> int:
    """Return how many letters to insert, delete, replace or swap (Damerau 1964, as optimal string alignment)."""
    before, row = [0] * (len(other) + 1), list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        last, before, row = before, row, [i]
        for j, b in enumerate(other, 1):
            row.append(min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b)))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                row[j] = min(row[j], last[j - 2] + 1)
    return row[-1]


class OptionError(UsageError, ValueError):
    """The value of an option is out of range; the message says what it should be."""


class Busy(UsageError):
    """Something else is driving this run."""


class Undecided(UsageError):
    """The pending step waits for a person's decision: approve, edit, reject or respond."""


class Ended(UsageError):
    """The run is over; fork it, or undo a step, to continue from an earlier one."""


class ReadOnly(UsageError):
    """The run was opened without something that it needs to continue."""


class NotRecorded(UsageError):
    """A recording does not contain the requested exchange; the message shows the nearest one."""


class ModelError(AgentkitError):
    """A model call failed; the step stays pending and can be tried again.

    `host` and `model` are those that failed, `status` is the HTTP status or 0, and `retry_after` is how long the host
    asked to wait, in seconds. `transient` tells whether the same request may succeed if it is sent again; `usage` is
    what the failed call used.
    """

    transient = False
    usage: Any = None

    def __init__(
        self, message: str = "", *, host: str = "", model: str = "", status: int = 0, retry_after: float | None = None
    ) -> None:
        super().__init__(message)
        self.host = host
        self.model = model
        self.status = status
        self.retry_after = retry_after


class ModelUnreachable(ModelError):
    """There is no connection to the model's host, or it was lost."""

    transient = True


class ModelTimeout(ModelError, TimeoutError):
    """The model's host was silent for too long, or the whole call took too long."""

    transient = True


class ModelDenied(ModelError):
    """The key is missing, wrong, or not allowed to do this."""


class ModelMissing(ModelError):
    """The host has no model of that name, or it is not the host of a model."""


class ModelRejected(ModelError):
    """The host refuses this request, and would refuse it again."""


class ContextOverflow(ModelRejected):
    """The chat is longer than the model can read."""


class ModelBusy(ModelError):
    """A rate limit was reached, or the host is overloaded or broken at the moment."""

    transient = True


class ModelGarbled(ModelError):
    """The reply was cut off or is not valid; no part of it was used."""

    transient = True


class OutputValidationError(ModelError, ValueError):
    """The output of a model does not fit the schema; `raw` is its last text, `problem` says what is wrong with it."""

    def __init__(self, message: str, *, raw: str = "", problem: str = "") -> None:
        super().__init__(message)
        self.raw = raw
        self.problem = problem


class ToolError(AgentkitError):
    """A tool failed; the text of the error is what the model is told."""


class ArgumentsError(ToolError):
    """The arguments do not fit the tool; the text names each field, so that the model can correct them."""


class ToolTimeout(ToolError):
    """The tool took longer than its timeout."""


class Unfinished(ToolError):
    """A tool was called and gave no result: its server ended, for example. The call may have been performed."""


class HookRefused(AgentkitError):
    """A hook or a guardrail decided against a model call, a reply or an answer; drive the run to ask it again.

    `usage` is what a model has used for a reply that was refused.
    """

    usage: Any = None


class JournalError(AgentkitError):
    """The store of runs could not be read or written."""


class JournalInUse(JournalError):
    """Another process has this run open."""


class JournalInDoubt(JournalError):
    """The connection was lost while a row was written, so it may be on record; append it again: it is written once."""


class JournalDamaged(JournalError):
    """A row was changed or is missing; the message names it. `sound` are the rows before `row`, which are intact."""

    def __init__(self, message: str, *, run: str = "", row: int = 0, sound: Iterable[Any] = ()) -> None:
        super().__init__(message)
        self.run = run
        self.row = row
        self.sound = list(sound)


class JournalTooNew(JournalError):
    """The file was written by a newer agentkit."""


class AuditError(JournalError):
    """A line of the audit log could not be written or read; what it is about is not done."""


class Control(BaseException):
    """Control flow, not an error."""

    @inert_lines
    def __str__(self) -> str:
        return super().__str__()


class Finish(Control):
    """Raised by an around to end the run with `answer`; the `reason` is empty if the engine had finished."""

    def __init__(self, answer: str, reason: str = "finished") -> None:
        super().__init__(answer)
        self.answer = answer
        self.reason = reason


class Stopped(Control):
    """A person stopped the run."""


class Fenced(Control):
    """Another process took this run over; this process must not write to it any more."""

    def __init__(self, run: str, holder: Any = None) -> None:
        super().__init__(
            f"run {run} was taken over by {holder or 'another process'}; this process no longer writes to it"
        )
