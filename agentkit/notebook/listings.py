"""The commands that list and write: runs, tools, engines, models, export, help."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError

from agentkit import export as formats
from agentkit.agent.agent import runs as recorded
from agentkit.engines import recommend, registry
from agentkit.errors import Unknown
from agentkit.export import literal, playback
from agentkit.models import resolve
from agentkit.notebook import namespace
from agentkit.notebook.arguments import Argument
from agentkit.notebook.command import COMMANDS, command, verb
from agentkit.notebook.display import Remark, Table
from agentkit.notebook.session import VARIABLE, Session
from agentkit.run.run import Run
from agentkit.tools import builtin
from agentkit.tools.tool import Tool

Args = argparse.Namespace

FORMATS = {".ipynb": "to_notebook", ".md": "to_markdown", ".html": "to_html", ".json": "to_json"}
"""What a file name ends in, and the function of `agentkit.export` that writes it."""

_PLAYER = """\
from agentkit.export.playback import Playback, ask, calls

# gives what was observed; no tool runs, and a call that was changed is refused with the nearest that was recorded
call = Playback(calls({}.entries), None, ask)
"""


@command(Argument("--all", action="store_true", help="not only the newest 20"))
def runs(session: Session, args: Args) -> Any:
    """List the runs, the newest first; `*` is the current one."""
    rows = []
    listed = recorded(session.settings.journal)
    for info in listed if args.all else listed[:20]:
        run = session.live.get(info.run)
        mark = "*" if run is not None and run is session.current else ""
        status = run.status if run is not None else info.status
        began = time.strftime("%Y-%m-%d %H:%M", time.localtime(info.created))
        rows.append((mark, info.run, status, info.engine.rpartition(":")[2], info.model, began, info.task))
    if not rows:
        return Remark("no run is recorded yet: %agent TASK starts one")
    left = len(listed) - len(rows)
    note = f"and {left} older ones: %agent runs --all" if left else ""
    return Table(("", "run", "status", "engine", "model", "begun", "task"), rows, note)


@command()
def tools(session: Session, args: Args) -> Any:
    """List what `-t` may name: the built-in boxes, and your variables that hold a tool or a toolbox."""
    offered = {word.strip() for word in session.settings.tools.split(",")}
    boxes = {name: builtin.box(name) for name in builtin.BOXES}
    rows = []
    for name, held in {**boxes, **namespace.tools_in(session.names)}.items():
        for tool in [held] if isinstance(held, Tool) else held:
            rows.append(
                (name, tool.name, _needs(tool), tool.effect, "yes" if name in offered else "", tool.description)
            )
    note = "-t takes any function of yours, too; `-t none` offers no tools"
    return Table(("-t", "tool", "arguments", "effect", "offered", "about"), rows, note)


def _needs(tool: Tool) -> str:
    from agentkit.tools.json_schema import describe_parameters

    return describe_parameters(tool.parameters)


@command(Argument("signals", nargs="*", metavar="SIGNAL", help="what the task shows; the table lists the signals"))
def engines(session: Session, args: Args) -> Any:
    """Say which engine fits which task, or the task that shows these signals."""
    chosen = recommend.recommend(*args.signals) if args.signals else recommend.TABLE
    rows = [(c.signal, c.task, c.engine, "yes" if c.available else "not yet", c.why, c.cost) for c in chosen]
    named = {choice.engine for choice in recommend.TABLE}
    if not args.signals:
        rows += [
            ("", "", name, "yes", registry.find(name)[0].__doc__ or "", "")
            for name in registry.ENGINES
            if name not in named
        ]
    note = "-e takes a generator function of yours, too, and module:function"
    return Table(("signal", "the task", "engine", "here", "why", "cost"), rows, note)


@command()
def models(session: Session, args: Args) -> Any:
    """List the models that were found, and say which one is used when none is named, and why."""
    chosen, why = _chosen(session)
    found = resolve.list_all()
    found |= {
        name: f"your variable: {held!r}" for name, held in session.names.items() if namespace.is_model(name, held)
    }
    if chosen not in found:
        found[chosen] = "the one that is named" if resolve.is_name(chosen) else "named, but not found"
    rows = [("*" if name == chosen else "", name, about) for name, about in found.items()]
    return Table(("", "model", "about"), rows, f"* {chosen} answers when no -m is given: {why}")


def _chosen(session: Session) -> tuple[str, str]:
    """Say which model is used when none is named."""
    if session.settings.model:
        named = session.settings.model
        return named if isinstance(named, str) else repr(named), "%config AgentMagics.model says so"
    choice = resolve.choose()
    return choice.name, choice.why


@verb(
    Argument("path", nargs="?", metavar="FILE", help=f"a new file; its ending says the format: {', '.join(FORMATS)}"),
    Argument("--force", action="store_true", help="write over a file that is there"),
    Argument("--cells", action="store_true", help="put the run's actions into a new cell below this one, as code"),
)
def export(session: Session, run: Run, args: Args) -> Any:
    """Write a run to a file, or to a cell below this one."""
    if args.cells:
        session.shell.set_next_input(_as_code(run, args.run or VARIABLE))
        return Remark("the actions of the run are in the next cell")
    if not args.path:
        raise UsageError("%agent export FILE: the file is missing; or --cells, for a cell below this one")
    path = Path(args.path).expanduser()
    if path.suffix not in FORMATS:
        raise Unknown("format", path.suffix or path.name, FORMATS)
    if path.exists() and not args.force:
        raise UsageError(f"{path} is there already; --force writes over it")
    try:
        if path.suffix == ".json":
            path.write_text(json.dumps(formats.to_json(run), indent=1) + "\n", encoding="utf-8")
        else:
            getattr(formats, FORMATS[path.suffix])(run, path)
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror or error}") from None
    return Remark(f"written: {path}")


def _as_code(run: Run, variable: str) -> str:
    """Write the actions of a run as code that plays them: literals only, nothing that a model or a tool wrote is code."""
    if not variable.isidentifier():
        raise UsageError(
            f"-r {variable}: the cell needs the run in a variable, and this is none; %agent resume {variable} -o run"
        )
    played = playback.calls(run.entries)
    if not played:
        raise UsageError("the run has no actions yet")
    shown = [f"display({literal.call(number, call.name, call.arguments)})" for number, (call, _) in played.items()]
    return "\n".join([_PLAYER.format(variable), *shown])


@command(Argument("about", nargs="?", metavar="COMMAND", help="one of the commands"))
def help_(session: Session, args: Args) -> Any:
    """List the commands, or explain one."""
    if args.about:
        if args.about not in COMMANDS:
            raise Unknown("command", args.about, COMMANDS)
        return Remark(COMMANDS[args.about].parser.format_help().replace("::\n\n  %", "%", 1).strip())
    return Remark("\n".join(_overview()))


def _overview() -> Iterator[str]:
    yield "%agent [options] TASK   start a run; %agent? lists the options"
    yield "%%agent [options]       the same, with the task in the cell's body"
    yield "%agent COMMAND …        on the current run, or on another with -r RUN:"
    for name, found in COMMANDS.items():
        yield f"  {name:<8} {found.about}"
