"""The terminal: `agentkit run`, `runs`, `models`, `replay`, `export`, `resume`, `delete`, `version`."""

from __future__ import annotations

import json
import logging
import sys
from typing import Annotated, Any

import typer

from agentkit.agent.agent import Agent, runs
from agentkit.agent.log import attach, logger
from agentkit.core.steps import Loop
from agentkit.errors import AgentkitError
from agentkit.journal import open_journal
from agentkit.models import resolve
from agentkit.tools import builtin

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Step, watch and replay agent loops.")

Name = Annotated[str, typer.Argument(help="the run's id, or the beginning of it")]


@app.command()
def run(
    task: Annotated[str, typer.Argument(help="what the agent shall do")],
    model: Annotated[str | None, typer.Option("--model", "-m", help="offline, openai:NAME …; see models")] = None,
    engine: Annotated[str, typer.Option("--engine", "-e", help="react, or module:function")] = "react",
    tools: Annotated[str, typer.Option("--tools", "-t", help="toolboxes, by comma")] = ",".join(builtin.BOXES),
    max_steps: Annotated[int | None, typer.Option("--max-steps", "-n", help="model calls at most")] = None,
    dialect: Annotated[str | None, typer.Option(help="text, json or native")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="say each step")] = False,
) -> None:
    """Run a task to its end and print the answer."""
    if verbose:
        _speak()
    loop = Loop(engine) if max_steps is None else Loop(engine, max_iterations=max_steps)
    agent = _agent(model, tools, engine=loop, dialect=dialect)
    held = agent.start(task, paused=True)
    if verbose:
        attach(held)
    result = held.drive()
    if result.error:
        raise _fail(f"{type(result.error).__name__}: {result.error}\nnothing is lost: agentkit resume {held.id}")
    typer.echo(result.answer)
    if held.waiting:
        raise _fail(f"{held.waiting[0][1].why}\nagentkit resume {held.id}")


@app.command("runs")
def list_runs() -> None:
    """List the recorded runs, the newest first."""
    from rich.console import Console
    from rich.table import Table

    table = Table("run", "status", "rows", "engine", "model", "task", box=None)
    for info in runs():
        table.add_row(info.run, info.status, str(info.rows), info.engine.rpartition(":")[2], info.model, info.task[:60])
    Console().print(table)


@app.command()
def models() -> None:
    """List the models that were found, and say which one answers when none is named, and why."""
    from rich.console import Console
    from rich.table import Table

    try:
        chosen, found = resolve.choose(), resolve.list_all()
    except AgentkitError as error:
        raise _fail(str(error)) from error
    table = Table("", "model", "about", box=None)
    for name, about in {**({} if chosen.name in found else {chosen.name: chosen.why}), **found}.items():
        table.add_row("*" if name == chosen.name else "", name, about)
    Console(soft_wrap=True).print(table)
    typer.echo(f"* {chosen.name} answers when no -m is given: {chosen.why}")


@app.command()
def replay(name: Name) -> None:
    """Run the engine again on what was recorded, without any model or tool, and print the trace."""
    typer.echo(repr(_open(name, "offline")))


@app.command()
def export(name: Name) -> None:
    """Print all that was recorded of a run, one event per line, as JSON."""
    for event in _open(name, "offline").events():
        typer.echo(json.dumps(event.to_dict(), ensure_ascii=False, default=str))


@app.command()
def resume(name: Name, model: Annotated[str | None, typer.Option("--model", "-m")] = None) -> None:
    """Go on with a run whose process ended."""
    held = _open(name, model)
    if held.status == "done":
        typer.echo(held.answer)
        return
    result = held.drive()
    if result.error:
        raise _fail(f"{type(result.error).__name__}: {result.error}")
    typer.echo(result.answer if not held.waiting else repr(held))


@app.command()
def delete(name: Name) -> None:
    """Forget a recorded run."""
    journal = open_journal("sqlite")
    assert journal is not None
    try:
        journal.delete(_whole(name))
    except AgentkitError as error:
        raise _fail(str(error)) from error


@app.command()
def version() -> None:
    """Print the version."""
    from importlib.metadata import version as installed

    typer.echo(installed("jupyter-agentkit"))


def _version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback()
def options(
    asked: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Step, watch and replay agent loops."""


def _speak() -> None:
    """Let the log of the run reach the terminal: DEBUG with its name in front, what was done as it is."""

    class Lines(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            text = super().format(record)
            return f"DEBUG: {text}" if record.levelno == logging.DEBUG else text

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)


def _agent(model: str | None, tools: str, **options: Any) -> Agent:
    try:
        return Agent(model, builtin.boxes(tools), **options)
    except (AgentkitError, ValueError) as error:
        raise _fail(str(error)) from error


def _open(name: str, model: str | None) -> Any:
    try:
        return _agent(model, ",".join(builtin.BOXES)).resume(_whole(name))
    except AgentkitError as error:
        raise _fail(str(error)) from error


def _whole(name: str) -> str:
    found = [info.run for info in runs() if info.run.startswith(name)]
    if len(found) != 1:
        raise _fail(f"{len(found)} runs begin with {name!r}; `agentkit runs` lists them")
    return found[0]


def _fail(text: str) -> typer.Exit:
    typer.echo(text, err=True)
    return typer.Exit(1)


def main() -> None:
    """Be the console script."""
    app()


if __name__ == "__main__":
    main()
