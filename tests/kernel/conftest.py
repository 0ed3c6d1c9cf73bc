"""A real kernel that gets messages as from a notebook; no browser."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from jupyter_client.manager import KernelManager

LONG_ENOUGH = 30
"""Seconds after which a cell counts as hanging."""


@dataclass
class Cell:
    """The result of a cell: its output as text, the type and the text of its error, and whether it has ended."""

    text: str = ""
    error: str = ""
    error_text: str = ""
    has_ended: bool = False


class Kernel:
    """A kernel and its only client."""

    def __init__(self, manager: KernelManager) -> None:
        self.manager = manager
        self.client = manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=LONG_ENOUGH)
        self.cells: dict[str, Cell] = {}
        self._replied: set[str] = set()
        self.listeners: list[Callable[[dict[str, Any]], None]] = []

    def send(self, code: str) -> str:
        """Submit a cell without waiting for it, and return its id."""
        id = self.client.execute(code, allow_stdin=False)
        self.cells[id] = Cell()
        return str(id)

    def finish(self, id: str) -> Cell:
        """Wait until a cell has ended."""
        if not self.cells[id].has_ended:
            self.listen(lambda *_: self.cells[id].has_ended)
        while id not in self._replied:  # ipykernel 7 can overlook a request while it sends a reply: its issue 1554
            self._replied.add(self.client.get_shell_msg(timeout=LONG_ENOUGH)["parent_header"]["msg_id"])
        return self.cells[id]

    def wait_for_output(self, id: str, text: str) -> None:
        """Wait until a cell has printed a text, whether it has ended or not."""
        if text not in self.cells[id].text:
            self.listen(lambda parent, content: text in self.cells[id].text)

    def run(self, code: str) -> str:
        """Run a cell that must not fail, and return its output."""
        cell = self.finish(self.send(code))
        assert not cell.error, f"{cell.error}: {cell.error_text}"
        return cell.text.strip()

    def wait_until(self, expression: str) -> None:
        """Evaluate an expression in the kernel until it is true."""
        end = time.monotonic() + LONG_ENOUGH
        while self.run(f"print(bool({expression}))") != "True":
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.01)

    def interrupt(self, id: str) -> Cell:
        """Press the stop button while a cell runs."""
        self.manager.interrupt_kernel()
        return self.finish(id)

    def kill(self) -> None:
        """Kill the process without a warning."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def listen(self, is_enough: Callable[[str, dict[str, Any]], bool], seconds: float = LONG_ENOUGH) -> None:
        """Receive the messages of the kernel until `is_enough`. Raises `queue.Empty` if there is no message in time."""
        end = time.monotonic() + seconds
        while True:
            message = self.client.get_iopub_msg(timeout=max(0.0, end - time.monotonic()))
            parent, content = message["parent_header"].get("msg_id"), message["content"]
            _add_message(self.cells.get(parent, Cell()), message["msg_type"], content)
            for listener in self.listeners:
                listener(message)
            if is_enough(parent, content):
                return


def _add_message(cell: Cell, kind: str, content: dict[str, Any]) -> None:
    if kind == "stream":
        cell.text += content["text"]
    elif kind in ("execute_result", "display_data"):
        cell.text += content["data"]["text/plain"]
    elif kind == "status":
        cell.has_ended = content["execution_state"] == "idle"
    elif kind == "error":
        cell.error, cell.error_text = content["ename"], content["evalue"]


@contextmanager
def started(home: Path, **environment: str) -> Iterator[Kernel]:
    """Start a kernel that keeps its runs in `home` and listens at files instead of ports; shut it down in any case."""
    with tempfile.TemporaryDirectory() as folder:
        manager = KernelManager(transport="ipc", ip=f"{folder}/k")
        manager.start_kernel(
            env={**os.environ, "AGENTKIT_HOME": str(home), "AGENTKIT_NONINTERACTIVE": "0", **environment}
        )
        kernel = None
        try:
            kernel = Kernel(manager)
            yield kernel
        finally:
            if kernel is not None:
                kernel.client.stop_channels()
            manager.shutdown_kernel(now=True)
            manager.cleanup_resources()


@pytest.fixture
def start(home: Path) -> Iterator[Callable[[], Kernel]]:
    """Yield a function that starts kernels; they share the home of this test."""
    with ExitStack() as running:
        yield lambda: running.enter_context(started(home))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """Yield one kernel for all tests of a module."""
    with started(tmp_path_factory.mktemp("home")) as kernel:
        yield kernel


AGENT = '''
import sys, threading, time
from pathlib import Path
from agentkit import Agent, Call, Reply, tool
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

began, bell, threads = threading.Event(), threading.Event(), []

@tool(timeout=None)
def book(city: str) -> str:
    """Book a room; this takes until the bell rings."""
    with open("{effects}", "a") as file:
        file.write(city + "\\n")
    threads.append(threading.current_thread())
    began.set()
    for _ in range(3000):
        if bell.wait(0.01):
            break
    print("booked", city)
    return f"a room in {{city}}"

def booking(city):
    return Reply(f"I book {{city}}.", (Call("book", {{"city": city}}, city),))

def print_when_inside(file):
    """Print "inside" as soon as the main thread is in a module."""
    def check():
        while True:
            frame = sys._current_frames()[threading.main_thread().ident]
            while frame is not None:
                if frame.f_code.co_filename.endswith(file):
                    return print("inside", flush=True)
                frame = frame.f_back
            time.sleep(0.01)
    threading.Thread(target=check, daemon=True).start()

def last_messages():
    return [message["content"] for message in model.requests[-1]["messages"]]

model = Scripted([{script}], abilities=Abilities(tools=True))
agent = Agent(model, [book])
'''


@pytest.fixture
def first_cell(tmp_path: Path) -> Callable[..., str]:
    """Return a function that returns the first cell: an agent with a slow tool that records its effects, and a model
    that follows a script.
    """
    return lambda *script: AGENT.format(effects=tmp_path / "effects", script=", ".join(script))


@pytest.fixture
def effects(tmp_path: Path) -> Callable[[], list[str]]:
    """Return a function that returns what the tool really did, from the file that it wrote."""
    path = tmp_path / "effects"
    return lambda: path.read_text().split() if path.exists() else []
