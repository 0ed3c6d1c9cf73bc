"""The commands that drive and change a run: each is a line for the method of the same name."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError

from agentkit.core.text import counted, one_line
from agentkit.errors import AgentkitError
from agentkit.export.text import pending_text
from agentkit.gates import permission_file
from agentkit.gates.permissions import MODES, Permissions
from agentkit.notebook import namespace
from agentkit.notebook.arguments import Argument
from agentkit.notebook.command import command, run_command
from agentkit.notebook.display import Listing, Notice
from agentkit.notebook.session import Session
from agentkit.run import permits
from agentkit.run.run import Run, choices

Args = argparse.Namespace

ENTRY = Argument("entry", nargs="?", type=int, metavar="ENTRY", help="the number of an entry in the trace")
WHICH_HELP = "which of the waiting steps, counted from 0"
WHICH = Argument("which", nargs="?", type=int, default=0, metavar="WHICH", help=WHICH_HELP)
WHICH_OPTION = Argument("--which", type=int, default=0, metavar="WHICH", help=WHICH_HELP)
WAIT = Argument("-w", "--wait", action="store_true", help="wait until the run ends or pauses, then show it once")
OUTPUT = Argument("-o", "--output", metavar="VARIABLE", help="a variable for the run")
MODEL = Argument("-m", "--model", metavar="MODEL", help="another model")
TOOLS = Argument("-t", "--tools", metavar="TOOLS", help="other tools, separated by commas")
TIMES = Argument("times", nargs="?", type=int, default=1, metavar="TIMES", help="how many times")
ARGUMENTS = Argument(
    "--arguments", metavar="JSON", help='other arguments for the call, in quotes: \'{"city": "Bern"}\''
)


# -- driving -----------------------------------------------------------------------------------------------------------


@command(
    Argument("id", metavar="ID", help="the id of the run, or the beginning of it"),
    MODEL,
    TOOLS,
    OUTPUT,
    Argument(
        "--waive",
        action="append",
        metavar="GUARD",
        help="go on without a function that guarded the run: approve or breakpoints",
    ),
)
def resume(session: Session, args: Args) -> Any:
    """Open a recorded run where it left off, paused; read-only if something that it needs is missing."""
    return session.reopen(args)


@command(Argument("id", metavar="ID", help="the id of the run, or the beginning of it"), OUTPUT)
def look(session: Session, args: Args) -> Any:
    """Open a recorded run read-only, as it is now; another process may be driving it."""
    return session.reopen(args, to_look=True)


@run_command(TIMES, Argument("--over", action="store_true", help="perform all pending steps, parallel calls at once"))
def step(session: Session, run: Run, args: Args) -> Any:
    """Perform one step, or several, in this cell, then pause."""
    times = _times(args)
    if args.over:
        return run.step_over()
    entries = [run.step()]
    while len(entries) < times and not run.hold and run.status != "done":
        entries.append(run.step())
    return entries[0] if times == 1 else entries


@run_command(WAIT)
def pause(session: Session, run: Run, args: Args) -> Any:
    """Pause a run at its next step boundary; the step in progress ends first."""
    if run.followed is not None:
        run.pause()
        return Notice(run.followed.text)
    if run.status != "running":
        return Notice(f"the run is not running; it is {run.status}")
    run.pause()
    if args.wait or session.waits:
        run.wait()
        return Notice(f"the run is {run.status}")
    return Notice("pausing: the step in progress ends first, and is recorded")


@run_command(WAIT)
def play(session: Session, run: Run, args: Args) -> Any:
    """Let a paused run continue in the background."""
    if run.status == "done":
        raise UsageError("the run is over; %agent undo or %agent fork continues from an earlier step")
    if run.waiting and len(run.waiting) == len(run.pending):
        commands = ", ".join(f"%agent {name}" for name in choices(*run.waiting[0]))
        raise UsageError(f"{run.waiting[0][1].why}: decide with {commands}")
    return session.play(run, args.wait)


@run_command(Argument("--reason", default="stopped", metavar="TEXT", help="the reason to record"))
def stop(session: Session, run: Run, args: Args) -> Any:
    """Stop a run immediately, and cancel the calls in progress if possible. Its entries are kept; `play` continues."""
    if run.status == "done":
        return Notice("the run is already over")
    run.stop(args.reason)
    if run.followed is not None:
        return Notice(run.followed.text)
    run.wait()
    return Notice(f"the run is {run.status}; %agent play continues from here")


# -- changing ----------------------------------------------------------------------------------------------------------


@run_command(
    ENTRY,
    Argument("--text", metavar="TEXT", help="another observation, or another thought"),
    Argument("--answer", metavar="TEXT", help="make a thought the final answer, with this text"),
    ARGUMENTS,
    Argument("--reason", default="", metavar="TEXT", help="the reason to record"),
    body="text",
)
def edit(session: Session, run: Run, args: Args) -> Any:
    """Replace an entry or, without a number, the pending step. The original is kept."""
    change = {name: value for name in ("text", "answer") if (value := getattr(args, name)) is not None}
    if args.arguments is not None:
        change["arguments"] = _json_object(args.arguments)
    return run.edit(args.entry, reason=args.reason, **change)


@run_command(Argument("--to", default="", metavar="LANE", help="one of the parallel lanes"), rest="text", body="text")
def inject(session: Session, run: Run, args: Args) -> Any:
    """Send a message to the model, with its next request."""
    receipt = run.inject(args.text, args.to)
    if run.followed is not None:
        return Notice(run.followed.text, receipt)
    if run.status == "done":
        return Notice("the run is over; the model sees this message only after %agent undo", receipt)
    return Notice("the model sees this message with its next request", receipt)


@run_command(
    Argument("--json", action="store_true", help="the text is a JSON value"),
    rest="signal",
    body="signal",
)
def signal(session: Session, run: Run, args: Args) -> Any:
    """Tell a tool that waits with wait_for_signal, now or later: the name of a signal, and a text if you like."""
    if not args.signal.strip():
        raise UsageError("%agent signal NAME: the name is missing")
    name, *text = args.signal.split(None, 1)
    run.signal(name, None if not text else _parse_json(text[0]) if args.json else text[0])
    return Notice(f"the signal {name} was sent")


@run_command(ENTRY, OUTPUT, MODEL, TOOLS)
def fork(session: Session, run: Run, args: Args) -> Any:
    """Start a second run with the same past, after an entry or after the last one; it becomes the current run."""
    variable = namespace.check_variable(args.output) if args.output else None
    changes: dict[str, Any] = {}
    if args.model is not None:
        changes["model"] = namespace.model_of(args.model, session.names)
    if args.tools is not None:
        changes["tools"] = namespace.tools_of(args.tools, session.names)
    if run.read_only:  # another process may hold it
        other = session.opener(session.find_recorded(run.id), args.model, args.tools).fork(run, args.entry, **changes)
    else:
        other = run.fork(args.entry, **changes)
    session.adopt(other, variable)
    session.notify(other.forecast)
    return other


@run_command(TIMES)
def undo(session: Session, run: Run, args: Args) -> Any:
    """Undo the last step, edit or rewind; nothing is deleted."""
    return _repeat(run.undo, run.redo, _times(args))


@run_command(TIMES)
def redo(session: Session, run: Run, args: Args) -> Any:
    """Redo the step, edit or rewind that was undone last."""
    return _repeat(run.redo, run.undo, _times(args))


def _repeat(action: Callable[[], Run], reverse: Callable[[], Run], times: int) -> Run:
    """Repeat an action this many times, or not at all."""
    run = action()
    for done in range(1, times):
        try:
            run = action()
        except AgentkitError as error:
            for _ in range(done):
                reverse()
            raise UsageError(f"this is possible only {counted(done, 'time')}, not {times}: {error}") from None
    return run


# -- deciding ----------------------------------------------------------------------------------------------------------


@run_command(
    WHICH,
    ARGUMENTS,
    Argument("--remember", action="store_true", help="allow this tool from now on in this run"),
    Argument("--always", action="store_true", help="allow this tool in later runs, too, with a rule in your settings"),
)
def approve(session: Session, run: Run, args: Args) -> Any:
    """Approve a waiting call; `play` or `step` then continues."""
    if not run.waiting:
        raise UsageError("nothing is waiting for approval; %agent shows the run")
    arguments = None if args.arguments is None else _json_object(args.arguments)
    run.approve(args.which, arguments=arguments, remember="always" if args.always else args.remember)
    steps = ", ".join(pending_text(pending, run) for pending in run.pending)
    return Notice(f"approved; next: {one_line(steps)}. %agent play continues")


@run_command(WHICH)
def reuse(session: Session, run: Run, args: Args) -> Any:
    """Use the recorded result of the earlier call that a waiting one would repeat."""
    if not run.waiting:
        raise UsageError("nothing is waiting for a decision; %agent shows the run")
    return run.reuse(args.which)


@run_command(
    WHICH_OPTION,
    Argument("--remember", action="store_true", help="reject this tool from now on in this run"),
    Argument("--always", action="store_true", help="reject this tool in later runs, too, with a rule in your settings"),
    rest="comment",
    body="comment",
)
def reject(session: Session, run: Run, args: Args) -> Any:
    """Reject a waiting call; the model is told so, with your comment."""
    if not run.waiting:
        raise UsageError("nothing is waiting for a decision; %agent shows the run")
    return run.reject(args.comment, args.which, remember="always" if args.always else args.remember)


@run_command(
    WHICH_OPTION,
    Argument("--json", action="store_true", help="the text is a JSON value"),
    rest="value",
    body="value",
)
def respond(session: Session, run: Run, args: Args) -> Any:
    """Answer a waiting question, or the pending call instead of its tool."""
    if not args.value:
        raise UsageError("%agent respond TEXT: the text is missing")
    return run.respond(_parse_json(args.value) if args.json else args.value, args.which)


@command(
    Argument(
        "what", nargs="?", choices=("test", "explain", "mode"), help="test a call, explain the calls, set the mode"
    ),
    Argument("value", nargs="?", metavar="VALUE", help="for test the name of a tool, for mode a mode"),
    ARGUMENTS,
    Argument("-r", "--run", metavar="RUN", help="a variable that holds a run, or the beginning of its id"),
)
def permissions(session: Session, args: Args) -> Any:
    """List, test, explain or set what the current run may call; without a run, what your settings file says."""
    run = session.find(args.run) if args.run or session.current is not None else None
    rules = run.guards.permissions if run is not None else Permissions().with_table(permission_file.read())
    if args.what == "test" and args.value:
        found = run.performer.tools.find(args.value) if run is not None else None
        judgment = permits.judge_named(rules, found or args.value, permits.arguments_of(args.arguments))
        return Notice(f"{judgment.outcome}: {judgment.why or 'no rule is about it, and there is no mode'}", judgment)
    if args.what == "mode" and args.value:
        if run is None:
            raise UsageError(f"there is no run yet; write the mode into {permission_file.path()}, or start a run")
        run.guard(permissions=rules.in_mode(args.value), reason="set in the notebook")
        return Notice(f"{args.value}: {MODES[args.value]}")
    if args.what == "explain":
        if run is None:
            raise UsageError("there is no run yet to explain")
        return Listing(permits.HEADER, permits.explanations(run))
    if args.what:
        raise UsageError(f"%agent permissions {args.what}: {'a tool' if args.what == 'test' else 'a mode'} is missing")
    file = permission_file.path()
    note = f"the person is {file}{'' if file.exists() else ', which does not exist yet'}"
    return Listing(("source", "number", "says", "why"), rules.rows, note)


@run_command(
    Argument("--tool", metavar="NAME", help="before this tool is called"),
    Argument("--role", metavar="ROLE", help="before a model call with this role"),
    Argument("--line", type=int, metavar="LINE", help="at this line of the engine's file"),
    Argument("--error", action="store_true", help="after a tool has failed"),
    Argument("--repeat", action="store_true", help="before a call that has been made before"),
    Argument("--when", metavar="VARIABLE", help="after an entry for which this function returns true"),
    Argument("--clear", action="store_true", help="remove all breakpoints"),
)
def break_(session: Session, run: Run, args: Args) -> Any:
    """Set a breakpoint, or list the breakpoints."""
    breakpoints = run.state.breakpoints
    if args.clear:
        run.unbreak()
    options = "tool", "role", "line", "error", "repeat"
    condition = {name: getattr(args, name) for name in options if getattr(args, name)}
    if args.when:
        condition["when"] = session.names.get(args.when)
        if not callable(condition["when"]):
            raise UsageError(f"--when needs a variable that holds a function of an entry, which {args.when!r} does not")
    if condition:
        run.break_at(**condition)
    if not breakpoints:
        return Notice("no breakpoints")
    return Listing(("breakpoint", "hits"), [(point.text, point.hits) for point in breakpoints])


def _times(args: Args) -> int:
    if args.times < 1:
        raise UsageError(f"TIMES must be an integer of at least 1, not {args.times}")
    return int(args.times)


def _parse_json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise UsageError(f"this is not JSON ({error}): {text}") from None


def _json_object(text: str) -> dict[str, Any]:
    value = _parse_json(text)
    if not isinstance(value, dict):
        raise UsageError(f'arguments must be a JSON object, such as {{"city": "Bern"}}, not {text}')
    return value
