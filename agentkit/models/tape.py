"""Record what really travels between agentkit and the hosts of models, and play it again without a network, byte for
byte.
"""

from __future__ import annotations

import base64
import functools
import itertools
import json
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, get_args

from agentkit.core import outside
from agentkit.core.checked_arguments import checked_names
from agentkit.core.messages import canonical, digest
from agentkit.core.secrets import Stream, mask, mask_json
from agentkit.core.text import error_line
from agentkit.errors import JournalTooNew, NotRecorded, UsageError
from agentkit.inert import inert
from agentkit.models.recording_file import save
from agentkit.models.transport import clients
from agentkit.models.urls import without_secrets

Mode = Literal["replay", "record", "auto"]
VERSION = 1
_HEADERS = ("content-type", "content-encoding", "retry-after", "retry-after-ms", "location")
"""The only headers of a response that are stored; of a request, none are."""


class Tape:
    """The HTTP exchanges of all models while it is inserted: `with Tape("tape.json", "record"): …`.

    "replay" answers from the tape alone and opens no connection, "record" starts it afresh, "auto" asks only for what
    is missing. A request is recognized by its path and its body; if several hosts were asked the same, each gives its
    own answers. Keys, cookies and anything that looks like a secret are never stored. Raises `NotRecorded` for a
    request that is not on the tape, and shows the closest one that is.
    """

    @checked_names
    def __init__(self, path: str | Path, mode: Mode = "replay") -> None:
        if mode not in get_args(Mode):
            raise UsageError(f"the mode of a tape must be one of {', '.join(get_args(Mode))}, not {mode!r}")
        self.path = outside.path_of(path, "a tape")
        self.mode: Mode = mode
        self.exchanges: list[dict[str, Any]] = [] if mode == "record" else _load(self.path, must_exist=mode == "replay")
        self._played: dict[str, int] = {}
        self._lock = threading.Lock()
        self._clients: dict[Any, Any] = {}
        self._before: Any = None

    def __enter__(self) -> Tape:
        self.insert()
        return self

    def __exit__(self, *error: Any) -> None:
        self.eject()

    def insert(self) -> None:
        """Put the tape between agentkit and the network, for all models of this process."""
        self._before = clients.inserted_tape
        clients.inserted_tape = self

    def eject(self) -> None:
        """Take the tape out again."""
        if clients.inserted_tape is self:
            clients.inserted_tape = self._before

    # -- for calls of models -------------------------------------------------------------------------------------------

    def client(self, is_local: bool) -> Any:
        """Return an HTTP client of the running event loop that goes through this tape."""
        import asyncio

        import httpx2

        key = (asyncio.get_running_loop(), is_local)
        with self._lock:
            if key not in self._clients:
                transport: Any = _TapeTransport(self, clients.network_client(is_local))
                self._clients[key] = httpx2.AsyncClient(transport=transport, **clients.shared_settings())
            return self._clients[key]

    def find(self, request: Any) -> dict[str, Any] | None:
        """Return the recorded response to a request, in the recorded order; None if the host must be asked."""
        asked = _description(request)
        key = _key(asked)
        with self._lock:
            if self.mode == "record":
                return None
            known = [exchange for exchange in self.exchanges if _key(exchange["request"]) == key]
            if same_host := [exchange for exchange in known if exchange["request"]["url"] == asked["url"]]:
                known, key = same_host, f"{key} {asked['url']}"
            if known:
                turn = min(self._played.get(key, 0), len(known) - 1)
                self._played[key] = turn + 1
                return known[turn]["response"]
        if self.mode == "replay":
            from agentkit.models.closest_recording import describe_miss

            bodies = [exchange["request"]["body"] for exchange in self.exchanges]
            recorded = [body for body in bodies if isinstance(body, dict)]
            raise NotRecorded(describe_miss(asked["body"], recorded, str(self.path)))
        return None

    def store(self, request: Any, status: int, headers: Any, pieces: list[bytes], broken: str) -> None:
        """Store one exchange without its secrets, and write the tape.

        `broken` is how the connection broke, if it did.
        """
        asked = _description(request)
        kept = {name: mask(headers[name]) for name in _HEADERS if name in headers}
        if "content-encoding" in kept and (unpacked := _unpacked_if_secret(kept["content-encoding"], pieces)):
            pieces = [unpacked]
            del kept["content-encoding"]
        response = {
            "status": status,
            "headers": kept,
            **_written(pieces),
            **({"broken": mask(broken)} if broken else {}),
        }
        with self._lock:
            self.exchanges.append({"request": asked, "response": response})
            key = f"{_key(asked)} {asked['url']}"
            self._played[key] = self._played.get(key, 0) + 1
            save(self.path, {"agentkit_tape": VERSION, "exchanges": self.exchanges})

    # -- for questions about local servers -----------------------------------------------------------------------------

    def has(self, address: str) -> bool:
        """Return whether the tape holds an exchange with a server."""
        prefix = f"{without_secrets(address).rstrip('/')}/"
        return any(exchange["request"]["url"].startswith(prefix) for exchange in self.exchanges)

    def ask(self, method: str, url: str, body: bytes, ask_server: Callable[[], bytes]) -> bytes:
        """Return the recorded response to a question about a server, or ask the server and store what it says."""
        request = SimpleNamespace(method=method, url=url, content=body)
        if (recorded := self.find(request)) is not None:
            return b"".join(pieces_of(recorded))
        response = ask_server()
        self.store(request, 200, {"content-type": "application/json"}, [response], "")
        return response

    @inert
    def __repr__(self) -> str:
        return f"<Tape {str(self.path)!r}: {len(self.exchanges)} exchanges, {self.mode}>"


