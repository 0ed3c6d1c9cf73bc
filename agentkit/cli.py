"""The command line: `agentkit run`, `chat`, `runs`, `models`, `engines`, `tools`, `replay`, `export`, `resume`, …"""

from __future__ import annotations

import importlib
import io
import json
import logging
import operator
import os
import secrets
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, TextIO, get_args

import typer
from typer.core import TyperGroup

from agentkit import audit
from agentkit import export as exports
from agentkit import journal as journals
from agentkit.agent.agent import Agent, runs
from agentkit.config import plugins
from agentkit.core.log import logger
from agentkit.core.steps import Loop
from agentkit.core.text import counted, error_line
from agentkit.engines import recommend, registry
from agentkit.errors import AgentkitError, JournalInUse, Unknown, UsageError
from agentkit.export import files
from agentkit.export.tables import Table, to_text
from agentkit.gates import permission_file
from agentkit.gates.permissions import MODES, Permissions
from agentkit.gates.permissions import Table as PermissionTable
from agentkit.inert import for_terminal
from agentkit.journal import open_journal
from agentkit.models import resolve
from agentkit.models.dialects import DIALECTS
from agentkit.run import permits, signals
from agentkit.run.followed import asked_to, me
from agentkit.run.run import Result, Run, choices
from agentkit.tools import builtin
from agentkit.tools.builtin import NO_TOOLS
from agentkit.tools.tool import Effect
from agentkit.tools.toolset import ToolSet


