"""Play the recorded calls of an exported notebook again, or, live, call the tools for real.

The cells of the notebook hold nothing but `call(number, name, arguments)` with literals; this is the `call`.
"""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from agentkit.core.messages import Call, Message, canonical
from agentkit.core.secrets import mask, mask_json
from agentkit.core.steps import replace
from agentkit.core.text import one_line
from agentkit.errors import ArgumentsError, Control, NotRecorded, UsageError
from agentkit.export import literal, rich
from agentkit.export.html import observation as drawn
from agentkit.export.inert import shown
from agentkit.export.json import rows_of, unpack
from agentkit.journal.entries import Entry
from agentkit.tools import builtin, observations
from agentkit.tools.toolset import ToolSet

LIMIT = 20_000
"""Characters of one observation in the output of a cell; `.text` has all of them."""
_COMPARED = 1_000


class Observation:
    """What a call gave: its `text` for a model, `ok`, and its `value`; shown in a notebook as what it is."""

    def __init__(self, message: Message) -> None:
        self.message = message

    @property
    def text(self) -> str:
        """The whole text, as the model was told."""
        return self.message.text

    @property
    def ok(self) -> bool:
        """Whether the tool did its work."""
        return self.message.ok

    @property
    def value(self) -> Any:
        """What the tool returned, as JSON data, where that is more than its text."""
        return self.message.value

    def __repr__(self) -> str:
        return shown(self.message.text, LIMIT)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self.message)


def bundle(message: Message) -> dict[str, Any]:
    """Give an observation as a notebook shows it: its text, and an image, a table or a page where it holds one."""
    found: dict[str, Any] = {"text/plain": shown(message.text, LIMIT)}
    pictures = [
        item
        for item in rich.items(message)
        if isinstance(item, rich.Image) and item.mime in ("image/png", "image/jpeg")
    ]
    if pictures:
        found[pictures[0].mime] = pictures[0].data
    elif page := drawn(message):
        found["text/html"] = page
    return found


class Playback:
    """The recorded calls of a run, by the number of their entry; called with what is asked, it gives what was observed."""

    def __init__(
        self, recorded: dict[int, tuple[Call, Message]], tools: ToolSet | None, confirm: Callable[[str], Any]
    ) -> None:
        self.recorded = recorded
        self.tools = tools
        self._confirm = confirm

    def __call__(self, number: int, name: str, arguments: Any) -> Observation:
        """Give what the call of entry `number` gave; live, call the tool.

        Raises `NotRecorded` where no such call was recorded at that entry, and names the nearest.
        """
        if isinstance(arguments, str):
            import json

            arguments = json.loads(arguments)
        asked = Call(name, arguments)
        if self.tools is not None:
            return Observation(_masked(self._perform(asked, self.tools)))
        known = self.recorded.get(number)
        if known is None or key(known[0]) != key(asked):
            raise NotRecorded(self._miss(number, asked))
        return Observation(known[1])

    def __repr__(self) -> str:
        return f"<Playback of {len(self.recorded)} calls{'' if self.tools is None else ', live'}>"

    def _perform(self, asked: Call, tools: ToolSet) -> Message:
        tool = tools.find(asked.name)
        if tool is None:
            raise UsageError(f"no tool {asked.name!r} was given: put it into tools=[...] in the first code cell")
        try:
            arguments, _ = tool.bind(asked)
        except ArgumentsError as error:
            return observations.invalid_arguments(asked, error)
        if tool.effect == "irreversible" and not self._confirm(one_line(_written(asked))):
            return observations.rejected(asked)
        try:
            value = tool.function(**arguments)
            return observations.returned(asked, _awaited(value) if inspect.isawaitable(value) else value)
        except (Control, KeyboardInterrupt):
            raise
        except BaseException as error:
            return observations.raised(asked, error)

    def _miss(self, number: int, asked: Call) -> str:
        wanted = key(asked)[:_COMPARED]
        if not self.recorded:
            return "this recording holds no call at all"

        def likeness(at: int) -> tuple[bool, float, int]:
            other = self.recorded[at][0]
            same = difflib.SequenceMatcher(None, key(other)[:_COMPARED], wanted).quick_ratio()
            return other.name == asked.name, same, -abs(at - number)

        nearest = max(self.recorded, key=likeness)
        found = self.recorded[nearest][0]
        return (
            f"entry {number} holds no call {one_line(_written(asked))}; the nearest that was recorded is "
            f"{one_line(literal.call(nearest, found.name, found.arguments), 1_000)}. "
            "To call the tool for real, set live = True in the first code cell"
        )


def playback(
    *,
    recording: str | dict[str, Any],
    live: bool = False,
    tools: Iterable[Any] = (),
    confirm: Callable[[str], Any] | None = None,
) -> Playback:
    """Open the recording in an exported notebook (packed), or the data that `to_json` gave.

    `live` calls `tools` for real: functions, toolboxes, or names of built-in toolboxes. What cannot be taken back asks
    `confirm(call)` first, by default whoever sits at the keyboard; without a plain yes it is not called.
    """
    data = unpack(recording) if isinstance(recording, str) else recording
    rows = rows_of(data)
    given = ToolSet.of([builtin.box(each) if isinstance(each, str) else each for each in tools]) if live else None
    return Playback(calls([rows[number - 1] for number in data["line"]]), given, confirm or ask)


def calls(entries: Iterable[Any]) -> dict[int, tuple[Call, Message]]:
    """Give the calls of a trace with what they gave, by the number of their entry."""
    return {
        number: (entry.step.call, entry.result)  # type: ignore[union-attr]
        for number, entry in enumerate(entries)
        if isinstance(entry, Entry) and entry.kind == "act"
    }


def key(asked: Call) -> str:
    """Name a call by what it asks for."""
    return f"{asked.name} {canonical(asked.arguments).decode()}"


def ask(call: str) -> bool:
    """Ask whoever sits at the keyboard; where nobody can be asked, that is a no."""
    try:
        return input(f"Really call {call}? It cannot be taken back. [y/N] ").strip().lower() in ("y", "yes")
    except (EOFError, RuntimeError, NotImplementedError):  # a notebook that is executed by a program
        return False


def _written(asked: Call) -> str:
    return f"{literal.text(asked.name)} with {mask(canonical(mask_json(asked.arguments)).decode())}"


def _awaited(value: Any) -> Any:
    from agentkit.core import background

    async def whole() -> Any:
        return await value

    return background.wait(background.submit(whole()))


def _masked(message: Message) -> Message:
    return replace(message, text=mask(message.text), value=mask_json(message.value))
