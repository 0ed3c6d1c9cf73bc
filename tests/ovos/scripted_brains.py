"""Chat engines of OVOS that follow a script, as plug-ins: `installed` registers them as a package would."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from ovos_plugin_manager.templates.agents import AgentMessage, ChatEngine, MessageRole, ToolCall

POINTS = """\
[opm.agents.chat]
text-brain = ovos.scripted_brains:TextBrain
native-brain = ovos.scripted_brains:NativeBrain
broken-brain = ovos.scripted_brains:BrokenBrain
[opm.agents.toolbox]
broken-tools = ovos.scripted_brains:BrokenTools
"""


class TextBrain(ChatEngine):
    """A brain that says the lines of `script` in its configuration, over and over; `raises` is an error instead.

    A line is a text, or for a tool call a list of its name and arguments. `seen` holds what all brains were sent.
    """

    seen: list[dict[str, Any]] = []  # noqa: RUF012 - shared on purpose: a persona makes its own brains

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        super().__init__(config)
        self.calls = 0
        self.busy = threading.Lock()

    def continue_chat(
        self,
        messages: list[AgentMessage],
        session_id: str = "default",
        lang: str | None = None,
        units: str | None = None,
        tools: Any = None,
    ) -> AgentMessage:
        assert all(type(message) is AgentMessage and type(message.role) is MessageRole for message in messages)
        self.seen.append(
            {"messages": messages, "session": session_id, "lang": lang, "units": units, "tools": tools, "brain": self}
        )
        if "raises" in self.config:
            raise ConnectionError(self.config["raises"])
        if "echo" in self.config:
            return AgentMessage(MessageRole.ASSISTANT, f"{session_id}: {messages[-1].content}")
        script = self.config["script"]
        line = script[self.calls % len(script)]
        self.calls += 1
        if isinstance(line, str):
            return AgentMessage(MessageRole.ASSISTANT, line)
        name, arguments = line
        return AgentMessage(MessageRole.ASSISTANT, "", tool_calls=[ToolCall(f"call_{self.calls}", name, arguments)])


class NativeBrain(TextBrain):
    """A brain that calls tools natively."""

    supports_tools = True


class BrokenBrain(TextBrain):
    """A brain that cannot be made."""

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        raise OSError("the model file is missing")


class BrokenTools:
    """A toolbox that cannot be made."""

    def __init__(self, config: dict[str, Any] | None = None, bus: Any = None) -> None:
        raise OSError("no such device")


def install(folder: Path) -> None:
    """Write what makes a folder on the path a package with these plug-ins."""
    info = folder / "scripted_brains-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: scripted-brains\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
