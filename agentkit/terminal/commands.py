"""The commands of a conversation: lines that begin with /. Their names are those of the methods of a run."""

from __future__ import annotations

import inspect
import shutil
import textwrap
from collections.abc import Callable
from typing import Any

from agentkit import export
from agentkit.core.text import one_line
from agentkit.engines import registry
from agentkit.errors import UsageError
from agentkit.export import files
from agentkit.models import resolve
from agentkit.models.base import name_of
from agentkit.run.run import Run
from agentkit.terminal.chat import Chat, Command, arguments_of

COMMANDS: dict[str, Command] = {}
"""The commands, by name."""

_USAGE: dict[str, str] = {}


def command(usage: str = "") -> Callable[[Command], Command]:
    """Register a command under the name of its function; `usage` says what follows the name."""

    def register(function: Command) -> Command:
        name = getattr(function, "__name__").rstrip("_")  # noqa: B009  # a Callable need not have one
        COMMANDS[name], _USAGE[name] = function, usage
        return function

    return register


@command()
def help(chat: Chat, rest: str) -> None:
    """List the commands."""
    abouts = {
        f"/{name} {_USAGE[name]}".strip(): (inspect.getdoc(function) or "").partition("\n")[0]
        for name, function in COMMANDS.items()
    }
    abouts["exit, quit, q, Ctrl-D"] = "End the conversation; Ctrl-C pauses a run, and twice ends it."
    abouts["Alt-Enter, \\ at the end"] = "Begin another line of a message."
    width = max(40, shutil.get_terminal_size().columns)
    indent = 26 if width >= 70 else 4
    for what, about in abouts.items():
        separate = "" if len(what) < indent else "\n".ljust(indent + 1)
        lines = f"\n{' ' * indent}".join(textwrap.wrap(about, width - indent))
        chat.screen.lines(f"{what:<{indent}}{separate}{lines}")


@command()
def play(chat: Chat, rest: str) -> None:
    """Continue the run, and step through no more runs."""
    chat.stepping = False
    chat.drive()


@command("[TIMES|over]")
def step(chat: Chat, rest: str) -> None:
    """Perform one step of the run or several, or with `over` all that are pending."""
    chat.stepping = True
    if rest == "over":
        chat.step(over=True)
        return
    for number in range(_number(rest, 1, "TIMES")):
        if number and (chat.current.status != "paused" or chat.current.hold):
            return
        chat.step()


@command()
def pause(chat: Chat, rest: str) -> None:
    """Pause the next runs before their first step, so that you can step through them; /play ends that."""
    chat.stepping = True
    chat.screen.line("the next message starts a paused run: /step performs a step, /play continues", dim=True)


@command()
def new(chat: Chat, rest: str) -> None:
    """Leave the run as it is, so that the next message starts another one."""
    chat.leave()
    chat.screen.line("the next message starts another run", dim=True)


@command("[ENTRY]")
def show(chat: Chat, rest: str) -> None:
    """Show the trace of the run, or one entry in full."""
    run = chat.current
    if not rest:
        chat.screen.lines(repr(run))
        return
    entry = run[_entry(run, rest)]
    chat.screen.lines(repr(entry))
    chat.screen.write(text_of(entry))
    chat.screen.end_line()


def text_of(entry: Any) -> str:
    """Return the text of an entry: what a model wrote, what a tool returned, or the answer of a person."""
    text = getattr(entry.result, "text", entry.result)
    return text if isinstance(text, str) else ""


@command("ENTRY|next [text=|answer=|arguments=]TEXT")
def edit(chat: Chat, rest: str) -> None:
    """Replace the text of an entry or of the next step; the original is kept, and /play goes on from there."""
    run = chat.current
    which, _, text = rest.partition(" ")
    if not which:
        raise UsageError("/edit takes the number of an entry, as in /show, or `next`, and a text")
    entry = None if which == "next" else _entry(run, which)
    if not text.strip() and chat.reader.is_typed and entry is not None:
        try:
            text = chat.reader.read("text> ", default=text_of(run[entry]))
        except (KeyboardInterrupt, EOFError):
            raise UsageError("nothing was edited") from None
        if not text.strip():
            raise UsageError(f"nothing was edited; /edit {which} text= makes the text empty")
    name, equals, value = text.partition("=")
    if not equals or name not in ("text", "answer", "arguments"):
        name, value = "text", text
    change: dict[str, Any] = {name: arguments_of(value) if name == "arguments" else value}
    chat.perform(lambda: run.edit(entry, **change))
    chat.say_not_undone()
    chat.say_status()


@command("TEXT")
def inject(chat: Chat, rest: str) -> None:
    """Send a message to the model with its next request; the run stays paused."""
    chat.current.inject(rest)
    chat.screen.line("the model sees this message with its next request", dim=True)


@command("[TIMES]")
def undo(chat: Chat, rest: str) -> None:
    """Undo the last step, edit or move; what a tool has done in the world is not undone."""
    _move(chat, rest, chat.current.undo)


