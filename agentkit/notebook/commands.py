"""The commands that drive and change a run: each is the method of that name, said in a line."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError

from agentkit.core.text import one_line
from agentkit.errors import AgentkitError
from agentkit.export.text import pending_text
from agentkit.gates.breakpoints import Breakpoint
from agentkit.notebook import namespace
from agentkit.notebook.arguments import Argument
from agentkit.notebook.command import command, verb
from agentkit.notebook.display import Remark, Table
from agentkit.notebook.session import Session
from agentkit.run.run import Run

Args = argparse.Namespace

ENTRY = Argument("entry", nargs="?", type=int, metavar="ENTRY", help="the number of an entry of the trace")
WHICH = Argument("which", nargs="?", type=int, default=0, metavar="WHICH", help="the how-manieth waiting step, from 0")
WAIT = Argument("-w", "--wait", action="store_true", help="wait until the run rests, and show it once")
OUTPUT = Argument("-o", "--output", metavar="VARIABLE", help="a variable for the run")
MODEL = Argument("-m", "--model", metavar="MODEL", help="another model")
TOOLS = Argument("-t", "--tools", metavar="TOOLS", help="other tools, with commas between")
TIMES = Argument("times", nargs="?", type=int, default=1, metavar="TIMES", help="how often")
ARGUMENTS = Argument(
    "--arguments", metavar="JSON", help='other arguments for the call, in quotes: \'{"city": "Bern"}\''
)


# -- driving -------------------------------------------------------------------------------------------------------------


@command(Argument("id", metavar="ID", help="the run's id, or its beginning"), MODEL, TOOLS, OUTPUT)
def resume(session: Session, args: Args) -> Any:
    """Open a recorded run where it stood, and hold it there. Without tools that it needs it opens read-only."""
    return session.reopen(args)


@verb(TIMES, Argument("--over", action="store_true", help="all that is pending now, parallel calls side by side"))
def step(session: Session, run: Run, args: Args) -> Any:
    """Perform one step, or several, in this cell, and hold again."""
    times = _times(args)
    if args.over:
        return run.step_over()
    entries = [run.step()]
    while len(entries) < times and not run.hold and run.status != "done":
        entries.append(run.step())
    return entries[0] if times == 1 else entries


@verb(WAIT)
def pause(session: Session, run: Run, args: Args) -> Any:
    """Hold a run at its next step; what is under way ends first."""
    if run.status != "running":
        return Remark(f"nothing is under way: the run is {run.status}")
    run.pause()
    if args.wait or session.waits:
        run.wait()
        return Remark(f"the run is {run.status}")
    return Remark("pausing: what is under way ends first, and is recorded")


@verb(WAIT)
def play(session: Session, run: Run, args: Args) -> Any:
    """Let a held run go on in the background."""
    if run.status == "done":
        raise UsageError("the run is over; %agent undo or %agent fork to go on from an earlier step")
    if run.waiting and len(run.waiting) == len(run.pending):
        raise UsageError(f"{run.waiting[0][1].why}: %agent approve, %agent reject COMMENT or %agent respond VALUE")
    return session.play(run, args.wait)


@verb(Argument("--reason", default="stopped", metavar="TEXT", help="why, for the record"))
def stop(session: Session, run: Run, args: Args) -> Any:
    """Stop a run now: what can be cancelled is. It keeps all it has, and `play` goes on."""
    if run.status == "done":
        return Remark("the run is over already")
    run.stop(args.reason)
    run.wait()
    return Remark(f"the run is {run.status}; %agent play goes on from here")


# -- changing ------------------------------------------------------------------------------------------------------------


@verb(
    ENTRY,
    Argument("--text", metavar="TEXT", help="another observation, or another thought"),
    Argument("--answer", metavar="TEXT", help="let a thought end in this answer"),
    ARGUMENTS,
    Argument("--reason", default="", metavar="TEXT", help="why, for the record"),
    body="text",
)
def edit(session: Session, run: Run, args: Args) -> Any:
    """Put something else in the place of an entry, or, without its number, of the pending step. The original is kept."""
    change = {name: value for name in ("text", "answer") if (value := getattr(args, name)) is not None}
    if args.arguments is not None:
        change["arguments"] = _object(args.arguments)
    return run.edit(args.entry, reason=args.reason, **change)


@verb(Argument("--to", default="", metavar="LANE", help="one of several parallel lanes"), rest="text", body="text")
def inject(session: Session, run: Run, args: Args) -> Any:
    """Say something to the model; it arrives with its next request."""
    receipt = run.inject(args.text, args.to)
    if run.status == "done":
        return Remark("the run is over: this is heard only after %agent undo", receipt)
    return Remark("the model hears it with its next request", receipt)


@verb(ENTRY, OUTPUT, MODEL, TOOLS)
def fork(session: Session, run: Run, args: Args) -> Any:
    """Begin a second run over the same past, after an entry or from where it stands; it becomes the current run."""
    variable = namespace.check_variable(args.output) if args.output else None
    changes: dict[str, Any] = {}
    if args.model is not None:
        changes["model"] = namespace.model_of(args.model, session.names)
    if args.tools is not None:
        changes["tools"] = namespace.tools_of(args.tools, session.names)
    other = session.adopt(run.fork(args.entry, **changes), variable)
    session.say(other.forecast)
    return other


@verb(TIMES)
def undo(session: Session, run: Run, args: Args) -> Any:
    """Go back to before the last edit, move or step; nothing is deleted."""
    return _repeat(run.undo, run.redo, _times(args))


@verb(TIMES)
def redo(session: Session, run: Run, args: Args) -> Any:
    """Take the last undo back."""
    return _repeat(run.redo, run.undo, _times(args))


def _repeat(move: Callable[[], Run], back: Callable[[], Run], times: int) -> Run:
    """Move that often, or not at all."""
    run = move()
    for done in range(1, times):
        try:
            run = move()
        except AgentkitError as error:
            for _ in range(done):
                back()
            raise UsageError(f"{times} times is too often, {done} would do: {error}") from None
    return run


# -- deciding ------------------------------------------------------------------------------------------------------------


@verb(WHICH, ARGUMENTS, Argument("--remember", action="store_true", help="let this tool pass from now on"))
def approve(session: Session, run: Run, args: Args) -> Any:
    """Let a waiting call pass; `play` or `step` then goes on."""
    if not run.waiting:
        raise UsageError("nothing waits for a yes; %agent shows where the run stands")
    arguments = None if args.arguments is None else _object(args.arguments)
    run.approve(args.which, arguments=arguments, remember=args.remember)
    allowed = ", ".join(pending_text(each, run) for each in run.pending)
    return Remark(f"allowed: {one_line(allowed)}; %agent play goes on")


@verb(Argument("--which", type=int, default=0, metavar="WHICH", help="not the first"), rest="comment", body="comment")
def reject(session: Session, run: Run, args: Args) -> Any:
    """Refuse a waiting call; the model is told so, with your words."""
    if not run.waiting:
        raise UsageError("nothing waits for a decision; %agent shows where the run stands")
    return run.reject(args.comment, args.which)


@verb(
    Argument("--which", type=int, default=0, metavar="WHICH", help="not the first"),
    Argument("--json", action="store_true", help="the text is a JSON value"),
    rest="value",
    body="value",
)
def respond(session: Session, run: Run, args: Args) -> Any:
    """Answer a waiting question, or the pending call in the tool's place."""
    if not args.value:
        raise UsageError("%agent respond TEXT: the text is missing")
    return run.respond(_json(args.value) if args.json else args.value, args.which)


