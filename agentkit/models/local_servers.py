"""Find model servers on this machine: asked without keys, all at once, and not for long.

A tape that is in place records what they say, or plays it.
"""

from __future__ import annotations

import http.client
import json
import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import wait
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from agentkit.config import read_config
from agentkit.core import background
from agentkit.errors import NotRecorded
from agentkit.models import ollama
from agentkit.models.transport import clients

PATIENCE = 0.2
"""Seconds in which a server must have answered, to be found."""

USUAL = {
    "LM Studio": "http://127.0.0.1:1234/v1",
    "llama.cpp": "http://127.0.0.1:8080/v1",
    "vLLM": "http://127.0.0.1:8000/v1",
}
"""Where the usual servers listen, beside Ollama."""

_BYTES = 1_000_000


@dataclass(slots=True, frozen=True)
class Found:
    """A server that answers, and the names of its models, the one that it offers first in front."""

    server: str
    address: str
    models: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The models as agentkit calls them."""
        if self.server == "Ollama":
            return tuple(f"ollama:{name}" for name in self.models)
        return tuple(f"{self.address}#{name}" for name in self.models)


def places() -> dict[str, str]:
    """Give the servers that are looked for: those that AGENTKIT_LOCAL or `local` in config.toml name, else the usual ones.

    Both are URLs ("none" looks for nothing), in the variable with commas between.
    """
    named: Any = os.environ.get("AGENTKIT_LOCAL")
    named = named.split(",") if named is not None else read_config().get("local")
    if named is None:
        return {"Ollama": ollama.base(), **USUAL}
    return {address: address for each in named if (address := str(each).strip().rstrip("/")) not in ("", "none")}


def servers() -> list[Found]:
    """Give the servers that answer now and have a model."""
    listening = [(name, address) for name, address in places().items() if _listens(address)]
    if not listening:
        return []
    asked = [background.in_thread(_asking(name, address)) for name, address in listening]
    wait(asked, None if clients.is_played() else PATIENCE)
    answered = [future.result() for future in asked if future.done() and not future.exception()]
    return [found for found in answered if found.models]


def _listens(address: str) -> bool:
    """Say whether somebody takes connections there; on this machine that is known at once; a tape knows whom it has heard."""
    if clients.is_played():
        return clients.inserted.has(address)
    parts = urlsplit(address)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 80), timeout=PATIENCE / 4).close()
    except (OSError, ValueError):
        return False
    return True


def _asking(name: str, address: str) -> Callable[[], Found]:
    return lambda: Found(name, address, models_at(address, PATIENCE))


def models_at(address: str, seconds: float) -> tuple[str, ...]:
    """Give the names of the models that a server offers, without those that only embed. Raises `OSError` or `ValueError`."""
    is_ollama = urlsplit(address).path in ("", "/")
    data = ask(address, "/api/tags" if is_ollama else "/models", seconds)
    listed = data.get("models" if is_ollama else "data") if isinstance(data, dict) else None
    return tuple(name for name in _names(listed, "name" if is_ollama else "id") if "embed" not in name.lower())


def _names(listed: Any, key: str) -> Iterator[str]:
    for each in listed if isinstance(listed, list) else ():
        if isinstance(each, dict) and isinstance(each.get(key), str) and each[key]:
            yield each[key]


def can(address: str, model: str, seconds: float = 1.0) -> list[str] | None:
    """Give what an Ollama server says that a model can do ("tools", "thinking" …); None where it does not say."""
    try:
        data = ask(address, "/api/show", seconds, {"model": model})
    except (OSError, ValueError, http.client.HTTPException, NotRecorded):
        return None
    found = data.get("capabilities") if isinstance(data, dict) else None
    return found if isinstance(found, list) else None


def ask(address: str, path: str, seconds: float, body: Any = None) -> Any:
    """Ask a server for JSON, without a key. Raises `OSError` or `ValueError` where it gives none."""
    parts = urlsplit(address)
    method, data = ("GET", b"") if body is None else ("POST", json.dumps(body).encode())
    target, tape = parts.path.rstrip("/") + path, clients.inserted
    if tape is None:
        return json.loads(_asked(address, method, target, data, seconds))
    url = f"{parts.scheme}://{parts.netloc}{target}"
    return json.loads(tape.ask(method, url, data, lambda: _asked(address, method, target, data, seconds)))


def _asked(address: str, method: str, target: str, data: bytes, seconds: float) -> bytes:
    parts = urlsplit(address)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=seconds)
    try:
        connection.request(method, target, data or None, {"accept": "application/json"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise ValueError(f"{parts.netloc} says {answer.status}")
        return answer.read(_BYTES)
    finally:
        connection.close()
