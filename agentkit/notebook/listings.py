"""The commands that list and write: runs, tools, engines, models, export, help."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError

from agentkit import export as formats
from agentkit.agent.agent import runs as recorded_runs
from agentkit.engines import recommend, registry
from agentkit.errors import Unknown
from agentkit.export import files, literal, playback
from agentkit.models import resolve
from agentkit.notebook import namespace
from agentkit.notebook.arguments import Argument
from agentkit.notebook.command import COMMANDS, command, run_command
from agentkit.notebook.display import Listing, Notice
from agentkit.notebook.session import VARIABLE, Session
from agentkit.run.run import Run
from agentkit.tools import builtin
from agentkit.tools.tool import Tool

Args = argparse.Namespace

_PLAYER = """\
from agentkit.export.playback import Playback, ask, calls

# returns recorded observations without running a tool; a call that you change is refused
call = Playback(calls({}.entries), None, ask)
"""


@command(Argument("--all", action="store_true", help="list all of them, not only the newest 20"))
def runs(session: Session, args: Args) -> Any:
    """List the runs, newest first; `*` marks the current one."""
    rows = []
    recorded = recorded_runs(session.settings.journal)
    for info in recorded if args.all else recorded[:20]:
        run = session.live.get(info.run)
        mark = "*" if run is not None and run is session.current else ""
        status = run.status if run is not None else info.status
        started = time.strftime("%Y-%m-%d %H:%M", time.localtime(info.created))
        rows.append((mark, info.run, status, info.engine.rpartition(":")[2], info.model, started, info.task))
    if not rows:
        return Notice("no runs have been recorded yet; %agent TASK starts one")
    older = len(recorded) - len(rows)
    note = f"and {older} older; %agent runs --all lists them too" if older else ""
    return Listing(("", "run", "status", "engine", "model", "started", "task"), rows, note)


@command()
def tools(session: Session, args: Args) -> Any:
    """List what `-t` can name: the built-in toolboxes, and your variables that hold a tool or a toolbox."""
    by_default = {word.strip() for word in session.settings.tools.split(",")}
    rows = []
    for name, value in {**builtin.listed(), **namespace.tools_in(session.names)}.items():
        is_default = "yes" if name in by_default else ""
        for tool in [value] if isinstance(value, Tool) else value:
            rows.append((name, tool.name, _parameters(tool), tool.effect, is_default, tool.description))
    note = "-t also takes your functions; -t none offers no tools"
    return Listing(("-t", "tool", "arguments", "effect", "by default", "description"), rows, note)


def _parameters(tool: Tool) -> str:
    from agentkit.tools.json_schema import describe_parameters

    return describe_parameters(tool.parameters)


@command(Argument("signals", nargs="*", metavar="SIGNAL", help="signs in the task; the table lists them"))
def engines(session: Session, args: Args) -> Any:
    """List the engines and the tasks that they fit, all or those for a task with these signals."""
    choices = recommend.recommend(*args.signals) if args.signals else recommend.TABLE
    rows = [(c.signal, c.task, c.engine, "yes" if c.available else "not yet", c.why, c.cost) for c in choices]
    recommended = {choice.engine for choice in recommend.TABLE}
    if not args.signals:
        rows += [
            ("", "", name, "yes", registry.find(name)[0].__doc__ or "", "")
            for name in registry.ENGINES
            if name not in recommended
        ]
    note = "-e also takes your generator functions, and module:function"
    return Listing(("signal", "task", "engine", "available", "why", "cost"), rows, note)


@command()
def models(session: Session, args: Args) -> Any:
    """List the available models, and say which one is used by default and why."""
    default, reason = _default_model(session)
    available = resolve.list_all()
    available |= {
        name: f"your variable: {value!r}" for name, value in session.names.items() if namespace.is_model(name, value)
    }
    if default not in available:
        available[default] = "configured" if resolve.is_name(default) else "configured, but not found"
    rows = [("*" if name == default else "", name, about) for name, about in available.items()]
    return Listing(("", "model", "description"), rows, f"* {default} is used without -m: {reason}")


def _default_model(session: Session) -> tuple[str, str]:
    """Return the model that is used if none is named, and why."""
    if session.settings.model:
        model = session.settings.model
        return model if isinstance(model, str) else repr(model), "it is set by %config AgentMagics.model"
    choice = resolve.choose()
    return choice.name, choice.why


@run_command()
def profile(session: Session, run: Run, args: Args) -> Any:
    """Show where the time, the tokens and the money of a run went."""
    return run.profile()


@run_command(
    Argument(
        "path",
        nargs="?",
        metavar="FILE",
        help=f"a new file; its ending sets the format: {', '.join(ending for ending, *_ in files.FORMATS.values())}",
    ),
    Argument("--force", action="store_true", help="overwrite an existing file"),
    Argument("--cells", action="store_true", help="put the run's actions into a new cell below this one, as code"),
)
def export(session: Session, run: Run, args: Args) -> Any:
    """Write a run to a file, or to a cell below this one."""
    if args.cells:
        session.shell.set_next_input(_actions_as_code(run, args.run or VARIABLE))
        return Notice("the actions of the run are in the next cell")
    if not args.path:
        raise UsageError("%agent export needs a FILE, or --cells for a cell below this one")
    path = Path(args.path).expanduser()
    format = files.format_of(path)
    if path.exists() and not args.force:
        raise UsageError(f"{path} already exists; --force overwrites it")
    try:
        getattr(formats, f"to_{format}")(run, path, overwrite=args.force)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
    return Notice(f"wrote {path}")


def _actions_as_code(run: Run, variable: str) -> str:
    """Return the actions of a run as code that plays them; the texts of models and tools are literals in it, never
    code.
    """
    if not variable.isidentifier():
        raise UsageError(
            f"-r {variable}: the cell needs a variable that holds the run; %agent resume {variable} -o run sets one"
        )
    recorded = playback.calls(run.entries)
    if not recorded:
        raise UsageError("the run has no actions yet")
    lines = [f"display({literal.call(number, call.name, call.arguments)})" for number, (call, _) in recorded.items()]
    return "\n".join([_PLAYER.format(variable), *lines])


@command(Argument("about", nargs="?", metavar="COMMAND", help="one of the commands"))
def help_(session: Session, args: Args) -> Any:
    """List the commands, or explain one."""
    if args.about:
        if args.about not in COMMANDS:
            raise Unknown("command", args.about, COMMANDS)
        return Notice(COMMANDS[args.about].parser.format_help().replace("::\n\n  %", "%", 1).strip())
    return Notice("\n".join(_overview()))


def _overview() -> Iterator[str]:
    yield "%agent [options] TASK   start a run; %agent? lists the options"
    yield "%%agent [options]       the same, with the task in the cell's body"
    yield "%agent COMMAND …        a command on the current run, or on another one with -r RUN:"
    for name, listed in COMMANDS.items():
        yield f"  {name:<8} {listed.description}"
