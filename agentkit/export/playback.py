"""Play the recorded calls of an exported notebook again, or really call the tools.

The cells of the notebook contain nothing but `call(number, name, arguments)` with literals; this module provides
`call`.
"""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Callable, Iterable
from typing import Any

from agentkit.core.messages import Call, Message, canonical
from agentkit.core.secrets import mask, mask_json
from agentkit.core.steps import replace
from agentkit.core.text import one_line
from agentkit.errors import ArgumentsError, Control, NotRecorded, UsageError
from agentkit.export import items, literal
from agentkit.export.escaping import safe_text
from agentkit.export.html import observation_items
from agentkit.export.json import rows_of, unpack
from agentkit.inert import inert
from agentkit.journal.entries import Entry
from agentkit.tools import builtin, observations
from agentkit.tools.toolset import ToolSet

MAX_TEXT = 20_000
"""Characters of one observation in the output of a cell; `.text` has all of them."""
_MAX_COMPARED = 1_000


class Observation:
    """The observation of a call: its `text`, which the model read, `ok`, and its `value`. A notebook
    shows it as it is.
    """

    def __init__(self, message: Message) -> None:
        self.message = message

    @property
    def text(self) -> str:
        """The full text, as the model read it."""
        return self.message.text

    @property
    def ok(self) -> bool:
        """Whether the tool succeeded."""
        return self.message.ok

    @property
    def value(self) -> Any:
        """What the tool returned, as JSON data, if that is more than its text."""
        return self.message.value

    @inert
    def __repr__(self) -> str:
        return safe_text(self.message.text, MAX_TEXT)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self.message)


def bundle(message: Message) -> dict[str, Any]:
    """Return an observation by MIME type: its text, and the image, table or page that it contains."""
    data: dict[str, Any] = {"text/plain": safe_text(message.text, MAX_TEXT)}
    image_types = "image/png", "image/jpeg"
    images = [item for item in items.items(message) if isinstance(item, items.Image) and item.mime in image_types]
    if images:
        data[images[0].mime] = images[0].data
    elif html := observation_items(message):
        data["text/html"] = html
    return data


class Playback:
    """The recorded calls of a run, by the number of their entry; calling it returns the observation of
    a recorded call.
    """

    def __init__(
        self, recorded: dict[int, tuple[Call, Message]], tools: ToolSet | None, confirm: Callable[[str], Any]
    ) -> None:
        self.recorded = recorded
        self.tools = tools
        self._confirm = confirm

    def __call__(self, number: int, name: str, arguments: Any) -> Observation:
        """Return the observation of the call in entry `number`; if live, call the tool instead.

        Raises `NotRecorded` if there is no such call in that entry; the error shows the most similar recorded call.
        """
        if isinstance(arguments, str):
            arguments = json.loads(arguments)
        call = Call(name, arguments)
        if self.tools is not None:
            return Observation(_masked(self._perform(call, self.tools)))
        recorded = self.recorded.get(number)
        if recorded is None or key(recorded[0]) != key(call):
            raise NotRecorded(self._not_recorded(number, call))
        return Observation(recorded[1])

    @inert
    def __repr__(self) -> str:
        return f"<Playback of {len(self.recorded)} calls{'' if self.tools is None else ', live'}>"

    def _perform(self, call: Call, tools: ToolSet) -> Message:
        tool = tools.find(call.name)
        if tool is None:
            raise UsageError(f"there is no tool {call.name!r}: add it to tools=[...] in the first code cell")
        try:
            arguments, _ = tool.bind(call)
        except ArgumentsError as error:
            return observations.invalid_arguments(call, error)
        if tool.effect not in ("pure", "idempotent") and not self._confirm(one_line(_description(call))):
            return observations.rejected(call)
        try:
            value = tool.function(**arguments)
            value = _awaited(value) if inspect.isawaitable(value) else value
            return observations.returned(call, value, tool.artifact)
        except (Control, KeyboardInterrupt):
            raise
        except BaseException as error:
            return observations.raised(call, error)

    def _not_recorded(self, number: int, call: Call) -> str:
        if not self.recorded:
            return "this recording contains no calls"
        wanted = key(call)[:_MAX_COMPARED]

        def similarity(entry: int) -> tuple[bool, float, int]:
            other = self.recorded[entry][0]
            ratio = difflib.SequenceMatcher(None, key(other)[:_MAX_COMPARED], wanted).quick_ratio()
            return other.name == call.name, ratio, -abs(entry - number)

        nearest = max(self.recorded, key=similarity)
        similar = self.recorded[nearest][0]
        return (
            f"the call {one_line(_description(call))} is not recorded in entry {number}; the most similar one is "
            f"{one_line(literal.call(nearest, similar.name, similar.arguments), 1_000)}. "
            "To call the tool, set live = True in the first code cell"
        )


def playback(
    *,
    recording: str | dict[str, Any],
    live: bool = False,
    tools: Iterable[Any] = (),
    confirm: Callable[[str], Any] | None = None,
) -> Playback:
    """Open the recording of an exported notebook (packed), or data returned by `to_json`.

    With `live`, `tools` are really called: functions, toolboxes, or names of built-in toolboxes. Before a call that
    cannot be undone, `confirm(call)` is asked, by default the person at the keyboard; unless it returns true, the tool
    is not called.
    """
    data = unpack(recording) if isinstance(recording, str) else recording
    rows = rows_of(data)
    toolset = None
    if live:
        toolset = ToolSet.of([builtin.box(tool) if isinstance(tool, str) else tool for tool in tools])
    return Playback(calls([rows[number - 1] for number in data["line"]]), toolset, confirm or ask)


def calls(entries: Iterable[Any]) -> dict[int, tuple[Call, Message]]:
    """Return the calls of a trace with their observations, by the number of their entry."""
    return {
        number: (entry.step.call, entry.result)  # type: ignore[union-attr]
        for number, entry in enumerate(entries)
        if isinstance(entry, Entry) and entry.kind == "act"
    }


def key(call: Call) -> str:
    """Return a text that is the same for calls of the same tool with the same arguments."""
    return f"{call.name} {canonical(call.arguments).decode()}"


def ask(call: str) -> bool:
    """Ask the person at the keyboard; return False if nobody can be asked."""
    try:
        return input(f"Really call {call}? This cannot be undone. [y/N] ").strip().lower() in ("y", "yes")
    except (EOFError, RuntimeError, NotImplementedError):  # a program executes the notebook
        return False


def _description(call: Call) -> str:
    return f"{literal.text(call.name)} with {mask(canonical(mask_json(call.arguments)).decode())}"


def _awaited(value: Any) -> Any:
    from agentkit.core import background

    async def await_value() -> Any:
        return await value

    return background.wait(background.submit(await_value()))


def _masked(message: Message) -> Message:
    return replace(message, text=mask(message.text), value=mask_json(message.value))
