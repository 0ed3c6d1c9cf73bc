"""Find model servers on this machine: asked without keys, all at the same time, and only for a moment.

An inserted tape records what they say, or plays it.
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
from agentkit.models.transport import clients, errors

TIME_TO_ANSWER = 0.2
"""Seconds in which a server must answer to be found."""

USUAL = {
    "LM Studio": "http://127.0.0.1:1234/v1",
    "llama.cpp": "http://127.0.0.1:8080/v1",
    "vLLM": "http://127.0.0.1:8000/v1",
}
"""Where the usual servers listen, apart from Ollama."""

_MAX_BYTES = 1_000_000
_MAX_ERROR = 2_000  # bytes


class ServerRefused(ValueError):
    """A server answered, but not with what it was asked for; the text says with what."""

    def __init__(self, status: int, text: str) -> None:
        loading = "it is still loading its model: try again in a moment"
        super().__init__(loading if status == 503 else f"it answered {status}{text and ': '}{text}")
        self.status = status


@dataclass(slots=True, frozen=True)
class FoundServer:
    """A server that answers, and the names of its models in its own order, or what it said instead (`problem`)."""

    server: str
    address: str
    models: tuple[str, ...]
    problem: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The models by the names that agentkit knows them by."""
        if self.server == "Ollama":
            return tuple(f"ollama:{name}" for name in self.models)
        return tuple(f"{self.address}#{name}" for name in self.models)


def addresses() -> dict[str, str]:
    """Return the servers to look for, by name: those in AGENTKIT_LOCAL or in `local` of config.toml, else the usual
    ones.

    Both hold URLs, the variable separated by commas; "none" looks for nothing.
    """
    configured: Any = os.environ.get("AGENTKIT_LOCAL")
    configured = configured.split(",") if configured is not None else read_config().get("local")
    if configured is None:
        return {"Ollama": ollama.server_url(), **USUAL}
    urls = [str(url).strip().rstrip("/") for url in configured]
    return {url: url for url in urls if url not in ("", "none")}


def servers() -> list[FoundServer]:
    """Return the servers that answer now and have a model."""
    return [found for found in all_servers() if found.models]


def all_servers() -> list[FoundServer]:
    """Return the servers that answer now, even those that do not list their models."""
    listening = [(name, address) for name, address in addresses().items() if _is_listening(address)]
    if not listening:
        return []
    asked = [background.in_thread(_question(name, address)) for name, address in listening]
    wait(asked, None if clients.is_replaying() else TIME_TO_ANSWER)
    return [future.result() for future in asked if future.done() and not future.exception()]


def _is_listening(address: str) -> bool:
    """Return whether a server accepts connections, which is known at once on this machine; on a tape, whether it was
    asked.
    """
    if clients.is_replaying():
        return clients.inserted_tape.has(address)
    parts = urlsplit(address)
    try:
        socket.create_connection((parts.hostname or "", parts.port or 80), timeout=TIME_TO_ANSWER / 4).close()
    except (OSError, ValueError):
        return False
    return True


def _question(name: str, address: str) -> Callable[[], FoundServer]:
    def ask_server() -> FoundServer:
        try:
            return FoundServer(name, address, models_at(address, TIME_TO_ANSWER))
        except ServerRefused as error:
            if error.status != 404 or urlsplit(address).path not in ("", "/"):
                return FoundServer(name, address, (), str(error))
        base = f"{address.rstrip('/')}/v1"  # not Ollama: the address of a server with OpenAI's API, without its path
        try:
            return FoundServer(name if name != address else base, base, models_at(base, TIME_TO_ANSWER))
        except ServerRefused as error:
            return FoundServer(name, address, (), str(error))

    return ask_server


def models_at(address: str, seconds: float) -> tuple[str, ...]:
    """Return the names of a server's models, except those for embeddings. Raises `OSError` or `ValueError`."""
    is_ollama = urlsplit(address).path in ("", "/")
    data = ask(address, "/api/tags" if is_ollama else "/models", seconds)
    listed = data.get("models" if is_ollama else "data") if isinstance(data, dict) else None
    return tuple(name for name in _names(listed, "name" if is_ollama else "id") if "embed" not in name.lower())


def _names(listed: Any, key: str) -> Iterator[str]:
    for model in listed if isinstance(listed, list) else ():
        if isinstance(model, dict) and isinstance(model.get(key), str) and model[key]:
            yield model[key]


def capabilities(address: str, model: str, seconds: float = 1.0) -> list[str] | None:
    """Return what a model of an Ollama server can do ("tools", "thinking" …), or None if the server does not say."""
    try:
        data = ask(address, "/api/show", seconds, {"model": model})
    except (OSError, ValueError, http.client.HTTPException, NotRecorded):
        return None
    found = data.get("capabilities") if isinstance(data, dict) else None
    return found if isinstance(found, list) else None


def ask(address: str, path: str, seconds: float, body: Any = None) -> Any:
    """Return the JSON that a server answers, asked without a key. Raises `OSError` or `ValueError`."""
    parts = urlsplit(address)
    method, data = ("GET", b"") if body is None else ("POST", json.dumps(body).encode())
    target, tape = parts.path.rstrip("/") + path, clients.inserted_tape
    if tape is None:
        return json.loads(_response(address, method, target, data, seconds))
    url = f"{parts.scheme}://{parts.netloc}{target}"
    return json.loads(tape.ask(method, url, data, lambda: _response(address, method, target, data, seconds)))


def _response(address: str, method: str, target: str, data: bytes, seconds: float) -> bytes:
    parts = urlsplit(address)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=seconds)
    try:
        connection.request(method, target, data or None, {"accept": "application/json"})
        response = connection.getresponse()
        if response.status != 200:
            raise ServerRefused(response.status, errors.error_text_in(response.read(_MAX_ERROR)))
        return response.read(_MAX_BYTES)
    finally:
        connection.close()
