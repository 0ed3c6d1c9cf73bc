"""A real kernel with the magics loaded, which runs cells as for a notebook; no browser."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from kernel.conftest import LONG_ENOUGH, started


@dataclass
class Cell:
    """The result of a cell: what it printed, what it showed (by MIME type), and its error."""

    messages: list[dict[str, Any]]
    reply: dict[str, Any]
    printed: str = ""
    stderr: str = ""
    shown: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""

    def __post_init__(self) -> None:
        for message in self.messages:
            kind, content = message["msg_type"], message["content"]
            if kind == "stream" and content["name"] == "stdout":
                self.printed += content["text"]
            elif kind == "stream":
                self.stderr += content["text"]
            elif kind in ("display_data", "execute_result"):
                self.shown.append(content["data"])
            elif kind == "error":
                self.error = "\n".join(content["traceback"])

    @property
    def text(self) -> str:
        """The plain text of everything that was shown."""
        return "\n".join(data["text/plain"] for data in self.shown)


class Notebook:
    """A kernel that runs one cell after the other."""

    def __init__(self, client: Any) -> None:
        self.client = client

    def cell(self, code: str) -> Cell:
        """Run a cell, which may fail."""
        messages: list[dict[str, Any]] = []
        reply = self.client.execute_interactive(
            code, output_hook=messages.append, timeout=LONG_ENOUGH, allow_stdin=False
        )
        return Cell(messages, reply["content"])

    def run(self, code: str) -> Cell:
        """Run a cell that must not fail."""
        cell = self.cell(code)
        assert cell.reply["status"] == "ok", cell.stderr + cell.error
        return cell

    def value(self, expression: str) -> str:
        """Return what a cell prints for an expression."""
        return self.run(f"print({expression})").printed.strip()

    def refuses(self, code: str) -> str:
        """Run a cell that must be refused in one line without a traceback, and return that line."""
        cell = self.cell(code)
        assert cell.reply["status"] == "error" and not cell.error, cell.error or f"{code} was accepted: {cell.text}"
        prefix, line = cell.stderr.split(": ", 1)
        assert prefix == "UsageError" and line.count("\n") == 1
        return line.strip()

    def completes(self, code: str) -> list[str]:
        """Return the completions at the end of a cell."""
        reply = self.client.complete(code, len(code), reply=True, timeout=LONG_ENOUGH)
        return list(reply["content"]["matches"])


SETUP = '''
from agentkit import Agent, Call, Reply, Run, ToolBox, tool
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

ordered = []

@tool(effect="pure")
def price(item: str) -> float:
    """Look up the price of an item."""
    return {"tea": 3.2, "cake": 4.5}[item]

@tool
def order(item: str) -> str:
    """Order an item."""
    ordered.append(item)
    return f"one {item}"

def calling(name, **arguments):
    return Reply(f"I use {name}.", (Call(name, arguments, name),))

def scripted(*replies):
    return Scripted(replies, abilities=Abilities(tools=True))

def trace():
    return [entry.kind for entry in agent_run.entries]

def last_messages(model):
    return [message["content"] for message in model.requests[-1]["messages"]]
'''


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Notebook]:
    """Yield one kernel for the tests of a module."""
    with started(tmp_path_factory.mktemp("home")) as running:
        notebook = Notebook(running.client)
        notebook.run("%load_ext agentkit\n" + SETUP)
        yield notebook


@pytest.fixture
def notebook(kernel: Notebook) -> Notebook:
    """Return the kernel of the module, with a new `model` that asks for the price of tea and then answers."""
    kernel.run('model = scripted(calling("price", item="tea"), "It is 3.2.", "It is 3.5.")')
    return kernel
