"""Start a conversation: with a person at a terminal, or with the lines of a pipe."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from agentkit.agent.agent import Agent
from agentkit.run.run import Run
from agentkit.terminal.chat import Chat
from agentkit.terminal.commands import COMMANDS
from agentkit.terminal.presses import Presses
from agentkit.terminal.reader import PipedLines, Reader, Typing
from agentkit.terminal.screen import screen_of


def talk(
    agent: Agent,
    *,
    session: str = "",
    user: str = "",
    find_engine: Callable[[str], Any] = str,
    run: Run | None = None,
) -> int:
    """Talk with an agent until the person or the pipe ends it, and return the exit code; `run` goes on first.

    Answers are written to the standard output, and everything else, too, if that is a terminal; otherwise it is written
    to the standard error.
    """
    answers = screen_of("stdout")
    screen = answers if answers.is_terminal else screen_of("stderr")
    presses = Presses()
    reader: Reader = PipedLines(sys.stdin, presses)
    if sys.stdin.isatty() and screen.is_terminal:
        reader = Typing(screen.stream, [f"/{name}" for name in COMMANDS], presses)
    chat = Chat(agent, reader, screen, answers, COMMANDS, presses, session=session, user=user, find_engine=find_engine)
    if reader.is_typed and run is None:
        screen.line(f"{agent.name}; /help lists the commands, exit ends", dim=True)
    with presses.counted():
        code = chat.talk(run)
        presses.is_over = reader.is_typed
    return code
