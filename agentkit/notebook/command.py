"""What a command of `%agent` is, how it is registered, and how it is carried out."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from IPython.core.error import UsageError

from agentkit.notebook import namespace
from agentkit.notebook.arguments import Argument, check_text, parse, parser_of, split_options, split_words
from agentkit.notebook.session import Session

COMMANDS: dict[str, Command] = {}
"""The commands by name, in the order of the help."""

NOT_EXPANDED = {"arguments"}
"""Arguments in which braces are JSON, not variables."""


@dataclass(slots=True, frozen=True)
class Command:
    """A command: `rest` is the argument that takes the rest of the line as typed, `body` the one that takes a cell's
    body.
    """

    name: str
    description: str
    function: Callable[[Session, argparse.Namespace], Any]
    parser: Any
    rest: str = ""
    body: str = ""


def command(*arguments: Argument, rest: str = "", body: str = "") -> Callable[[Any], Any]:
    """Register `function(session, args)` as a command, with its name and its docstring."""

    def register(function: Any) -> Any:
        name = function.__name__.rstrip("_")
        description = (function.__doc__ or "").strip()
        fill = [Argument("--fill", action="store_true", help="expand {name} in the cell's body too")] if body else []
        parser = parser_of(name, description, [*arguments, *fill])
        COMMANDS[name] = Command(name, description, function, parser, rest, body)
        return function

    return register


def run_command(*arguments: Argument, rest: str = "", body: str = "") -> Callable[[Any], Any]:
    """Register `function(session, run, args)` as a command on the current run, or on the one that `-r` names."""
    which = Argument("-r", "--run", metavar="RUN", help="a variable that holds a run, or the beginning of its id")

    def register(function: Any) -> Any:
        def on_run(session: Session, args: argparse.Namespace) -> Any:
            return function(session, session.find(args.run), args)

        on_run.__name__, on_run.__doc__ = function.__name__, function.__doc__
        command(*arguments, which, rest=rest, body=body)(on_run)
        return function

    return register


def perform(session: Session, command: Command, options: list[str], line: str, cell: str | None) -> Any:
    """Parse the arguments of a command, then expand `{name}` in them, and carry the command out."""
    if command.rest:
        words, text, is_literal = split_options(line, command.parser)
        args = parse(command.parser, [*options, *words])
        if not is_literal:
            check_text(text, command.parser)
        setattr(args, command.rest, text)
    else:
        args = parse(command.parser, [*options, *split_words(line)])
    for name, value in vars(args).items():
        if isinstance(value, str) and name not in NOT_EXPANDED:
            setattr(args, name, namespace.expand(value, session.names))
    if cell is not None:
        _add_body(session, command, args, cell)
    return command.function(session, args)


def _add_body(session: Session, command: Command, args: argparse.Namespace, cell: str) -> None:
    if not command.body:
        raise UsageError(f"the command {command.name} takes no cell body; write %agent {command.name} in one line")
    body = namespace.expand(cell, session.names) if args.fill else cell
    parts = [getattr(args, command.body) or "", body.strip("\n")]
    setattr(args, command.body, "\n".join(part for part in parts if part))
