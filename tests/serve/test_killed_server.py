"""A server that is killed in the middle of its runs and started again: streams and runs go on, and nothing is repeated.

`AGENTKIT_SIZE` is the number of runs.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from serving import TOKEN, Client, Frame

pytestmark = pytest.mark.slow
SIZE = int(os.environ.get("AGENTKIT_SIZE", "20"))
STEPS = 12

AGENT = f"""
import os, time
from agentkit import Agent, Call, Reply, tool
from agentkit.models.base import Abilities

PAID = os.path.join(os.path.dirname(__file__), "paid")

@tool(effect="irreversible", repeat="reuse")
def pay(task: str, number: int) -> str:
    \"\"\"Pay.\"\"\"
    with open(PAID, "a") as file:
        file.write(f"{{task}} {{number}}\\n")
    time.sleep(0.01)
    return f"paid {{number}}"

class Model:
    name = "payer"
    abilities = Abilities(tools=True)

    def __call__(self, request):
        time.sleep(0.02)
        messages = list(request.messages)
        task = next(m["content"] for m in messages if m["role"] == "user")
        paid = sum(m["role"] == "tool" for m in messages)
        if paid == {STEPS}:
            return "all is paid"
        return Reply("", (Call("pay", {{"task": task, "number": paid}}, f"c{{paid}}"),))

agent = Agent(Model(), [pay], engine={{"engine": "react", "max_iterations": 100}}, journal=os.path.join(os.path.dirname(__file__), "runs.db"))
"""


@contextlib.contextmanager
def served(folder: Path) -> Iterator[tuple[subprocess.Popen[str], Client]]:
    """The command as a process of its own."""
    environment = {**os.environ, "AGENTKIT_SERVE_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "agentkit", "serve", "payer:agent", "--port", "0"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        client = Client(process.stdout.readline().partition("/?")[0])
        yield process, client
        client.close()
    finally:
        process.kill()
        process.communicate()


def watch(client: Client, id: str, seen: list[Frame], after: str = "") -> None:
    """Note the frames of a run until its stream ends, or the server is gone."""
    with contextlib.suppress(httpx2.TransportError), client.stream(id, after) as found:
        for frame in found:
            seen.append(frame)


def last_of(seen: list[Frame]) -> str:
    return next((frame.id for frame in reversed(seen) if frame.id), "")


def in_threads(ids: list[str], do: Any) -> list[threading.Thread]:
    threads = [threading.Thread(target=do, args=(id,)) for id in ids]
    for thread in threads:
        thread.start()
    return threads


def test_after_a_kill_streams_and_runs_go_on_where_they_were(tmp_path: Path) -> None:
    (tmp_path / "payer.py").write_text(AGENT, encoding="utf-8")
    seen: dict[str, list[Frame]] = {}
    with served(tmp_path) as (process, client):
        for n in range(SIZE):
            seen[client.start(f"task{n}")] = []
        watching = in_threads(list(seen), lambda id: watch(client, id, seen[id]))
        end = time.monotonic() + 120
        while sum(len(frames) for frames in seen.values()) < SIZE * STEPS and time.monotonic() < end:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        for thread in watching:
            thread.join(60)
    begun = {id: len(frames) for id, frames in seen.items()}
    assert any(frames and frames[-1].event != "done" for frames in seen.values())  # it was in the middle

    with served(tmp_path) as (_, client):
        listed = {line["id"]: line["status"] for line in client.get("/runs").json()["runs"]}
        assert set(listed) == set(seen) and "running" not in listed.values()
        watching = in_threads(list(seen), lambda id: watch(client, id, seen[id], last_of(seen[id])))
        for id, status in listed.items():
            assert client.post(f"/runs/{id}/resume").status_code == (409 if status == "done" else 202)
        waiting = set(seen)
        while waiting:  # a call of which nobody knows whether it was made is asked about
            for id in list(waiting):
                about = client.get(f"/runs/{id}").json()
                if about["status"] == "done":
                    waiting.discard(id)
                elif about["status"] == "waiting":
                    [asked] = about["waiting"]
                    body = {"which": asked["which"], "respond": f"paid {asked['arguments']['number']}"}
                    assert client.post(f"/runs/{id}/decide", body).status_code == 202
            time.sleep(0.05)
        for thread in watching:
            thread.join(120)
        for id, frames in seen.items():
            whole = [(f.id, f.event, f.data) for f in client.events(id) if f.id]
            assert [(f.id, f.event, f.data) for f in frames if f.id] == whole, (id, begun[id])
            assert frames[-1].event == "done" and frames[-1].data["answer"] == "all is paid"

    paid = Counter((tmp_path / "paid").read_text().splitlines())
    assert set(paid.values()) == {1}
    lost = {f"task{n} {number}" for n in range(SIZE) for number in range(STEPS)} - set(paid)
    assert len(lost) <= SIZE  # at most the one that was out: a person has said that it was paid
