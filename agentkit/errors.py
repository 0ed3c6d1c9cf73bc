"""Everything that agentkit raises.

AgentkitError
├── EngineError              whoever wrote the engine or an around can mend it
│   └── Diverged                 a replay reached a step that was not recorded
├── UsageError               whoever called can mend it
│   ├── Unknown                  no engine, model, tool or option of that name
│   ├── OptionError              the value of an option is out of range (a ValueError, too)
│   ├── Busy                     somebody else is driving this run
│   ├── Undecided                the step waits for a person
│   ├── Ended                    the run is over
│   ├── ReadOnly                 the run was opened without what it needs to go on
│   └── NotRecorded              a recording does not hold what was asked of it
├── ModelError               the model or its provider failed; the step can be tried again
│   ├── ModelUnreachable         no connection to its host, or it broke
│   ├── ModelTimeout             it was silent for too long
│   ├── ModelDenied              the key is missing, wrong, or not allowed to do this
│   ├── ModelMissing             its host knows no model of that name, or is no model's host
│   ├── ModelRejected            the host refuses this request
│   │   └── ContextOverflow          the chat is longer than the model can read
│   ├── ModelBusy                a rate limit, or an overload
│   ├── ModelGarbled             the reply broke off, or is not what it should be
│   └── OutputValidationError    what it gave does not fit the wanted schema (a ValueError, too)
├── ToolError                a tool could not do its work; the model is told
│   ├── ArgumentsError           the arguments do not fit the tool
│   └── ToolTimeout              it took too long
└── JournalError             the store of runs
    ├── JournalInUse             another process holds this run
    ├── JournalDamaged           a row was changed or is missing
    └── JournalTooNew            written by a newer agentkit

Control flow derives from BaseException, so that no `except Exception` in a tool turns it into an observation:

Control
├── Finish                   an around ends the run with an answer
├── Stopped                  a person stopped the run
└── Fenced                   another process took the run over
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


class AgentkitError(Exception):
    """Any error of agentkit."""


class EngineError(AgentkitError):
    """An engine or an around broke the protocol of steps."""


class Diverged(EngineError):
    """The engine, run again, asked for another step than the recorded one."""


class UsageError(AgentkitError):
    """A call that cannot be carried out; the message says what to do instead."""


class Unknown(UsageError):
    """A name that is not known; the message offers the nearest one that is. `of` says what it should belong to."""

    def __init__(self, what: str, name: object, known: Iterable[str], hint: str = "", *, of: str = "") -> None:
        names = sorted(known)
        if not hint:
            near = nearest(str(name), names)
            hint = f"did you mean {near!r}?" if near else f"known: {', '.join(names) or 'none'}"
        super().__init__(f"unknown {what} {name!r}{of and f' of {of}'}; {hint}")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the name that is the fewest edits away, if that is at most a third of its letters (at least 2); else ""."""
    name = name[:60]
    distances = {other: _distance(name.lower(), other[:60].lower()) for other in known}
    best = min(distances, key=distances.__getitem__, default="")
    return best if best and distances[best] <= max(2, len(best) // 3) and distances[best] < len(best) else ""


def _distance(one: str, other: str) -> int:
    """Count the letters to insert, delete, replace or swap with a neighbour (Damerau 1964, optimal string alignment)."""
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
    """Somebody else is driving this run."""


class Undecided(UsageError):
    """The pending step waits for a person: approve, edit, reject or respond."""


class Ended(UsageError):
    """The run is over; fork it, or undo, to go on from an earlier step."""


class ReadOnly(UsageError):
    """The run was opened without something that it needs to go on."""


class NotRecorded(UsageError):
    """A recording does not hold what was asked of it; the message shows the nearest."""


class ModelError(AgentkitError):
    """A model call failed; the step stays pending and can be tried again.

    `host` and `model` say where, `status` is the HTTP status or 0, `retry_after` what the host asked to wait, in seconds.
    `transient` says whether the same request may succeed when it is sent again, `usage` what it has used all the same.
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
    """There is no connection to the model's host, or it broke."""

    transient = True


class ModelTimeout(ModelError, TimeoutError):
    """The model's host was silent for too long, or took too long altogether."""

    transient = True


class ModelDenied(ModelError):
    """The key is missing, wrong, or not allowed to do this."""


class ModelMissing(ModelError):
    """The host knows no model of that name, or it is no model's host at all."""


class ModelRejected(ModelError):
    """The host refuses this request; sent again, it would be refused again."""


class ContextOverflow(ModelRejected):
    """The chat is longer than the model can read."""


class ModelBusy(ModelError):
    """A rate limit, or a host that is overloaded or broken just now."""

    transient = True


class ModelGarbled(ModelError):
    """The reply broke off, or is not what it should be; nothing of it was used."""

    transient = True


class OutputValidationError(ModelError, ValueError):
    """What a model gave does not fit the wanted schema; `raw` keeps its last text, `problem` says what is wrong with it."""

    def __init__(self, message: str, *, raw: str = "", problem: str = "") -> None:
        super().__init__(message)
        self.raw = raw
        self.problem = problem


class ToolError(AgentkitError):
    """A tool could not do its work; its text is what the model is told."""


class ArgumentsError(ToolError):
    """The arguments do not fit the tool; the text names each field, for the model to mend."""


class ToolTimeout(ToolError):
    """The tool took longer than it may."""


class JournalError(AgentkitError):
    """The store of runs could not be read or written."""


class JournalInUse(JournalError):
    """Another process has this run open."""


class JournalDamaged(JournalError):
    """A row was changed, or is missing; the message names it. `sound` holds the rows before `row`, which are as written."""

    def __init__(self, message: str, *, run: str = "", row: int = 0, sound: Iterable[Any] = ()) -> None:
        super().__init__(message)
        self.run = run
        self.row = row
        self.sound = list(sound)


class JournalTooNew(JournalError):
    """The file was written by a newer agentkit."""


class Control(BaseException):
    """Control flow, not an error."""


class Finish(Control):
    """Raised by an around: end the run with `answer`; the `reason` is empty where the engine was through."""

    def __init__(self, answer: str, reason: str = "finished") -> None:
        super().__init__(answer)
        self.answer = answer
        self.reason = reason


class Stopped(Control):
    """A person stopped the run."""


class Fenced(Control):
    """Another process took this run over; nothing more may be written by this one."""

    def __init__(self, run: str, holder: Any = None) -> None:
        super().__init__(
            f"run {run} was taken over by {holder or 'another process'}; nothing more is written from here"
        )
