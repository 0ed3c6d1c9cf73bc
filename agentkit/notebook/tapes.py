"""The commands `%agent record` and `%agent replay`: the replies of models, kept in a file and played from it."""

from __future__ import annotations

import argparse
from typing import Any

from IPython.core.error import UsageError

from agentkit.models.tape import Mode, Tape
from agentkit.models.transport import clients
from agentkit.notebook.arguments import Argument
from agentkit.notebook.command import command
from agentkit.notebook.display import Notice
from agentkit.notebook.session import Session

Args = argparse.Namespace

FILE = Argument("path", nargs="?", metavar="FILE", help="the tape, a JSON file")
OFF = Argument("--off", action="store_true", help="take the tape out")


@command(FILE, OFF, Argument("--auto", action="store_true", help="play what is on the tape, and record the rest"))
def record(session: Session, args: Args) -> Any:
    """Record all requests to models and their replies, without keys, from now on."""
    return _insert("record", args.path, "auto" if args.auto else "record", args.off)


@command(FILE, OFF)
def replay(session: Session, args: Args) -> Any:
    """Answer all requests to models from a recorded tape from now on, without opening a connection."""
    return _insert("replay", args.path, "replay", args.off)


def _insert(name: str, path: str | None, mode: Mode, off: bool) -> Notice:
    current = clients.inserted_tape
    if off:
        if path:
            raise UsageError(f"%agent {name} --off takes no file")
        if not isinstance(current, Tape):
            return Notice("no tape is inserted")
        current.eject()
        return Notice(f"taken out: {current!r}")
    if not path:
        if isinstance(current, Tape):
            return Notice(repr(current))
        return Notice(f"no tape is inserted; %agent {name} FILE inserts one")
    tape = Tape(path, mode)
    if isinstance(current, Tape):
        current.eject()
    tape.insert()
    return Notice(f"inserted: {tape!r}; %agent {name} --off takes it out")
