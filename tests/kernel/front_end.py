"""The front end without a page: it shows the view of a run, sends commands to it, and receives its messages."""

from __future__ import annotations

import queue
import uuid
from collections.abc import Callable
from typing import Any

Data = dict[str, Any]

HELLO_INTERVAL = 3.0
"""Seconds without an answer after which a page sends hello again."""


class FrontEnd:
    """A view of a run that talks to the kernel as JupyterLab does: on the main shell, or on a subshell."""

    def __init__(self, kernel: Any, subshell: bool) -> None:
        self.kernel = kernel
        self.subshell = self._new_subshell() if subshell else None
        self.comm = ""
        self.messages: list[Data] = []
        self.answers: dict[str, Data] = {}
        kernel.listeners.append(self._receive)

    def show(self, code: str) -> None:
        """Run a cell that shows a run, and send hello to its widget."""
        self.kernel.run(code)
        assert self.comm, "the cell did not show a widget"
        self.hello()
        self.until(lambda: any(message["t"] == "reset" for message in self.messages))

    def hello(self) -> None:
        """Ask for the whole state."""
        self.send({"t": "hello", "v": 1, "have": 0, "can": {"insert": False, "settle": False}})

    def send(self, content: Data) -> None:
        """Send a message to the widget."""
        data = {"method": "custom", "content": content}
        message = self.kernel.client.session.msg("comm_msg", {"comm_id": self.comm, "data": data})
        if self.subshell:
            message["header"]["subshell_id"] = self.subshell
        self.kernel.client.shell_channel.send(message)

    def command(self, cmd: str, **arguments: Any) -> str:
        """Send a command, and return the id of its answer."""
        cid = uuid.uuid4().hex
        self.send({"t": "cmd", "v": 1, "cid": cid, "cmd": cmd, **arguments})
        return cid

    def answer(self, cid: str) -> Any:
        """Wait until a command has been carried out, and return its result."""
        self.until(lambda: cid in self.answers)
        assert self.answers[cid]["t"] == "ack", self.answers[cid]
        return self.answers[cid]["result"]

    def until(self, condition: Callable[[], bool]) -> None:
        """Listen until a condition is true; if that takes long, send hello again, as a page does.

        ipykernel 7.0 to 7.3 can overlook a request that arrives while it sends a reply (its issue 1554), until the
        next.
        """
        for _ in range(10):
            if condition():
                return
            try:
                return self.kernel.listen(lambda *_: condition(), HELLO_INTERVAL)
            except queue.Empty:
                self.hello()
        raise AssertionError(f"never true; the last messages: {self.messages[-3:]}")

    def expect_no_answer(self, seconds: float) -> None:
        """Listen for some time, and check that no command is answered."""
        before = dict(self.answers)
        try:
            self.kernel.listen(lambda *_: False, seconds)
        except queue.Empty:
            pass
        assert self.answers == before, "answered while the cell ran, which this kernel is not known to do"

    def close(self) -> None:
        """Stop listening."""
        self.kernel.listeners.remove(self._receive)

    def _receive(self, message: Data) -> None:
        content = message["content"]
        if message["msg_type"] == "comm_open" and "run_id" in content["data"].get("state", {}):
            self.comm = content["comm_id"]
        elif (
            message["msg_type"] == "comm_msg"
            and content["comm_id"] == self.comm
            and content["data"]["method"] == "custom"
        ):
            received = content["data"]["content"]
            self.messages.append(received)
            if received["t"] in ("ack", "nak"):
                self.answers[received["cid"]] = received

    def _new_subshell(self) -> str:
        control = self.kernel.client.control_channel
        control.send(self.kernel.client.session.msg("create_subshell_request"))
        return str(control.get_msg(timeout=10)["content"]["subshell_id"])
