"""A host on a real local socket that answers with exactly the bytes that a test provides."""

from __future__ import annotations

import contextlib
import json
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from agentkit.models.stream_collector import StreamCollector
from agentkit.models.transport.stream_reader import StreamReader

Act = Callable[[socket.socket, threading.Event], Any]


@dataclass
class Got:
    """One request that arrived."""

    line: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class Loopback:
    """A host that answers the first connection with the first act, and so on; the last act is repeated.

    `got` contains the requests that arrived, `connections` counts on how many. A connection ends after one response,
    unless the host `keeps` it; `tls` is the context of a host that speaks TLS.
    """

    acts: list[Act | bytes]
    keeps: bool = False
    tls: ssl.SSLContext | None = None
    connections: int = 0
    got: list[Got] = field(default_factory=list)
    open: int = 0

    def __enter__(self) -> Loopback:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._port = self._socket.getsockname()[1]
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._count = 0
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._over.set()
        with contextlib.suppress(OSError):
            self._socket.shutdown(
                socket.SHUT_RDWR
            )  # wakes the accepting thread; closing alone would let one more connection in
        self._socket.close()

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://{self.host}"

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with self.tls.wrap_socket(connection, server_side=True) if self.tls else connection as connection:
                with self._lock:
                    self.open += 1
                    self.connections += 1
                try:
                    connection.settimeout(30)
                    while self._answer(connection) and self.keeps:
                        pass
                    connection.shutdown(socket.SHUT_RDWR)
                finally:
                    with self._lock:
                        self.open -= 1

    def _answer(self, connection: socket.socket) -> bool:
        """Answer one request, and return whether there was one."""
        if (got := read_request(connection)) is None:
            return False
        with self._lock:
            act = self.acts[min(self._count, len(self.acts) - 1)]
            self._count += 1
            self.got.append(got)
        if isinstance(act, bytes):
            connection.sendall(act)
        else:
            act(connection, self._over)
        return True

    def wait_closed(self, seconds: float = 10.0) -> bool:
        """Wait until all connections are closed, and return whether they are; a stalling act keeps its own open for
        longer.
        """
        end = time.monotonic() + seconds
        while self.open and time.monotonic() < end:
            time.sleep(0.005)
        return not self.open


def read_request(connection: socket.socket) -> Got | None:
    """Return one request with its body, or None if the other side has disconnected."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    line, *rest = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (item.partition(":") for item in rest)}
    while len(body) < int(headers.get("content-length", "0")):
        if not (piece := connection.recv(65536)):
            return None
        body += piece
    return Got(line, headers, body, time.monotonic())


def answer(body: bytes | str, status: str = "200 OK", kind: str = "text/event-stream", **headers: str) -> bytes:
    """Return a complete response with its length."""
    body = body.encode() if isinstance(body, str) else body
    more = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{more}\r\n".encode() + body


def fault(status: str, message: str, **headers: str) -> bytes:
    """Return a response that is an error in the form of OpenAI."""
    return answer(json.dumps({"error": {"message": message}}), status, "application/json", **headers)


def parts(pieces: Iterable[bytes], *, whole: bool = True, pause: float = 0.0, kind: str = "text/event-stream") -> Act:
    """Return an act that sends a response in HTTP chunks, one by one; without `whole`, the connection ends midway."""

    def act(connection: socket.socket, over: threading.Event) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n".encode())
        for piece in pieces:
            connection.sendall(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            over.wait(pause)
        if whole:
            connection.sendall(b"0\r\n\r\n")

    return act


def stall(pieces: Iterable[bytes], seconds: float = 30.0) -> Act:
    """Return an act that begins a response and then sends nothing more."""
    begin = parts(pieces, whole=False)

    def act(connection: socket.socket, over: threading.Event) -> None:
        begin(connection, over)
        connection.settimeout(seconds)
        with contextlib.suppress(OSError):
            connection.recv(1)  # returns as soon as the other side closes

    return act


def gather(reader: StreamReader, pieces: list[bytes], into: StreamCollector) -> None:
    """Read pieces as a stream does, into a collector. Raises `ModelError`; the pieces before it are collected."""
    for piece in pieces:
        for chunk in reader.feed(piece):
            into.add(chunk)
        if reader.done:
            break
    for chunk in reader.end():
        into.add(chunk)


def cut(data: bytes, size: int) -> list[bytes]:
    """Return bytes in pieces of a size; 0 means one piece."""
    return [data[at : at + size] for at in range(0, len(data), size)] if size else [data]


def sse(*events: Any) -> bytes:
    """Return server-sent events as OpenAI sends them; `[DONE]` is not added."""
    return b"".join(
        b"data: " + (item if isinstance(item, bytes) else json.dumps(item).encode()) + b"\n\n" for item in events
    )


def delta(finish: str | None = None, usage: Any = None, **content: Any) -> dict[str, Any]:
    """Return one chunk of a chat completion."""
    chunk: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": content, "finish_reason": finish}],
    }
    return chunk | ({"usage": usage} if usage else {})


def completion(text: str, **more: Any) -> bytes:
    """Return a complete stream with one text."""
    return sse(delta(role="assistant", content=text), delta("stop", **more), b"[DONE]")


def calling(name: str, arguments: str, id: str = "call_1") -> bytes:
    """Return a complete stream that calls one tool."""
    call = {"index": 0, "id": id, "type": "function", "function": {"name": name, "arguments": ""}}
    rest = [{"index": 0, "function": {"arguments": item.decode()}} for item in cut(arguments.encode(), 5)]
    deltas = [delta(role="assistant", tool_calls=[call]), *(delta(tool_calls=[item]) for item in rest)]
    return sse(*deltas, delta("tool_calls"), b"[DONE]")


def message(*blocks: dict[str, Any], stop: str = "end_turn", ends: bool = True) -> bytes:
    """Return a complete stream with these blocks in the form of Anthropic."""
    begin = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "stop_reason": None}
    begin |= {"stop_sequence": None, "usage": {"input_tokens": 9, "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begin}]
    for index, block in enumerate(blocks):
        kind = block["type"]
        empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}.get(
            kind, {}
        )
        events.append({"type": "content_block_start", "index": index, "content_block": {**block, **empty}})
        written = json.dumps(block.get("input", {}))
        deltas = {
            "text": [
                {"type": "text_delta", "text": piece}
                for piece in (block.get("text", "")[:2], block.get("text", "")[2:])
            ],
            "thinking": [
                {"type": "thinking_delta", "thinking": block.get("thinking", "")},
                {"type": "signature_delta", "signature": block.get("signature", "")},
            ],
            "tool_use": [
                {"type": "input_json_delta", "partial_json": piece} for piece in ("", written[:3], written[3:])
            ],
        }.get(kind, [])
        events += [{"type": "content_block_delta", "index": index, "delta": item} for item in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events.append(
        {"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 7}}
    )
    if ends:
        events.append({"type": "message_stop"})
    return b"".join(
        b"event: " + item["type"].encode() + b"\ndata: " + json.dumps(item).encode() + b"\n\n" for item in events
    )


def lines(*objects: dict[str, Any]) -> bytes:
    """Return a stream of JSON lines as Ollama sends them."""
    return b"".join(
        json.dumps({"model": "m", "created_at": "2026-01-01T00:00:00Z", **item}).encode() + b"\n" for item in objects
    )
