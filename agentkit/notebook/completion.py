"""What Tab offers after `%agent`: options, commands, and the names that an option takes."""

from __future__ import annotations

import shlex
from typing import Any

from agentkit.engines import recommend, registry
from agentkit.models import resolve
from agentkit.notebook import namespace
from agentkit.notebook.arguments import options
from agentkit.notebook.command import COMMANDS
from agentkit.notebook.session import Session
from agentkit.run.run import Run
from agentkit.tools import builtin


def complete(session: Session, parser: Any, line: str, symbol: str) -> list[str]:
    """Give what may stand in the place of `symbol`, the word at the cursor; `line` ends there."""
    before = _words(line.removesuffix(symbol))[1:]
    found = next((COMMANDS[word] for word in before if word in COMMANDS), None)
    parser = found.parser if found else parser
    offered = _values(session, before[-1] if before else "", symbol)
    if offered is None:
        offered = [*options(parser), *_places(session, found, before)]
    return [word for word in offered if word.startswith(symbol)]


def _words(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _places(session: Session, found: Any, before: list[str]) -> list[str]:
    """Give what may stand free: a command at first, then what that command takes."""
    if found is None:
        is_task = any(not word.startswith("-") for word in before[-1:]) and not _takes_value(before)
        return [] if is_task else list(COMMANDS)
    if found.name == "resume":
        from agentkit.agent.agent import runs

        return [info.run for info in runs(session.settings.journal)]
    if found.name == "engines":
        return [choice.signal for choice in recommend.TABLE]
    return list(COMMANDS) if found.name == "help" else []


def _takes_value(before: list[str]) -> bool:
    return len(before) > 1 and before[-2].startswith("-")


def _values(session: Session, option: str, symbol: str) -> list[str] | None:
    """Give the values of an option; None where the word before is no option that takes one of a few."""
    names = session.names
    if option in ("-m", "--model"):
        return [*resolve.KNOWN, *(name for name, held in names.items() if namespace.is_model(name, held))]
    if option in ("-e", "--engine"):
        return list(registry.ENGINES)
    if option in ("-t", "--tools") or option.endswith(","):
        done, comma, _ = symbol.rpartition(",")
        return [f"{done}{comma}{name}" for name in [*builtin.BOXES, *namespace.tools_in(names)]]
    if option in ("-r", "--run"):
        return [
            *(name for name, held in names.items() if isinstance(held, Run) and not name.startswith("_")),
            *session.live,
        ]
    return None