@verb(
    Argument("--tool", metavar="NAME", help="before this tool runs"),
    Argument("--role", metavar="ROLE", help="before a model call of this role"),
    Argument("--line", type=int, metavar="LINE", help="at this line of the engine's file"),
    Argument("--error", action="store_true", help="after a tool that failed"),
    Argument("--repeat", action="store_true", help="before a call that was made before"),
    Argument("--when", metavar="VARIABLE", help="after an entry for which this function gives true"),
    Argument("--clear", action="store_true", help="remove all breakpoints"),
)
def break_(session: Session, run: Run, args: Args) -> Any:
    """Set a breakpoint, or list those there are."""
    points = run.state.breakpoints
    if args.clear:
        points.clear()
    wanted = {name: getattr(args, name) for name in ("tool", "role", "line", "error", "repeat") if getattr(args, name)}
    if args.when:
        wanted["when"] = session.names.get(args.when)
        if not callable(wanted["when"]):
            raise UsageError(f"--when names a function of an entry; {args.when!r} is none")
    if wanted:
        run.break_at(**wanted)
    if not points:
        return Remark("no breakpoints")
    return Table(("breakpoint", "hits"), [(_condition(point), point.hits) for point in points])


def _condition(point: Breakpoint) -> str:
    if point.when is not None:
        return f"when {getattr(point.when, '__name__', 'a condition')}"
    for name in ("tool", "role", "line"):
        if (value := getattr(point, name)) is not None:
            return f"{name} {value}"
    return "error" if point.error else "repeat"


def _times(args: Args) -> int:
    if args.times < 1:
        raise UsageError(f"how often is a whole number of at least 1, not {args.times}")
    return int(args.times)


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"this is no JSON ({error}): {text}") from None


def _object(text: str) -> dict[str, Any]:
    value = _json(text)
    if not isinstance(value, dict):
        raise UsageError(f'arguments are a JSON object, such as {{"city": "Bern"}}, not {text}')
    return value
