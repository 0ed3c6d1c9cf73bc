"""Servers for tests, and a client that reads their streams."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2

from agentkit import Agent
from agentkit.serve import Server, serve

TOKEN, WATCH_TOKEN = "t0ken-that-lets-in", "t0ken-for-watching"


@dataclass
class Frame:
    """A frame of a stream."""

    event: str = ""
    id: str = ""
    data: dict[str, Any] = field(default_factory=dict)


def frames(lines: Iterable[str]) -> Iterator[Frame]:
    """Yield the frames of a stream of server-sent events."""
    frame = Frame()
    for line in lines:
        name, _, value = line.partition(": ")
        if name == "event":
            frame.event = value
        elif name == "id":
            frame.id = value
        elif name == "data":
            frame.data = json.loads(value)
        elif not line and frame.event:
            yield frame
            frame = Frame()


class Client:
    """A client of a server, with its token."""

    def __init__(self, url: str, token: str = TOKEN) -> None:
        headers = {"authorization": f"Bearer {token}"}
        self.http = httpx2.Client(base_url=url, headers=headers, timeout=60, limits=httpx2.Limits(max_connections=None))

    def get(self, path: str, **options: Any) -> Any:
        return self.http.get(path, **options)

    def post(self, path: str, data: Any = None, **options: Any) -> Any:
        return self.http.post(path, json={} if data is None else data, **options)

    def start(self, task: str = "go", **body: Any) -> str:
        """Start a run, and return its id."""
        answer = self.post("/runs", {"task": task, **body})
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    @contextmanager
    def stream(self, id: str, after: str = "", *, header: bool = True) -> Iterator[Iterator[Frame]]:
        """Open the stream of a run after the frame with an id."""
        headers = {"last-event-id": after} if after and header else {}
        params = {"after": after} if after and not header else {}
        with self.http.stream("GET", f"/runs/{id}/events", headers=headers, params=params) as answer:
            assert answer.status_code == 200, answer.read()
            yield frames(answer.iter_lines())

    def events(self, id: str, after: str = "") -> list[Frame]:
        """Return the frames of a run until its stream ends."""
        with self.stream(id, after) as found:
            return list(found)

    def close(self) -> None:
        self.http.close()


@contextmanager
def serving(agent: Agent, **options: Any) -> Iterator[tuple[Server, Client]]:
    """Serve an agent, with a client."""
    with serve(agent, token=TOKEN, watch_token=WATCH_TOKEN, **options) as server:
        client = Client(server.url)
        try:
            yield server, client
        finally:
            client.close()
