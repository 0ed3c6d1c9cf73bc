"""The shell: a tool that runs commands, behind the walls of a sandbox, and only those that are allowed.

A command is split into words as a shell does it, and no shell reads it: `;`, `|`, `$(…)` and the like are refused. Only
behind walls that hold the files may a model write for a shell, which then runs anything.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from agentkit.core import background
from agentkit.core.checked_arguments import checked
from agentkit.errors import ToolError, UsageError
from agentkit.sandbox.programs import Finished, Program, Sandbox
from agentkit.tools.tool import Tool, tool
from agentkit.tools.toolbox import ToolBox

ANYTHING = "anything"
"""What allows every command, written for a shell."""
MAX_COMMAND = 20_000
_SHELL = "/bin/sh"

_SYNTAX = ";|&<>()`$\n\r*?["
"""What a shell gives a meaning to, unless it is quoted."""
_AT_START = "~#"
"""What it gives a meaning to at the start of a word."""


class Shell(ToolBox):
    """A tool that runs commands in a sandbox.

    `allow` lists what may be run: the name of a program ("ls"), a program with its first words ("git log"), or the
    absolute path of a program. A name means the program that the PATH of the sandbox leads to. `allow="anything"` lets
    the model write for a shell; it needs a sandbox whose walls hold the files. An allowed program can do what its
    arguments let it do (`find -exec` runs others), so it is the sandbox that holds it: by default `Sandbox("auto")`.
    Raises `UsageError` for a program that is not there.
    """

    @checked
    def __init__(self, allow: Iterable[str] = (), *, sandbox: Sandbox | None = None) -> None:
        super().__init__(name="shell")
        self.sandbox = sandbox or Sandbox()
        self.allow: tuple[tuple[str, ...], ...] | None = None
        if allow == ANYTHING:
            if not self.sandbox.holds_files:
                raise UsageError(
                    'allow="anything" needs a sandbox that holds the files, and this one is not held '
                    f"({self.sandbox.walls}); list the programs that may be run, such as allow=['ls', 'git log']"
                )
            return
        if isinstance(allow, str):
            raise UsageError(f'allow is a list of commands, such as [{allow!r}], or "{ANYTHING}"')
        self.allow = tuple(tuple(shlex.split(command)) for command in allow)
        if not all(self.allow) or not self.allow:
            raise UsageError('allow lists the programs that may be run, such as ["ls", "git log"]')
        self.programs = {words[0]: self._program(words[0]) for words in self.allow}

    def _program(self, name: str) -> str:
        found = name if name.startswith("/") else self.sandbox.which(name)
        if found is None:
            where = self.sandbox.environment["PATH"]
            raise UsageError(f"there is no program {name!r} in {where}; allow a name, or an absolute path")
        return found

    def discover_tools(self) -> list[Tool]:
        """Return the tool, described with the commands that may be run."""
        allowed = "A shell runs it." if self.allow is None else _allowed(self.allow)
        own = self.run_command
        described = f"{own.description}\n{allowed}"
        return [tool(name=own.name, description=described, effect="irreversible", timeout=None)(own.function)]

    @tool(effect="irreversible", timeout=None)
    async def run_command(self, command: str) -> str:
        """Run a command in the working folder, and return its exit code and what it prints.

        Args:
            command: The command in one line, such as "ls -la src".
        """
        return (await result_of(Program(self.sandbox, self.words(command)))).text

    def words(self, command: str) -> list[str]:
        """Return the words of a command that may be run, the first one as an absolute path.

        Raises `ToolError`, with a text for the model, if it may not be run.
        """
        if len(command) > MAX_COMMAND or "\0" in command:
            raise ToolError(f"the command is longer than {MAX_COMMAND:,} characters, or has null characters")
        if self.allow is None:
            if not command.strip():
                raise ToolError("the command is empty")
            return [_SHELL, "-c", command]
        words = _split(command)
        if not any(words[: len(allowed)] == list(allowed) for allowed in self.allow):
            raise ToolError(f"{words[0][:80]!r} was not run. {_allowed(self.allow)}")
        return [self.programs[words[0]], *words[1:]]


async def result_of(program: Program) -> Finished:
    """Run a program in a thread, and return how it ended; if this is cancelled, the program is ended."""
    import asyncio

    try:
        return await asyncio.wrap_future(background.in_thread(program.run))
    finally:
        program.end()


def _split(command: str) -> list[str]:
    """Return the words of a command. Raises `ToolError` if it is for a shell, or its quotes are open."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ToolError(f"the command cannot be read: {str(error).lower()}") from None
    if not words:
        raise ToolError("the command is empty")
    found = _unquoted(command)
    if found:
        raise ToolError(
            f"the command was not run: no shell reads it, so {found!r} has no meaning. Run one program at a time, and "
            "put quotes around words that have such characters."
        )
    return words


def _unquoted(command: str) -> str:
    """Return the first character that a shell would give a meaning to; "" if there is none."""
    quote, position = "", 0
    command = command.strip()
    while position < len(command):
        character = command[position]
        if character == "\\" and quote != "'":
            position += 2
            continue
        if quote:
            if character == quote:
                quote = ""
            elif quote == '"' and character in "$`":
                return character
        elif character in "'\"":
            quote = character
        elif character in _SYNTAX or (character in _AT_START and command[position - 1 : position].strip() == ""):
            return character
        position += 1
    return ""


def _allowed(allow: Iterable[tuple[str, ...]]) -> str:
    return f"These commands may be run: {', '.join(' '.join(words) for words in allow)}."
