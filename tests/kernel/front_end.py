"""What a page does, without a page: it shows the view of a run, sends it commands, and hears what comes of them."""

from __future__ import annotations

import queue
import uuid
from collections.abc import Callable
from typing import Any

Data = dict[str, Any]

PATIENCE = 3.0
"""Seconds without an answer after which a page says hello again."""


class FrontEnd:
    """One view of a run, which speaks with the kernel as JupyterLab does: on the main shell, or on a subshell of its own."""

    def __init__(self, kernel: Any, subshell: bool) -> None:
        self.kernel = kernel
        self.subshell = self._new_subshell() if subshell else None
        self.comm = ""
        self.heard: list[Data] = []
        self.answers: dict[str, Data] = {}
        kernel.listeners.append(self._hear)

    def show(self, code: str) -> None:
        """Run a cell that shows a run, and say hello to it."""
        self.kernel.run(code)
        assert self.comm, "the cell has shown no widget"
        self.hello()
        self.until(lambda: any(message["t"] == "reset" for message in self.heard))

    def hello(self) -> None:
        """Ask for all anew."""
        self.send({"t": "hello", "v": 1, "have": 0, "can": {"insert": False, "freeze": False}})

    def send(self, content: Data) -> None:
        """Send a message to the widget."""
        data = {"method": "custom", "content": content}
        message = self.kernel.client.session.msg("comm_msg", {"comm_id": self.comm, "data": data})
        if self.subshell:
            message["header"]["subshell_id"] = self.subshell
        self.kernel.client.shell_channel.send(message)

    def command(self, cmd: str, **given: Any) -> str:
        """Send a command, and give the name by which it is answered."""
        cid = uuid.uuid4().hex
        self.send({"t": "cmd", "v": 1, "cid": cid, "cmd": cmd, **given})
        return cid

    def answer(self, cid: str) -> Any:
        """Wait until a command was carried out, and give its result."""
        self.until(lambda: cid in self.answers)
        assert self.answers[cid]["t"] == "ack", self.answers[cid]
        return self.answers[cid]["result"]

    def until(self, true: Callable[[], bool]) -> None:
        """Listen until something is true; whenever that takes long say hello again, as a page does.

        An ipykernel of 7.0 to 7.3 can oversee a request that arrives while it sends a reply (its issue 1554), until the next.
        """
        for _ in range(10):
            if true():
                return
            try:
                return self.kernel.listen(lambda *_: true(), PATIENCE)
            except queue.Empty:
                self.hello()
        raise AssertionError(f"never so; the last that was heard: {self.heard[-3:]}")

    def silence(self, seconds: float) -> None:
        """Listen for some time, in which no command is answered."""
        before = dict(self.answers)
        try:
            self.kernel.listen(lambda *_: False, seconds)
        except queue.Empty:
            pass
        assert self.answers == before, "answered while the cell ran: better than what is known of this kernel"

    def close(self) -> None:
        """Hear nothing more."""
        self.kernel.listeners.remove(self._hear)

    def _hear(self, message: Data) -> None:
        content = message["content"]
        if message["msg_type"] == "comm_open" and "run_id" in content["data"].get("state", {}):
            self.comm = content["comm_id"]
        elif (
            message["msg_type"] == "comm_msg"
            and content["comm_id"] == self.comm
            and content["data"]["method"] == "custom"
        ):
            said = content["data"]["content"]
            self.heard.append(said)
            if said["t"] in ("ack", "nak"):
                self.answers[said["cid"]] = said

    def _new_subshell(self) -> str:
        control = self.kernel.client.control_channel
        control.send(self.kernel.client.session.msg("create_subshell_request"))
        return str(control.get_msg(timeout=10)["content"]["subshell_id"])
