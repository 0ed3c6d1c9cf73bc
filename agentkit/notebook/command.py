"""What a command of `%agent` is, and how it is carried out."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from IPython.core.error import UsageError

from agentkit.notebook import namespace
from agentkit.notebook.arguments import Argument, check_text, parse, parser_of, split, words
from agentkit.notebook.session import Session

COMMANDS: dict[str, Command] = {}
"""The commands by name, in the order of the help."""

AS_WRITTEN = {"arguments"}
"""Arguments in which braces are JSON."""


@dataclass(slots=True, frozen=True)
class Command:
    """`rest` names the argument that takes the rest of the line as it was typed, `body` the one that takes a cell's body."""

    name: str
    about: str
    perform: Callable[[Session, argparse.Namespace], Any]
    parser: Any
    rest: str = ""
    body: str = ""


def command(*arguments: Argument, rest: str = "", body: str = "") -> Callable[[Any], Any]:
    """Make a command of `function(session, args)`; its name and first line are the command's."""

    def add(function: Any) -> Any:
        name = function.__name__.rstrip("_")
        about = (function.__doc__ or "").strip()
        fill = [Argument("--fill", action="store_true", help="expand {name} in the cell's body, too")] if body else []
        COMMANDS[name] = Command(name, about, function, parser_of(name, about, [*arguments, *fill]), rest, body)
        return function

    return add


def verb(*arguments: Argument, rest: str = "", body: str = "") -> Callable[[Any], Any]:
    """Make a command of `function(session, run, args)`, for the current run or the one that `-r` names."""
    which = Argument("-r", "--run", metavar="RUN", help="a variable with a run, or the beginning of its id")

    def add(function: Any) -> Any:
        def perform(session: Session, args: argparse.Namespace) -> Any:
            return function(session, session.find(args.run), args)

        perform.__name__, perform.__doc__ = function.__name__, function.__doc__
        command(*arguments, which, rest=rest, body=body)(perform)
        return function

    return add


def perform(session: Session, found: Command, given: list[str], line: str, cell: str | None) -> Any:
    """Read the arguments of a command, in which `{name}` is expanded after they were told apart, and carry it out."""
    if found.rest:
        more, text, literal = split(line, found.parser)
        args = parse(found.parser, [*given, *more])
        if not literal:
            check_text(text, found.parser)
        setattr(args, found.rest, text)
    else:
        args = parse(found.parser, [*given, *words(line)])
    for name, value in vars(args).items():
        if isinstance(value, str) and name not in AS_WRITTEN:
            setattr(args, name, namespace.expand(value, session.names))
    if cell is not None:
        _take_body(session, found, args, cell)
    return found.perform(session, args)


def _take_body(session: Session, found: Command, args: argparse.Namespace, cell: str) -> None:
    if not found.body:
        raise UsageError(f"{found.name} takes no text below it: write %agent {found.name}")
    body = namespace.expand(cell, session.names) if args.fill else cell
    parts = [getattr(args, found.body) or "", body.strip("\n")]
    setattr(args, found.body, "\n".join(part for part in parts if part))