class Commands(TyperGroup):
    """The commands. An error that is not a bug is printed in one line, and the exit code is 1."""

    def invoke(self, ctx: Any) -> Any:
        """Perform a command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # typer ends quietly when the reader of a pipe has enough
        except AgentkitError as error:
            raise _fail(str(error)) from error
        except (OSError, sqlite3.Error) as error:
            raise _fail(error_line(error)) from error


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Step, watch and replay agent loops.",
    epilog=(
        "The exit code is 0 if the command did what it should; 1 if it failed, if something is damaged, or if a run "
        "waits for a person; 2 if there is no such command or option; 130 after Ctrl-C."
    ),
    context_settings={
        "color": True,  # typer need not strip escapes: they are printed as visible text
        "max_content_width": 120,
        "help_option_names": ["-h", "--help"],
    },
    rich_markup_mode=None,  # rich would read markup into what models write
    pretty_exceptions_enable=False,
)


def _models(incomplete: str) -> list[str]:
    return [name for name in (*resolve.KNOWN, *plugins("models"), *resolve.PREFIXES) if name.startswith(incomplete)]


def _engines(incomplete: str) -> list[str]:
    return [name for name in (*registry.ENGINES, *plugins("engines")) if name.startswith(incomplete)]


def _toolboxes(incomplete: str) -> list[str]:
    before, comma, last = incomplete.rpartition(",")
    names = [*builtin.NAMES, *plugins("toolboxes"), *([] if comma else [NO_TOOLS])]
    return [f"{before}{comma}{name}" for name in names if name.startswith(last) and name not in before.split(",")]


def _dialects(incomplete: str) -> list[str]:
    return [name for name in DIALECTS if name.startswith(incomplete)]


def _formats(incomplete: str) -> list[str]:
    return [name for name in (*files.FORMATS, EVENTS) if name.startswith(incomplete)]


def _runs(incomplete: str) -> list[str]:
    return [info.run for info in runs(_journal(), prefix=incomplete)]


ID_HELP = "the id of the run, or the beginning of it"
Id = Annotated[str, typer.Argument(metavar="ID", help=ID_HELP, autocompletion=_runs)]
Model = Annotated[
    str | None, typer.Option("--model", "-m", help="another model, as `models` lists them", autocompletion=_models)
]
OtherTools = Annotated[
    str | None,
    typer.Option("--tools", "-t", help="other toolboxes, separated by commas", autocompletion=_toolboxes),
]
Servers = Annotated[
    list[str] | None,
    typer.Option("--mcp", metavar="COMMAND", help="the tools of an MCP server: its command in quotes, or its URL"),
]
AsJson = Annotated[bool, typer.Option("--json", help="print JSON, for other programs")]
ORDINARY_TOOLS = ",".join(builtin.BOXES)
OwnModel = Annotated[
    str | None, typer.Option("--model", "-m", help="a model, as `models` lists them", autocompletion=_models)
]
OwnEngine = Annotated[
    str,
    typer.Option(
        "--engine", "-e", help="an engine, as `engines` lists them, or module:function", autocompletion=_engines
    ),
]
OwnTools = Annotated[
    str,
    typer.Option(
        "--tools",
        "-t",
        help="toolboxes, as `tools` lists them, separated by commas; or none",
        autocompletion=_toolboxes,
    ),
]
MaxSteps = Annotated[
    int | None, typer.Option("--max-steps", "-n", help="the maximum number of iterations of the engine's loop")
]
Tags = Annotated[
    list[str] | None,
    typer.Option("--tag", metavar="NAME=VALUE", help="a tag of the run; can be given several times"),
]
EngineOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="NAME=VALUE", help="an option of the engine; can be given several times"),
]
Dialect = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="how the model calls tools: text, json or native", autocompletion=_dialects),
]
Context = Annotated[
    list[str] | None,
    typer.Option(metavar="FILE", help="notes about the project, such as AGENTS.md#Testing; can be given several times"),
]


@app.command()
def run(
    task: Annotated[str, typer.Argument(help="the task for the agent; - reads it from the standard input")],
    model: OwnModel = None,
    engine: OwnEngine = "react",
    tools: OwnTools = ORDINARY_TOOLS,
    servers: Servers = None,
    max_steps: MaxSteps = None,
    option: EngineOptions = None,
    dialect: Dialect = None,
    context: Context = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="print each step")] = False,
    name: Annotated[
        str, typer.Option("--name", help="the id of the run; a run of this name goes on, or prints what it answered")
    ] = "",
    tag: Tags = None,
) -> None:
    """Run a task to its end, and print the answer."""
    if verbose:
        _log_to_stderr()
    loop = _loop(engine, max_steps, option)
    agent = _agent(model, tools, servers, engine=loop, dialect=dialect, context=context or None)
    started = agent.start(_task(task), paused=True, name=name, tags=_tags(tag))
    how = f"agentkit resume {started.id}{f' -e {engine}' if ':' in engine else ''}"
    result = _drive(started, how)
    if result.error:
        raise _fail(error_line(result.error), f"nothing is lost: {how}")
    typer.echo(result.answer)
    if started.waiting:
        raise _fail(started.waiting[0][1].why, how)


@app.command()
def chat(
    model: OwnModel = None,
    engine: Annotated[
        str | None,
        typer.Option("--engine", "-e", help="an engine, as for `run`; react without it", autocompletion=_engines),
    ] = None,
    tools: Annotated[
        str | None,
        typer.Option("--tools", "-t", help="toolboxes, as for `run`, separated by commas", autocompletion=_toolboxes),
    ] = None,
    servers: Servers = None,
    max_steps: MaxSteps = None,
    option: EngineOptions = None,
    dialect: Dialect = None,
    context: Context = None,
    permissions: Annotated[
        str | None, typer.Option("--permissions", "-p", metavar="MODE", help=f"a mode: {', '.join(MODES)}")
    ] = None,
    session: Annotated[
        str, typer.Option("--session", "-s", metavar="NAME", help="the name of a conversation, to begin or continue it")
    ] = "",
    resumed: Annotated[
        str | None,
        typer.Option("--resume", "-r", metavar="ID", help=f"pick up a run: {ID_HELP}", autocompletion=_runs),
    ] = None,
) -> None:
    """Talk with an agent: each message starts a run, whose steps you see, and about which you decide.

    Type /help for the commands, and exit to end. Without a terminal, each line of the standard input is a message.
    """
    from agentkit.terminal.talk import talk

    run, user = None, ""
    if resumed is None:
        loop, boxes = _loop(engine or "react", max_steps, option), ORDINARY_TOOLS if tools is None else tools
        agent = _agent(
            model, boxes, servers, engine=loop, dialect=dialect, context=context or None, permissions=permissions
        )
    else:
        opener = _opener(model, tools, engine, servers).using(permissions=permissions)
        run = _resume(opener, _full_id(resumed), ())
        if run.read_only:
            raise _fail(*_without(run))
        about = run.task.get("session", {})
        agent, session, user = run.agent, session or about.get("id", ""), about.get("user", "")
    raise typer.Exit(talk(agent, session=session, user=user, find_engine=_find, run=run))


@app.command()
def watch(
    id: Id,
    as_json: Annotated[bool, typer.Option("--json", help="print each event as JSON, one per line")] = False,
) -> None:
    """Follow a run that another process drives, until it is over or you press Ctrl-C. Nothing is written.

    When the run waits for a person, a line says so, and for what.
    """
    try:
        from agentkit.terminal.watch import watch as follow_run

        follow_run(_full_id(id), _journal(), as_json=as_json)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _loop(engine: str, max_steps: int | None, option: list[str] | None) -> Loop:
    """Return an engine with its options."""
    found = _find(engine)
    limit = {} if max_steps is None else {registry.loop_limit(found): max_steps}
    return Loop(found, **{**limit, **dict(map(_name_and_value, option or ()))})


def _find(engine: str) -> registry.Engine:
    """Return an engine by its name or import path; modules of the current folder can be imported, as with `python`."""
    if ":" in engine and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    return registry.find(engine)[0]


def _name_and_value(text: str) -> tuple[str, Any]:
    """Return the name and the value of an option. A value that is not JSON is a text."""
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--option takes NAME=VALUE, such as max_iterations=5, not {text!r}")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _task(argument: str) -> str:
    """Return the task. It is read as UTF-8, whatever the locale."""
    source = " from the standard input" if argument == "-" else ""
    data = sys.stdin.buffer.read() if source else argument.encode(errors="surrogateescape")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise UsageError(f"the task{source} must be UTF-8 text: {error}") from None


def _drive(run: Run, how: str) -> Result:
    """Drive a run. After Ctrl-C, say how to go on; the exit code is then 130, as a shell expects."""
    try:
        return run.drive()
    except KeyboardInterrupt:
        raise _fail(f"interrupted; nothing is lost: {how}", code=130) from None


@app.command("runs")
def list_runs(
    as_json: AsJson = False,
    prefix: Annotated[str, typer.Option("--prefix", help="only runs whose id begins so")] = "",
    tag: Tags = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="go on, and show what changes; Ctrl-C ends it")
    ] = False,
) -> None:
    """List the recorded runs, newest first; with --tag, those that have all these tags.

    With --follow, the list of a terminal is kept up to date; in a pipe, each change is a line of its own.
    """
    from agentkit.terminal import listing

    tags = _tags(tag)
    if follow:
        try:
            return listing.follow_runs(_journal(), prefix, tags, as_json=as_json)
        except KeyboardInterrupt:
            raise typer.Exit(130) from None
    listed = runs(_journal(), prefix=prefix, tags=tags)
    has_tags = ["tags"] if any(each.tags for each in listed) else []
    columns = ["run", "status", "rows", "engine", "model", *has_tags, "task"]
    records = [asdict(info) for info in listed]
    if not as_json:
        texts = [{"engine": _short(info.engine), "tags": listing.tags_text(info)} for info in listed]
        records = [{**each, **text} for each, text in zip(records, texts, strict=True)]
    _print_list(records, columns, as_json)


def _tags(texts: list[str] | None) -> dict[str, str]:
    """Return the tags of an option, by name. Raises `UsageError` for a text without a name."""
    for text in texts or ():
        if text.find("=") < 1:
            raise UsageError(f"--tag takes NAME=VALUE, such as experiment=prices, not {text!r:.100}")
    return dict(text.split("=", 1) for text in texts or ())


def _short(engine: str) -> str:
    return engine.rpartition(":")[2]


@app.command()
def models(as_json: AsJson = False) -> None:
    """List the available models, and the default one."""
    default, available = resolve.choose(), resolve.list_all()
    if default.name not in available:
        available = {default.name: default.why, **available}
    records = [
        {"": "*" if name == default.name else "", "model": name, "description": about, "default": name == default.name}
        for name, about in available.items()
    ]
    note = f"* {default.name} is used without -m: {default.why}"
    _print_list(records, ["", "model", "description"], as_json, note)


@app.command()
def engines(as_json: AsJson = False) -> None:
    """List the engines, and the tasks that they fit."""
    fits = {choice.engine: choice for choice in recommend.TABLE}
    records = []
    for name in (*registry.ENGINES, *plugins("engines")):
        choice, about = fits.get(name), _first_line(registry.load_engine(name).__doc__)
        task, why, cost = (choice.task, choice.why, choice.cost) if choice else ("", about, "")
        records.append({"engine": name, "task": task, "why": why, "cost": cost, "description": about})
    note = "-e also takes module:function, a generator function of your own"
    _print_list(records, ["engine", "task", "why", "cost"], as_json, note)


def _first_line(docstring: str | None) -> str:
    return (docstring or "").strip().partition("\n")[0]


@app.command()
def tools(as_json: AsJson = False) -> None:
    """List the toolboxes that -t can name, and their tools."""
    from agentkit.tools.json_schema import describe_parameters

    records = [
        {
            "toolbox": name,
            "tool": tool.name,
            "arguments": describe_parameters(tool.parameters),
            "effect": tool.effect,
            "description": _first_line(tool.description),
            "schema": tool.parameters,
        }
        for name, toolbox in {**builtin.listed(), **{name: builtin.box(name) for name in plugins("toolboxes")}}.items()
        for tool in ToolSet.of([toolbox])
    ]
    note = f"without -t, a run has {', '.join(builtin.BOXES)}; with -t {NO_TOOLS}, no tools"
    _print_list(records, ["toolbox", "tool", "effect", "description", "arguments"], as_json, note)


@app.command()
def replay(id: Id) -> None:
    """Print the trace of a run, as it is now. Nothing is written, and another process may be driving the run."""
    typer.echo(repr(_look(id)))


@app.command()
def profile(
    id: Id,
    as_json: AsJson = False,
    folded: Annotated[
        bool, typer.Option("--folded", help="print collapsed stacks, for programs that draw flame graphs")
    ] = False,
) -> None:
    """Print where the time, the tokens and the money of a run went. The run itself is only read."""
    found = _look(id).profile()
    typer.echo(json.dumps(found.data()) if as_json else found.folded() if folded else repr(found))


@app.command()
def export(
    id: Id,
    to: Annotated[
        str | None,
        typer.Option(
            "--to",
            metavar="FORMAT",
            help=f"{', '.join(files.FORMATS)}, or events: one per line, as JSON",
            autocompletion=_formats,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="a new file; its ending sets the format")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="overwrite the file")] = False,
) -> None:
    """Print a run, or write it to a file.

    Without a format, its events are printed. The run itself is only read.
    """
    known = (*files.FORMATS, EVENTS)
    if to is not None and to not in known:
        raise Unknown("format", to, known)
    if output is None:
        _print_export(_look(id), to or EVENTS)
        return
    if to == EVENTS:
        raise UsageError(f"events are only printed; to write them to a file, use: agentkit export {id} > FILE")
    if output.is_file() and not force:
        raise UsageError(f"{str(output)!r} already exists; --force overwrites it")
    write = getattr(exports, f"to_{to or files.format_of(output)}")
    write(_look(id), output, overwrite=force)


EVENTS = "events"


def _print_export(run: Run, format: str) -> None:
    """Print a run. JSON is in ASCII, so that nothing in it is replaced by an escape that is not JSON."""
    if format == EVENTS:
        for event in run.events():
            typer.echo(json.dumps(event.to_dict(), default=str))
        return
    exported = getattr(exports, f"to_{format}")(run)
    typer.echo(exported.rstrip("\n") if isinstance(exported, str) else json.dumps(exported, indent=1))


@app.command()
def resume(
    id: Id,
    model: Model = None,
    engine: Annotated[
        str | None,
        typer.Option("--engine", "-e", metavar="MODULE:FUNCTION", help="its engine, if it is your own"),
    ] = None,
    tools: OtherTools = None,
    servers: Servers = None,
    reuse: Annotated[
        bool, typer.Option("--reuse", help="use the result of the earlier call, instead of repeating it")
    ] = False,
    approve: Annotated[bool, typer.Option("--approve", help="approve the call that waits, or more budget")] = False,
    reject: Annotated[str | None, typer.Option("--reject", help="reject the call that waits, with a comment")] = None,
    respond: Annotated[
        str | None,
        typer.Option("--respond", help="answer the question, or give the result of the call in place of the tool"),
    ] = None,
    waive: Annotated[
        list[str] | None,
        typer.Option(
            "--waive", metavar="GUARD", help="continue without functions that guarded the run: approve or breakpoints"
        ),
    ] = None,
) -> None:
    """Continue a run whose process has ended.

    Its engine, options, model and guards are those of the recording. In a terminal, you are asked about a call that
    waits.
    """
    resumed = _resume(_opener(model, tools, engine, servers), _full_id(id), waive or ())
    if engine is not None and registry.find(engine)[1] != resumed.task["engine"]:
        resumed.close()
        has = resumed.task["engine"].rpartition(":")[2]
        raise UsageError(f"the engine of this run is {has}; for another one: agentkit fork {id} -e {engine}")
    if resumed.read_only:
        raise _fail(*_without(resumed))
    how = f"agentkit resume {resumed.id}{f' -e {engine}' if engine else ''}"
    result = _drive(resumed, how)
    given = {"reuse": reuse or None, "approve": approve or None, "reject": reject, "respond": respond}
    decision = next(((name, text) for name, text in given.items() if text is not None), None)
    while resumed.waiting and (decision or _is_terminal()):
        _decide(resumed, *(decision or _ask(resumed)))
        decision, result = None, _drive(resumed, how)
    if result.error:
        raise _fail(error_line(result.error), f"nothing is lost: {how}")
    if resumed.waiting:
        typer.echo(repr(resumed))
        flags = ", ".join(f"--{name}" for name in choices(*resumed.waiting[0]))
        raise _fail(resumed.waiting[0][1].why, f"to decide: {how} with one of {flags}")
    typer.echo(result.answer)


def _resume(opener: Agent, id: str, waive: Iterable[str]) -> Run:
    """Return a run whose process has ended, opened by an agent."""
    try:
        return opener.resume(id, waive=waive)
    except JournalInUse as error:
        raise _fail(str(error), f"agentkit watch {id} follows it, and agentkit fork {id} forks it") from error


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty()


def _ask(run: Run) -> tuple[str, Any]:
    """Ask the person what to do about the step that waits; the default is to use the earlier result, if any."""
    pending, verdict = run.waiting[0]
    names = choices(pending, verdict)
    typer.echo(repr(run))
    default = names[0] if names[0] == "reuse" or len(names) == 1 else None
    question = f"Decide ({', '.join(names)})"
    while (name := typer.prompt(question, default=default)) not in names:
        typer.echo(f"{name!r} is not one of these")
    text = {"reject": "Comment for the model", "respond": "The answer, or the result of the call"}.get(name)
    return name, True if text is None else typer.prompt(text, default="" if name == "reject" else None)


def _decide(run: Run, name: str, text: Any) -> None:
    getattr(run, name)(*([] if text is True else [text]))


@app.command()
def fork(
    id: Id,
    at: Annotated[int | None, typer.Option("--at", help="the entry after which the new run continues")] = None,
    model: Model = None,
    engine: Annotated[
        str | None, typer.Option("--engine", "-e", help="another engine", autocompletion=_engines)
    ] = None,
    tools: OtherTools = None,
) -> None:
    """Make a new run with the past of another.

    Its id is printed. Another process may be driving the other run.
    """
    named: dict[str, Any] = {
        "model": model,
        "engine": None if engine is None else _find(engine),
        "tools": None if tools is None else builtin.boxes(tools),
    }
    forked = Agent(journal=_journal()).fork(
        _full_id(id), at, **{name: value for name, value in named.items() if value is not None}
    )
    forked.close()
    typer.echo(forked.id)
    typer.echo(for_terminal(forked.forecast), err=True)
    typer.echo(f"agentkit resume {forked.id} continues it", err=True)


permissions_app = typer.Typer(cls=Commands, help="List, explain and test the rules about what agents may call.")
app.add_typer(permissions_app, name="permissions")


@permissions_app.callback(invoke_without_command=True)
def permissions(context: typer.Context, as_json: AsJson = False) -> None:
    """List the rules of your settings file, in the order in which they count, or explain or test them."""
    if context.invoked_subcommand is not None:
        return
    file, table = permission_file.path(), permission_file.read()
    if as_json:
        typer.echo(json.dumps({"file": str(file), **table.to_json()}, indent=1))
        return
    columns = ["source", "number", "says", "why"]
    rows = [dict(zip(columns, row, strict=True)) for row in Permissions().with_table(table).rows]
    _print_list(rows, columns[1:], as_json=False, note=f"{file}{'' if file.exists() else ' does not exist yet'}")


@permissions_app.command("test")
def test_permissions(
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="the name of a tool")],
    arguments: Annotated[str | None, typer.Option("--arguments", "-a", metavar="JSON", help="its arguments")] = None,
    effect: Annotated[
        str | None, typer.Option("--effect", help="pure, idempotent or irreversible, of a tool of your own")
    ] = None,
    mode: Annotated[
        str | None, typer.Option("--mode", help=f"the mode of the agent: {', '.join(MODES)}; without it, none")
    ] = None,
) -> None:
    """Print what would happen to a call, and why. Nothing is called."""
    if effect is not None and effect not in get_args(Effect):
        raise Unknown("effect", effect, get_args(Effect))
    known = {found.name: found for name in builtin.BOXES for found in ToolSet.of([builtin.box(name)])}
    rules = Permissions().with_table(permission_file.read())
    if mode is not None:
        rules = rules.with_table(PermissionTable.of(mode))
    found = known.get(tool, tool) if effect is None else tool
    judgment = permits.judge_named(rules, found, permits.arguments_of(arguments), effect)  # type: ignore[arg-type]
    typer.echo(f"{judgment.outcome}: {judgment.why or 'no rule matches it, and there is no mode'}")


@permissions_app.command()
def explain(id: Id, as_json: AsJson = False) -> None:
    """Print why each call of a run was made, asked about, or not made."""
    rows = [dict(zip(permits.HEADER, row, strict=True)) for row in permits.explanations(_look(id))]
    _print_list(rows, permits.HEADER, as_json)


audit_app = typer.Typer(cls=Commands, no_args_is_help=True, help="Check an audit log.")
app.add_typer(audit_app, name="audit")


@audit_app.command("verify")
def verify_audit(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="the audit log")],
    last: Annotated[
        str, typer.Option("--last", metavar="HASH", help="the hash of a line that you kept, which must be there")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List the lines of an audit log that were changed, removed, moved or added.

    The hash of the last line is printed: keep it elsewhere, and pass it to --last later to check that nothing was
    cut off. The exit code is 1 if anything is wrong.
    """
    report = audit.verify(file, last)
    if as_json:
        typer.echo(json.dumps({**asdict(report), "path": str(report.path), "is_sound": report.is_sound}, indent=1))
    else:
        for problem in report.problems:
            typer.echo(str(problem))
        verdict = "intact" if report.is_sound else f"damaged ({counted(len(report.problems), 'problem')})"
        typer.echo(f"{counted(report.lines, 'line')}, {verdict}; the last hash is {report.last}")
        if report.cut:
            typer.echo(report.cut)
    if not report.is_sound:
        raise typer.Exit(1)


