"""The commands `%agent record` and `%agent replay`: what models really say, kept in a file, and played from it."""

from __future__ import annotations

import argparse
from typing import Any

from IPython.core.error import UsageError

from agentkit.models.tape import Mode, Tape
from agentkit.models.transport import clients
from agentkit.notebook.arguments import Argument
from agentkit.notebook.command import command
from agentkit.notebook.display import Remark
from agentkit.notebook.session import Session

Args = argparse.Namespace

FILE = Argument("path", nargs="?", metavar="FILE", help="the tape, a JSON file")
OFF = Argument("--off", action="store_true", help="take the tape out again")


@command(FILE, OFF, Argument("--auto", action="store_true", help="ask only for what the tape lacks"))
def record(session: Session, args: Args) -> Any:
    """Record all that goes to models and comes back, without keys, from here on."""
    return _insert("record", args.path, "auto" if args.auto else "record", args.off)


@command(FILE, OFF)
def replay(session: Session, args: Args) -> Any:
    """Let a recorded tape answer for all models from here on; no connection is opened."""
    return _insert("replay", args.path, "replay", args.off)


def _insert(name: str, path: str | None, mode: Mode, off: bool) -> Remark:
    held = clients.inserted_tape
    if off:
        if path:
            raise UsageError(f"%agent {name} --off takes no file")
        if not isinstance(held, Tape):
            return Remark("no tape is in place")
        held.eject()
        return Remark(f"taken out: {held!r}")
    if not path:
        return Remark(
            repr(held) if isinstance(held, Tape) else f"no tape is in place: %agent {name} FILE puts one there"
        )
    tape = Tape(path, mode)
    if isinstance(held, Tape):
        held.eject()
    tape.insert()
    return Remark(f"in place: {tape!r}; %agent {name} --off takes it out")
