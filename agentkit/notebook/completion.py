"""What the Tab key completes after `%agent`: options, commands, and the values of options."""

from __future__ import annotations

import shlex
from typing import Any

from agentkit.engines import recommend, registry
from agentkit.models import resolve
from agentkit.notebook import namespace
from agentkit.notebook.arguments import options_of
from agentkit.notebook.command import COMMANDS, Command
from agentkit.notebook.session import Session
from agentkit.run.run import Run
from agentkit.tools import builtin


def complete(session: Session, parser: Any, line: str, symbol: str) -> list[str]:
    """Return the completions of `symbol`, the word at the cursor; `line` ends at the cursor."""
    before = _split(line.removesuffix(symbol))[1:]
    command = next((COMMANDS[word] for word in before if word in COMMANDS), None)
    completions = _option_values(session, before[-1] if before else "", symbol)
    if completions is None:
        completions = [*options_of(command.parser if command else parser), *_arguments(session, command, before)]
    return [word for word in completions if word.startswith(symbol)]


def _split(line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError:
        return line.split()


def _arguments(session: Session, command: Command | None, before: list[str]) -> list[str]:
    """Return the completions that are not options: first the commands, then the arguments of the command."""
    if command is None:
        is_task = any(not word.startswith("-") for word in before[-1:]) and not _follows_option(before)
        return [] if is_task else list(COMMANDS)
    if command.name in ("resume", "look"):
        from agentkit.agent.agent import runs

        return [info.run for info in runs(session.settings.journal)]
    if command.name == "engines":
        return [choice.signal for choice in recommend.TABLE]
    return list(COMMANDS) if command.name == "help" else []


def _follows_option(before: list[str]) -> bool:
    return len(before) > 1 and before[-2].startswith("-")


def _option_values(session: Session, option: str, symbol: str) -> list[str] | None:
    """Return the known values of an option; None if the word before the symbol is not an option with known values."""
    names = session.names
    if option in ("-m", "--model"):
        return [*resolve.KNOWN, *(name for name, value in names.items() if namespace.is_model(name, value))]
    if option in ("-e", "--engine"):
        return list(registry.ENGINES)
    if option in ("-t", "--tools") or option.endswith(","):
        complete_names, comma, _ = symbol.rpartition(",")
        return [f"{complete_names}{comma}{name}" for name in [*builtin.NAMES, *namespace.tools_in(names)]]
    if option in ("-r", "--run"):
        variables = [name for name, value in names.items() if isinstance(value, Run) and not name.startswith("_")]
        return [*variables, *session.live]
    return None
