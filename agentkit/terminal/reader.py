"""Where a conversation is read from: a person who types, or the lines of a pipe."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol, TextIO

from agentkit.config import home
from agentkit.core.secrets import mask
from agentkit.errors import UsageError
from agentkit.inert import visible
from agentkit.terminal.presses import Presses, interrupt


class Reader(Protocol):
    """Reads a message or a command."""

    is_typed: bool
    """Whether a person types, who can be asked."""

    def read(self, prompt: str, *, anew: bool = False, default: str = "") -> str:
        """Return the next text; with `anew`, nothing that was typed before the prompt was shown counts.

        Raises `EOFError` at the end, `KeyboardInterrupt` after Ctrl-C.
        """


class PipedLines:
    """The lines of the standard input, each of which is a message or a command."""

    is_typed = False

    def __init__(self, source: Any, presses: Presses) -> None:
        self._source = getattr(source, "buffer", source)
        self._presses = presses

    def read(self, prompt: str, *, anew: bool = False, default: str = "") -> str:
        """Return the next line, without its line break. Raises `EOFError`, `UsageError` if it is not UTF-8."""
        with self._presses.telling(interrupt):
            line = self._source.readline()
        if not line:
            raise EOFError
        try:
            return str(line.decode().rstrip("\r\n"))
        except UnicodeDecodeError as error:
            raise UsageError(f"each line must be UTF-8 text: {error}") from None


class Typing:
    """A person at a terminal, with a history that is kept, completion of commands, and messages of several lines."""

    is_typed = True

    def __init__(self, output: TextIO, commands: Iterable[str], presses: Presses) -> None:
        from prompt_toolkit import PromptSession
        from prompt_toolkit.completion import WordCompleter
        from prompt_toolkit.input import create_input
        from prompt_toolkit.output import create_output

        self._presses = presses
        self._is_editing = False
        self._input = create_input(sys.stdin)
        self._session: PromptSession[str] = PromptSession(
            history=_history(),
            multiline=True,
            prompt_continuation="  ",
            key_bindings=_keys(presses, lambda: self._is_editing),
            completer=WordCompleter(list(commands), sentence=True),
            complete_while_typing=False,
            enable_suspend=True,
            input=self._input,
            output=create_output(stdout=output),
        )

    def read(self, prompt: str, *, anew: bool = False, default: str = "") -> str:
        """Return what is typed; a text that hides something is not offered as a default."""
        if anew:
            self._forget_typed()
        shown = default if visible(default) == default else ""
        self._is_editing = bool(default)
        with self._presses.telling(self._wake):
            return str(self._session.prompt(prompt, default=shown, handle_sigint=False, pre_run=self._end_if_twice))

    def _wake(self) -> None:
        """End the prompt, in its loop, after an interrupt that was not typed into it."""
        if (loop := self._session.app.loop) is not None:
            loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        app = self._session.app
        if app.is_running and not app.is_done:
            app.exit(exception=KeyboardInterrupt)

    def _end_if_twice(self) -> None:
        """End the prompt at once if Ctrl-C was pressed for the second time just before it took over the keys."""
        if self._presses.count > 1:
            self._end()

    def _forget_typed(self) -> None:
        from prompt_toolkit.input.typeahead import clear_typeahead

        clear_typeahead(self._input)
        with contextlib.suppress(ImportError, OSError, ValueError):
            import termios

            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)


def _keys(presses: Presses, is_editing: Callable[[], bool]) -> Any:
    """Return the keys: Enter sends, Alt-Enter or a backslash at the end of the line begins another one, and Ctrl-C
    clears what was typed; if a text was there to be edited, Ctrl-C leaves it, so that a command typed next is one.
    """
    from prompt_toolkit.key_binding import KeyBindings

    keys = KeyBindings()

    @keys.add("enter")
    def send(event: Any) -> None:
        buffer = event.current_buffer
        if buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    def begin_line(event: Any) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add("c-c")
    def clear(event: Any) -> None:
        if event.current_buffer.text and not is_editing():
            event.current_buffer.reset()
        else:
            presses.press()

    return keys


def _history() -> Any:
    """Return what was typed before, from a file that only its owner can read; in memory if there can be none."""
    from prompt_toolkit.history import FileHistory, InMemoryHistory

    class MaskedHistory(FileHistory):
        def store_string(self, string: str) -> None:
            with contextlib.suppress(OSError):  # a full disk must not end the conversation
                super().store_string(mask(string))

    path = Path(home()) / "chat-history"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600))
    except OSError:
        return InMemoryHistory()
    return MaskedHistory(str(path))