# -- between the HTTP client and the network ---------------------------------------------------------------------------


class _TapeTransport:
    """The transport of a client that goes through a tape: it plays recorded responses and records the others."""

    def __init__(self, tape: Tape, network: Any) -> None:
        self._tape = tape
        self._network = network

    async def handle_async_request(self, request: Any) -> Any:
        import httpx2

        await request.aread()
        if (recorded := self._tape.find(request)) is not None:
            stream = _byte_stream(_played(recorded), _close_nothing)
            return httpx2.Response(recorded["status"], headers=recorded.get("headers", {}), stream=stream)
        response = await self._network.send(request, stream=True)
        recording = _Recording(self._tape, request, response)
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            stream=_byte_stream(recording.pieces_as_they_arrive(), recording.close),
            extensions=response.extensions,
        )

    async def __aenter__(self) -> _TapeTransport:
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Do nothing: the client of the network belongs to all models."""


class _Recording:
    """One response that is being recorded. A response that a person stopped is not stored."""

    def __init__(self, tape: Tape, request: Any, response: Any) -> None:
        self._tape, self._request, self._response = tape, request, response
        self._pieces: list[bytes] = []
        self._broken = ""
        self._is_kept = True

    async def pieces_as_they_arrive(self) -> AsyncIterator[bytes]:
        """Yield the bytes of the response, and remember them and how the connection ended."""
        import httpx2

        try:
            async for piece in self._response.aiter_raw():
                self._pieces.append(piece)
                yield piece
        except httpx2.HTTPError as error:
            self._broken = str(error) or type(error).__name__
            raise
        except GeneratorExit:
            raise
        except BaseException:
            self._is_kept = self._request.extensions["is_over"]()
            raise

    async def close(self) -> None:
        """Close the response, and store it once."""
        await self._response.aclose()
        if self._is_kept:
            self._is_kept = False
            response = self._response
            self._tape.store(self._request, response.status_code, response.headers, self._pieces, self._broken)


async def _played(recorded: dict[str, Any]) -> AsyncIterator[bytes]:
    """Yield the recorded pieces; if the connection broke then, it breaks again."""
    import httpx2

    for piece in pieces_of(recorded):
        yield piece
    if broken := str(recorded.get("broken", "")):
        raise httpx2.RemoteProtocolError(broken)


async def _close_nothing() -> None:
    pass


def _byte_stream(pieces: AsyncIterator[bytes], close: Callable[[], Awaitable[None]]) -> Any:
    """Return the stream of a response that is read from `pieces`, and closed with `close`."""
    return _stream_class()(pieces, close)


@functools.cache
def _stream_class() -> Any:
    """Return a class that the HTTP client takes for a stream; it exists once the client has been imported."""
    import httpx2

    class TapeStream(httpx2.AsyncByteStream):
        def __init__(self, pieces: AsyncIterator[bytes], close: Callable[[], Awaitable[None]]) -> None:
            self._pieces, self._close = pieces, close

        def __aiter__(self) -> AsyncIterator[bytes]:
            return self._pieces

        async def aclose(self) -> None:
            await self._close()

    return TapeStream


# -- what is on a tape -------------------------------------------------------------------------------------------------


def _description(request: Any) -> dict[str, Any]:
    """Return what identifies a request, without secrets."""
    try:
        body = json.loads(request.content)
    except ValueError:
        body = {"text": request.content.decode("utf-8", "replace")}
    return {"method": request.method, "url": without_secrets(str(request.url)), "body": mask_json(body)}


def _key(asked: dict[str, Any]) -> str:
    path = "/" + str(asked["url"]).partition("://")[2].partition("/")[2]
    return digest(canonical([asked["method"], path, asked["body"]]))


def _unpacked_if_secret(encoding: str, pieces: list[bytes]) -> bytes:
    """Return a compressed response unpacked if there is a secret in it; else nothing."""
    import httpx2

    try:
        data = httpx2.Response(200, headers={"content-encoding": encoding}, content=b"".join(pieces)).content
    except httpx2.DecodingError:
        return b""
    text = data.decode("latin-1")
    return b"" if mask(text) == text else data


def _written(pieces: list[bytes]) -> dict[str, Any]:
    """Return bytes as text for people to read, with the sizes in which they arrived; if they are not
    text, as base64.
    """
    data = b"".join(pieces)
    sizes = " ".join(str(len(piece)) for piece in pieces)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        masked_data = mask(data.decode("latin-1")).encode("latin-1", "replace")
        return {"base64": base64.b64encode(masked_data).decode(), **({"sizes": sizes} if masked_data == data else {})}
    masked = mask(_masked_pieces(text))
    return {"text": text, "sizes": sizes} if masked == text else {"text": masked}


def _masked_pieces(text: str) -> str:
    """Return a response without the secrets that are spread over several lines of JSON, as hosts stream a reply.

    The texts at the same place of each line, such as `choices[0].delta.content`, are the pieces of one text.
    """
    lines = text.split("\n")
    objects = {number: data for number, line in enumerate(lines) if (data := _json_of(line)) is not None}
    pieces: dict[tuple[Any, ...], list[str]] = {}
    for data in objects.values():
        for place, piece in _texts(data, ()):
            pieces.setdefault(place, []).append(piece)
    streams = {place: Stream() for place, texts in pieces.items() if mask(whole := "".join(texts)) != whole}
    if not streams:
        return text
    left = {place: len(pieces[place]) for place in streams}

    def show(place: tuple[Any, ...], piece: str) -> str:
        if place not in streams:
            return piece
        left[place] -= 1
        return streams[place].add(piece) + ("" if left[place] else streams[place].end())

    for number, data in objects.items():
        start = lines[number].index("{")
        lines[number] = lines[number][:start] + json.dumps(_with_texts(data, (), show), ensure_ascii=False)
    return "\n".join(lines)


def _json_of(line: str) -> Any:
    """Return the object in a line of a stream, which may begin with `data:`; None if there is none."""
    try:
        return json.loads(line.removeprefix("data:")) if line.startswith(("data:", "{")) and "{" in line else None
    except (ValueError, RecursionError):
        return None


def _texts(data: Any, place: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], str]]:
    if isinstance(data, str):
        yield place, data
    elif isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else enumerate(data):
            yield from _texts(value, (*place, key))


def _with_texts(data: Any, place: tuple[Any, ...], change: Callable[[tuple[Any, ...], str], str]) -> Any:
    """Return JSON data with each text replaced by what `change` makes of it."""
    if isinstance(data, str):
        return change(place, data)
    if isinstance(data, list):
        return [_with_texts(value, (*place, key), change) for key, value in enumerate(data)]
    if isinstance(data, dict):
        return {key: _with_texts(value, (*place, key), change) for key, value in data.items()}
    return data


def pieces_of(response: dict[str, Any]) -> list[bytes]:
    """Return the bytes of a recorded response, in the pieces in which they arrived."""
    data = base64.b64decode(response["base64"]) if "base64" in response else str(response.get("text", "")).encode()
    sizes = [int(size) for size in str(response.get("sizes", "")).split()]
    if sum(sizes) != len(data):
        return [data]
    return [data[end - size : end] for size, end in zip(sizes, itertools.accumulate(sizes), strict=True)]


def _load(path: Path, *, must_exist: bool) -> list[dict[str, Any]]:
    try:
        tape = outside.parse_json(outside.read_file(path))
    except FileNotFoundError:
        if not must_exist:
            return []
        raise NotRecorded(f"there is no tape {path}; record it first: with Tape({str(path)!r}, 'record'): …") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} is not a tape: {error}") from None
    if not isinstance(tape, dict) or not isinstance(tape.get("exchanges"), list):
        raise UsageError(f"{path} is not a tape: it has no list of exchanges")
    if tape.get("agentkit_tape") != VERSION:
        raise JournalTooNew(
            f"the tape {path} has version {tape.get('agentkit_tape')!r:.40}; this agentkit reads {VERSION}"
        )
    for number, exchange in enumerate(tape["exchanges"], 1):
        try:
            _key(exchange["request"])
            pieces_of(exchange["response"])
            if not 100 <= exchange["response"]["status"] <= 999:
                raise ValueError("its status is not one of HTTP")
        except (TypeError, KeyError, ValueError, AttributeError, RecursionError, OverflowError) as error:
            problem = f"its exchange {number} cannot be read ({error_line(error)})"
            raise UsageError(f"{path} is not a tape: {problem}") from None
    return tape["exchanges"]