@command("[TIMES]")
def redo(chat: Chat, rest: str) -> None:
    """Revert the last undo."""
    _move(chat, rest, chat.current.redo)


@command("ENTRY")
def rewind(chat: Chat, rest: str) -> None:
    """Go back to an entry: it becomes the last performed step."""
    run = chat.current
    entry = _entry(run, rest)
    chat.perform(lambda: run.rewind(entry))
    _went_back(chat)


@command("[ENTRY]")
def retry(chat: Chat, rest: str) -> None:
    """Perform an entry once more, by default the last one; the old one is kept as a branch."""
    run = chat.current
    entry = _entry(run, rest) if rest else len(run) - 1
    if entry == 0:
        raise UsageError("entry 0 is the task; type it again to start another run")
    chat.perform(lambda: run.rewind(entry - 1))
    chat.say_not_undone()
    chat.step()


@command("[ENTRY]")
def fork(chat: Chat, rest: str) -> None:
    """Go on in a second run with the same past, after an entry, with the model and engine chosen since."""
    run = chat.current
    at, changes = _entry(run, rest) if rest else None, dict(chat.changes)
    other: Run = chat.perform(lambda: run.fork(at, **changes))
    chat.switch(other)
    chat.screen.line(f"this is run {other.id}, a fork: it adds nothing to the conversation", dim=True)
    chat.screen.line(other.forecast)
    chat.say_status()


@command("[--remember|--always] [JSON]")
def approve(chat: Chat, rest: str) -> None:
    """Approve what waits, with other arguments if you give them."""
    chat.decide("approve", rest)


@command("[--remember|--always] [COMMENT]")
def reject(chat: Chat, rest: str) -> None:
    """Reject what waits; the model is told, with your comment."""
    chat.decide("reject", rest)


@command("TEXT")
def respond(chat: Chat, rest: str) -> None:
    """Answer a question, or a call instead of its tool."""
    chat.decide("respond", rest)


@command()
def reuse(chat: Chat, rest: str) -> None:
    """Use the result of the earlier call that a waiting one would repeat."""
    chat.decide("reuse", rest)


@command("[NAME]")
def engine(chat: Chat, rest: str) -> None:
    """Choose the engine of the next runs, or of a fork; without a name, list the engines."""
    if not rest:
        chat.screen.line(f"now {chat.agent.engine_name.rpartition(':')[2]}; there are {', '.join(registry.ENGINES)}")
        return
    found = chat.find_engine(rest)
    chat.agent = chat.perform(lambda: chat.agent.using(engine=found))
    chat.changes["engine"] = found
    _chosen(chat)


@command("[NAME]")
def model(chat: Chat, rest: str) -> None:
    """Choose the model of the next runs, or of a fork; without a name, list the models."""
    if not rest:
        known = ", ".join(resolve.list_all())
        chat.screen.line(f"now {name_of(chat.agent.model)}; there are {one_line(known, 2000)}")
        return
    chat.agent = chat.perform(lambda: chat.agent.using(model=rest))
    chat.changes["model"] = rest
    _chosen(chat)


@command("[FILE]")
def save(chat: Chat, rest: str) -> None:
    """Write the run to a new file, whose ending sets the format; it is in the journal in any case."""
    run = chat.current
    if not rest:
        endings = ", ".join(endings[0] for endings in files.FORMATS.values())
        chat.screen.line(f"run {run.id} is in the journal; /save FILE writes it to a file that ends in {endings}")
        return
    write = getattr(export, f"to_{files.format_of(rest)}")
    chat.perform(lambda: write(run, rest))
    chat.screen.line(f"written to {rest}", dim=True)


def _chosen(chat: Chat) -> None:
    now = f"{chat.agent.engine_name.rpartition(':')[2]} ({name_of(chat.agent.model)})"
    more = "; /fork goes on with it in a fork of this run" if chat.run is not None else ""
    chat.screen.line(f"the next run is with {now}{more}", dim=True)


def _move(chat: Chat, times: str, move: Callable[[], Any]) -> None:
    """Move in the trace as many times as a text says, or once if it is empty."""
    for _ in range(_number(times, 1, "TIMES")):
        chat.perform(move)
    _went_back(chat)


def _went_back(chat: Chat) -> None:
    chat.say_not_undone()
    chat.say_status()


def _number(text: str, default: int, name: str) -> int:
    """Return a number from 1 to 9,999, or the default if there is no text. Raises `UsageError`."""
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 5 and int(text)):
        raise UsageError(f"{name} must be a number, not {one_line(text, 50)!r}")
    return int(text)


def _entry(run: Run, text: str) -> int:
    """Return the number of an entry. Raises `UsageError` if there is no such entry."""
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) < len(run)):
        raise UsageError(f"there is no entry {one_line(text, 50)!r}; the trace has entries 0 to {len(run) - 1}: /show")
    return int(text)