@app.command()
def check(
    paths: Annotated[
        list[str] | None,
        typer.Argument(metavar="PATH", help="exported runs: JSON or JSONL files, folders, or patterns in quotes"),
    ] = None,
    agent: Annotated[
        str | None,
        typer.Option("--agent", "-a", metavar="MODULE:AGENT", help="the agent to test; without it, the recorded one"),
    ] = None,
    call: Annotated[bool, typer.Option("--call", help="call tools again that are declared pure")] = False,
    tag: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="NAME=VALUE", help="also the runs in the journal that have all these tags"),
    ] = None,
    summary: Annotated[
        Path | None, typer.Option("--summary", metavar="FILE", help="append a summary in Markdown to this file")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Play recorded runs against today's code, and show the first step of each that differs.

    No model is asked, and no tool is called without --call. The exit code is 1 if anything differs or cannot be played.
    """
    from agentkit.experiments.regression import replay as play

    tags = _tags(tag)
    tagged = runs(_journal(), tags=tags) if tags else []
    if tags and not tagged:
        raise UsageError(f"no run in the journal has the tags {', '.join(tag or ())}; agentkit runs lists them")
    recordings = [*(paths or ()), *tagged]
    if not recordings:
        raise UsageError("name files or folders of exported runs, or --tag NAME=VALUE of runs in the journal")
    tested = _find_agent(agent) if agent else None
    found = play(recordings, tested, tools="call" if call else "recorded", journal=_journal())
    if as_json:
        typer.echo(json.dumps([result.record() for result in found], indent=1))
    else:
        typer.echo(repr(found))
    if summary is not None:
        try:
            with summary.open("a", encoding="utf-8", errors="replace") as file:
                file.write(found.to_markdown())
        except OSError as error:
            raise UsageError(f"the summary could not be written: {error}") from None
    if not found.is_same:
        raise typer.Exit(1)


@app.command()
def signal(
    id: Id,
    name: Annotated[str, typer.Argument(metavar="NAME", help="the name of the signal")],
    value: Annotated[str | None, typer.Argument(metavar="TEXT", help="its value")] = None,
    is_json: Annotated[bool, typer.Option("--json", help="the text is a JSON value")] = False,
) -> None:
    """Send a signal to a run, for a tool that waits with wait_for_signal, now or later.

    Another process may be driving the run.
    """
    id = _full_id(id)
    if next(info for info in runs(_journal(), prefix=id) if info.run == id).status == "done":
        raise UsageError(f"run {id} is over, so nothing waits for a signal")
    try:
        data = json.loads(value) if is_json and value is not None else value
    except ValueError as error:
        raise UsageError(f"this is not JSON ({error}): {value}") from None
    signals.send(id, name, data)


@app.command("wish")
def ask_for(
    id: Id,
    what: Annotated[str, typer.Argument(metavar="WHAT", help="pause, stop, or inject (a message)")],
    text: Annotated[str, typer.Argument(metavar="TEXT", help="why, or the message")] = "",
    author: Annotated[str, typer.Option("--author", help="who asks; by default, the user of this machine")] = "",
) -> None:
    """Ask the process that holds a run to pause it, to stop it, or to send a message to its model.

    It does so within about a second, and the run records who asked.
    """
    from agentkit.terminal.watch import wish

    journal: Any = open_journal(_journal())
    run = _full_id(id)
    holder = next(info.holder for info in journal.runs(run) if info.run == run)
    wish(journal, run, what, text, author or me())
    typer.echo(f"asked {for_terminal(holder) or 'the process that holds it'} to {asked_to(what)}")


@app.command()
def delete(id: Id) -> None:
    """Delete a recorded run."""
    journal = open_journal(_journal())
    assert journal is not None
    id = _full_id(id)
    journal.delete(id)
    signals.forget(id)


@app.command("mcp")
def serve_mcp(
    tools: OwnTools = ORDINARY_TOOLS,
    agent: Annotated[
        bool,
        typer.Option(
            "--agent", "-a", help="serve one tool, `ask`: an agent with these tools and this model and engine"
        ),
    ] = False,
    model: OwnModel = None,
    engine: OwnEngine = "react",
    port: Annotated[
        int | None,
        typer.Option("--http", metavar="PORT", help="serve over HTTP on this machine, instead of stdin and stdout"),
    ] = None,
) -> None:
    """Serve tools, or an agent, to other programs over the Model Context Protocol.

    Over HTTP, clients need the token that is printed, or the one in the variable AGENTKIT_MCP_TOKEN.
    """
    from agentkit.mcp import serve

    served = _agent(model, tools, engine=_find(engine)) if agent else builtin.boxes(tools)
    server = serve(served)
    if port is None:
        server.run()
        return
    token = os.environ.get("AGENTKIT_MCP_TOKEN") or secrets.token_urlsafe(24)
    typer.echo(f"http://127.0.0.1:{port}/mcp, for clients that send Authorization: Bearer {token}", err=True)
    server.run_http(port, token)


@app.command()
def serve(
    agent: Annotated[
        str | None,
        typer.Argument(metavar="MODULE:AGENT", help="an agent of your own, instead of one made from the options"),
    ] = None,
    model: OwnModel = None,
    engine: OwnEngine = "react",
    tools: OwnTools = ORDINARY_TOOLS,
    port: Annotated[int, typer.Option("--port", "-p", help="the port; 0 is a free one")] = 8000,
    host: Annotated[
        str, typer.Option("--host", help="the address to listen on; any but the default needs --name and a token")
    ] = "127.0.0.1",
    name: Annotated[
        list[str] | None, typer.Option("--name", help="another name of the server, besides those of this machine")
    ] = None,
) -> None:
    """Serve the runs of an agent: pages in a browser, and streams of events.

    The printed address contains the token that lets you in: the one in the variable AGENTKIT_SERVE_TOKEN, or else a new
    one. The token in AGENTKIT_SERVE_WATCH_TOKEN is for watching only. Ctrl-C ends the server, and pauses the runs.
    """
    from agentkit.serve import serve as start

    served = _find_agent(agent) if agent else _agent(model, tools, engine=_find(engine))
    token = os.environ.get("AGENTKIT_SERVE_TOKEN", "")
    server = start(served, port=port, host=host, hosts=name or (), token=token)
    try:
        server.wait()
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _find_agent(path: str) -> Agent:
    """Return an agent by its import path; modules of the current folder can be imported, as with `python`.

    Raises `UsageError`.
    """
    module, colon, name = path.partition(":")
    if not colon or not name:
        raise UsageError(f"name an agent as MODULE:AGENT, such as shop:agent, not {path!r}")
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    try:
        found = operator.attrgetter(name)(importlib.import_module(module))
    except (ImportError, AttributeError) as error:
        raise UsageError(f"cannot find the agent {path}: {error}") from error
    if not isinstance(found, Agent):
        raise UsageError(f"{path} is not an Agent, it is {type(found).__name__}")
    return found


@app.command()
def version() -> None:
    """Print the version."""
    from importlib.metadata import version as installed_version

    typer.echo(installed_version("jupyter-agentkit"))


def _version_option(is_set: bool) -> None:
    if is_set:
        version()
        raise typer.Exit


@app.callback()
def options(
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version_option, is_eager=True)
    ] = False,
    journal: Annotated[
        str,
        typer.Option(
            metavar="JOURNAL",
            envvar="AGENTKIT_JOURNAL",
            help="a journal instead of your own: a file, or postgresql://USER@HOST/DATABASE",
        ),
    ] = "sqlite",
) -> None:
    """Step, watch and replay agent loops."""
    _chosen["journal"] = journal


_chosen = {"journal": ""}


def _journal() -> str:
    """Return the journal that was named; completion asks for it before the command line is parsed."""
    return _chosen["journal"] or os.environ.get("AGENTKIT_JOURNAL") or "sqlite"


@app.command()
def migrate() -> None:
    """Make the tables of a journal on PostgreSQL, or bring them up to date.

    Name the journal with --journal or AGENTKIT_JOURNAL, and the role that owns the tables as its user.
    """
    before, after = journals.migrate(_journal())
    typer.echo(f"version {after}" + ("" if before == after else f", before {before or 'none'}"))


def _log_to_stderr() -> None:
    """Print the log of the run: the lines of level DEBUG with the name of the level, the others without."""

    class Formatter(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            text = super().format(record)
            return f"DEBUG: {text}" if record.levelno == logging.DEBUG else text

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Formatter())
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)


def _print_list(records: list[dict[str, Any]], columns: list[str], as_json: bool, note: str = "") -> None:
    """Print records as a table of some columns, or as JSON with all fields that have a name.

    The lines of a table are cut at the width of the terminal; in a pipe, nothing is cut.
    """
    if as_json:
        named = [{name: value for name, value in record.items() if name} for record in records]
        typer.echo(json.dumps(named, indent=1))
        return
    table = Table(columns, [[str(record[name]) for name in columns] for record in records], note)
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    typer.echo(to_text(table, cell_width=width or sys.maxsize, line_width=width))


def _agent(model: str | None, tools: str, servers: list[str] | None = None, **options: Any) -> Agent:
    return Agent(model, [*builtin.boxes(tools), *_mcp_servers(servers)], journal=_journal(), **options)


def _mcp_servers(servers: list[str] | None) -> list[Any]:
    if not servers:
        return []
    from agentkit.mcp import mcp

    return [mcp(server) for server in servers]


def _look(id: str) -> Run:
    return Agent(journal=_journal()).look(_full_id(id))


def _opener(model: str | None, tools: str | None, engine: str | None, servers: list[str] | None) -> Agent:
    found = _find("react" if engine is None else engine)  # a run keeps its recorded engine, if that is found
    return _agent(model, tools or "", servers, engine=found)


def _without(run: Run) -> list[str]:
    """Return why a run cannot be continued, and how it can."""
    options = {"model": "-m MODEL", "engine": "-e MODULE:FUNCTION", "tools": "-t TOOLS or --mcp COMMAND"}
    needed = [options[name] for name in dict.fromkeys(missing.option for missing in run.missing) if name in options]
    how = [f"agentkit resume {run.id} {' '.join(needed)} names what is missing"] if needed else []
    return [f"this run is read-only: {run.read_only}", *how]


def _full_id(prefix: str) -> str:
    return _matching(prefix, [info.run for info in runs(_journal(), prefix=prefix)])


def _matching(prefix: str, ids: list[str]) -> str:
    matches = [id for id in ids if id.startswith(prefix)]
    if not matches:
        raise UsageError(f"there is no run whose id begins with {prefix!r}; `agentkit runs` lists them")
    if len(matches) > 1:
        more = ", …" if len(matches) > 5 else ""
        shown = f"{', '.join(matches[:5])}{more}"
        raise UsageError(f"the ids of {len(matches)} runs begin with {prefix!r}: {shown}; type more of the id")
    return matches[0]


def _fail(*lines: str, code: int = 1) -> typer.Exit:
    """Print an error and what to do, and return the exit."""
    for line in lines:
        typer.echo(for_terminal(line), err=True)
    return typer.Exit(code)


@app.command("backup")
def back_up(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="the file to create")],
    file: Annotated[str, typer.Option("--file", metavar="FILE", help="a journal, instead of your own")] = "sqlite",
) -> None:
    """Copy the journal to a new file.

    Other processes may be writing to the journal.
    """
    started = shown = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal shown
        if time.monotonic() - shown > 1:
            shown = time.monotonic()
            typer.echo(f"{100 * done // total} % after {shown - started:.0f} s", err=True)

    count = journals.backup(path, _journal() if file == "sqlite" else file, progress)
    typer.echo(f"{counted(count, 'run')} copied to {path}")


@app.command("verify")
def verify_journal(
    id: Annotated[
        str, typer.Argument(metavar="ID", help="the id of one run, or the beginning of it", autocompletion=_runs)
    ] = "",
    file: Annotated[str, typer.Option("--file", metavar="FILE", help="a journal, instead of your own")] = "sqlite",
    as_json: AsJson = False,
) -> None:
    """Check that nothing recorded is damaged.

    The exit code is 1 if anything is damaged or missing.
    """
    verdicts = []
    file = _journal() if file == "sqlite" else file
    known = [info.run for info in runs(file, prefix=id)] if id else []
    for verdict in journals.verify(_matching(id, known) if id else "", file):
        verdicts.append({**asdict(verdict), "is_sound": verdict.is_sound})
        if not as_json:
            typer.echo("  ".join(filter(None, (verdict.run or "the file", verdict.state, verdict.text))))
    if as_json:
        typer.echo(json.dumps(verdicts, indent=1))
    if not all(verdict["is_sound"] for verdict in verdicts):
        raise typer.Exit(1)


class InertStream(io.TextIOBase):
    """A stream whose text is inert for a terminal. It has no `buffer` through which bytes could pass.

    This also holds if the output goes to a pipe or a file: `less -R`, `grep`, `tee` and `cat` bring it to a terminal
    later. What is needed to the last character is in the JSON of `export`, which is ASCII.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The encoding of the stream below."""
        return self._stream.encoding

    @property
    def errors(self) -> str:  # type: ignore[override]
        """How the stream below encodes what its encoding does not have."""
        return self._stream.errors or "strict"

    def write(self, text: str) -> int:
        """Write a text."""
        if not isinstance(text, str):
            raise TypeError(f"a text is expected, not {type(text).__name__}")
        self._stream.write(for_terminal(text, lines=True))
        return len(text)

    def flush(self) -> None:
        """Flush the stream below."""
        try:
            self._stream.flush()
        except OSError:  # a full disk, for example; Python flushes once more when it exits, and would report it again
            self._stream = io.StringIO()
            raise

    def isatty(self) -> bool:
        """Return whether the stream below is a terminal."""
        return self._stream.isatty()

    def fileno(self) -> int:
        """Return the number of the file below."""
        return self._stream.fileno()


def main() -> None:
    """Run the command line; everything that it prints is inert, also tracebacks, warnings and what tools print."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # it was closed, as with `>&-`
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  # for as long as the process lives
    for stream in (sys.stdout, sys.stderr):  # a locale that lacks a character must not lose an answer
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    sys.stdout, sys.stderr = InertStream(sys.stdout), InertStream(sys.stderr)
    app(prog_name="agentkit")


if __name__ == "__main__":
    main()
