"""A real kernel, spoken to as a notebook speaks to it; no browser."""

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
"""Seconds after which a cell is taken to hang."""


@dataclass
class Cell:
    """What came of a cell: its output as text, the name and text of its error, if it raised, and whether it has ended."""

    text: str = ""
    error: str = ""
    says: str = ""
    ended: bool = False


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
        """Submit a cell and give its name, without waiting for it."""
        name = self.client.execute(code, allow_stdin=False)
        self.cells[name] = Cell()
        return str(name)

    def finish(self, name: str) -> Cell:
        """Wait until a cell has ended."""
        if not self.cells[name].ended:
            self.listen(lambda *_: self.cells[name].ended)
        while name not in self._replied:  # while it sends a reply, ipykernel 7 can oversee a request: its issue 1554
            self._replied.add(self.client.get_shell_msg(timeout=LONG_ENOUGH)["parent_header"]["msg_id"])
        return self.cells[name]

    def until_it_says(self, name: str, text: str) -> None:
        """Wait until a cell has printed something, whether it has ended or not."""
        if text not in self.cells[name].text:
            self.listen(lambda parent, content: text in self.cells[name].text)

    def run(self, code: str) -> str:
        """Run a cell that shall not fail, and give its output."""
        cell = self.finish(self.send(code))
        assert not cell.error, f"{cell.error}: {cell.says}"
        return cell.text.strip()

    def eventually(self, expression: str) -> None:
        """Ask the kernel, cell by cell, until an expression is true."""
        end = time.monotonic() + LONG_ENOUGH
        while self.run(f"print(bool({expression}))") != "True":
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.01)

    def interrupt(self, name: str) -> Cell:
        """Press the stop button while a cell runs."""
        self.manager.interrupt_kernel()
        return self.finish(name)

    def kill(self) -> None:
        """End the process as the operating system would, with no word to it."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def listen(self, enough: Callable[[str, dict[str, Any]], bool], seconds: float = LONG_ENOUGH) -> None:
        """Take in what the kernel says, whichever cell it belongs to, until it is enough; raises `queue.Empty` when it is not."""
        end = time.monotonic() + seconds
        while True:
            message = self.client.get_iopub_msg(timeout=max(0.0, end - time.monotonic()))
            parent, content = message["parent_header"].get("msg_id"), message["content"]
            _take(self.cells.get(parent, Cell()), message["msg_type"], content)
            for listener in self.listeners:
                listener(message)
            if enough(parent, content):
                return


def _take(cell: Cell, kind: str, content: dict[str, Any]) -> None:
    if kind == "stream":
        cell.text += content["text"]
    elif kind in ("execute_result", "display_data"):
        cell.text += content["data"]["text/plain"]
    elif kind == "status":
        cell.ended = content["execution_state"] == "idle"
    elif kind == "error":
        cell.error, cell.says = content["ename"], content["evalue"]


@contextmanager
def started(home: Path, **environment: str) -> Iterator[Kernel]:
    """Start a kernel that keeps its runs in `home`, over files instead of ports; whatever happens, it ends."""
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
    """Start kernels that share the home of this test."""
    with ExitStack() as running:
        yield lambda: running.enter_context(started(home))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """One kernel for all tests of a module."""
    with started(tmp_path_factory.mktemp("home")) as kernel:
        yield kernel


LESSON = '''
import sys, threading, time
from pathlib import Path
from agentkit import Agent, Call, Reply, tool
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

began, bell, threads = threading.Event(), threading.Event(), []

@tool(timeout=None)
def book(city: str) -> str:
    """Book a room; it takes until somebody rings the bell."""
    with open("{effects}", "a") as file:
        file.write(city + "\\n")
    threads.append(threading.current_thread())
    began.set()
    for _ in range(3000):
        if bell.wait(0.01):
            break
    print("booked", city)
    return f"a room in {{city}}"

def asks(city):
    return Reply(f"I book {{city}}.", (Call("book", {{"city": city}}, city),))

def tell_inside(file):
    """Print that the main thread is inside a module, as soon as it is."""
    def look():
        while True:
            frame = sys._current_frames()[threading.main_thread().ident]
            while frame is not None:
                if frame.f_code.co_filename.endswith(file):
                    return print("inside", flush=True)
                frame = frame.f_back
            time.sleep(0.01)
    threading.Thread(target=look, daemon=True).start()

def said():
    return [message["content"] for message in model.requests[-1]["messages"]]

model = Scripted([{script}], abilities=Abilities(tools=True))
agent = Agent(model, [book])
'''


@pytest.fixture
def lesson(tmp_path: Path) -> Callable[..., str]:
    """Give the first cell: an agent with a slow tool that notes its effects, and a model that follows a script."""
    return lambda *script: LESSON.format(effects=tmp_path / "effects", script=", ".join(script))


@pytest.fixture
def effects(tmp_path: Path) -> Callable[[], list[str]]:
    """What the tool really did, in the file that it wrote."""
    path = tmp_path / "effects"
    return lambda: path.read_text().split() if path.exists() else []
