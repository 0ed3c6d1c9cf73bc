"""Record what really travels between agentkit and a model's host, and play it again without a network, byte for byte."""

from __future__ import annotations

import base64
import itertools
import json
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, get_args

from agentkit.core.messages import canonical, digest
from agentkit.core.secrets import mask, mask_json
from agentkit.core.text import error_line
from agentkit.errors import JournalTooNew, NotRecorded, UsageError
from agentkit.models.transport import clients
from agentkit.models.wire import plain

Mode = Literal["replay", "record", "auto"]
VERSION = 1
_HEADERS = ("content-type", "content-encoding", "retry-after", "retry-after-ms", "location")
"""The only headers of an answer that are kept; of a request none is."""


class Tape:
    """The HTTP exchanges of all models while it is in place: `with Tape("tape.json", "record"): …`.

    "replay" answers from the tape alone and opens no connection, "record" begins it anew, "auto" asks only for what is
    missing. A request is known by its path and its body; where several hosts were asked the same, each gives its own answers.
    Keys, cookies and what looks like a secret are never stored.
    Raises `NotRecorded` for a request that is not on the tape, and shows the nearest one that is.
    """

    def __init__(self, path: str | Path, mode: Mode = "replay") -> None:
        if mode not in get_args(Mode):
            raise UsageError(f"the mode of a tape is one of {', '.join(get_args(Mode))}, not {mode!r}")
        self.path = Path(path)
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
        """Put the tape in place of the network, for all models of this process."""
        self._before = clients.inserted
        clients.inserted = self

    def eject(self) -> None:
        """Take it out again."""
        if clients.inserted is self:
            clients.inserted = self._before

    # -- what the streams ask for ------------------------------------------------------------------------------------

    def client(self, here: bool) -> Any:
        """Give a client of the running event loop that goes through this tape."""
        import asyncio

        import httpx2

        from agentkit.models.transport.deck import Deck

        key = (asyncio.get_running_loop(), here)
        with self._lock:
            if key not in self._clients:
                self._clients[key] = httpx2.AsyncClient(transport=Deck(self, here), **clients.plainly())
            return self._clients[key]

    # -- what is asked beside the streams ----------------------------------------------------------------------------

    def has(self, address: str) -> bool:
        """Say whether anything on the tape was asked of a server."""
        return any(one["request"]["url"].startswith(f"{plain(address).rstrip('/')}/") for one in self.exchanges)

    def ask(self, method: str, url: str, body: bytes, really: Callable[[], bytes]) -> bytes:
        """Give the recorded answer to a question about a server, or ask it, and keep what it says."""
        request = SimpleNamespace(method=method, url=url, content=body)
        if (recorded := self.find(request)) is not None:
            return b"".join(pieces_of(recorded))
        said = really()
        self.keep(request, 200, {"content-type": "application/json"}, [said], "")
        return said

    # -- what the deck asks for --------------------------------------------------------------------------------------

    def find(self, request: Any) -> dict[str, Any] | None:
        """Give the recorded answer to a request, in the recorded order; None where the host is to be asked."""
        asked = _asked(request)
        key = _key(asked)
        with self._lock:
            if self.mode == "record":
                return None
            known = [one for one in self.exchanges if _key(one["request"]) == key]
            if its_own := [one for one in known if one["request"]["url"] == asked["url"]]:
                known, key = its_own, f"{key} {asked['url']}"
            if known:
                turn = min(self._played.get(key, 0), len(known) - 1)
                self._played[key] = turn + 1
                return known[turn]["response"]
        if self.mode == "replay":
            from agentkit.models.closest_recording import describe_miss

            recorded = [one["request"]["body"] for one in self.exchanges if isinstance(one["request"]["body"], dict)]
            raise NotRecorded(describe_miss(asked["body"], recorded, str(self.path)))
        return None

    def keep(self, request: Any, status: int, headers: Any, pieces: list[bytes], broken: str) -> None:
        """Store one exchange, without what is secret, and write the tape."""
        asked = _asked(request)
        kept = {name: mask(headers[name]) for name in _HEADERS if name in headers}
        if "content-encoding" in kept and (unpacked := _secret_in(kept["content-encoding"], pieces)):
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
            _save(self.path, {"agentkit_tape": VERSION, "exchanges": self.exchanges})

    def __repr__(self) -> str:
        return f"<Tape {str(self.path)!r}: {len(self.exchanges)} exchanges, {self.mode}>"


def _asked(request: Any) -> dict[str, Any]:
    """Describe a request by what makes it this one, without secrets."""
    try:
        body = json.loads(request.content)
    except ValueError:
        body = {"text": request.content.decode("utf-8", "replace")}
    return {"method": request.method, "url": plain(str(request.url)), "body": mask_json(body)}


def _key(asked: dict[str, Any]) -> str:
    path = "/" + str(asked["url"]).partition("://")[2].partition("/")[2]
    return digest(canonical([asked["method"], path, asked["body"]]))


def _secret_in(packing: str, pieces: list[bytes]) -> bytes:
    """Unpack an answer; nothing unless there is something in it to be masked."""
    import httpx2

    try:
        data = httpx2.Response(200, headers={"content-encoding": packing}, content=b"".join(pieces)).content
    except httpx2.DecodingError:
        return b""
    text = data.decode("latin-1")
    return b"" if mask(text) == text else data


def _written(pieces: list[bytes]) -> dict[str, Any]:
    """Write bytes for people to read, and the sizes in which they came; what is no text is written as base64."""
    data = b"".join(pieces)
    sizes = " ".join(str(len(piece)) for piece in pieces)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        kept = mask(data.decode("latin-1")).encode("latin-1", "replace")
        return {"base64": base64.b64encode(kept).decode(), **({"sizes": sizes} if kept == data else {})}
    masked = mask(text)
    return {"text": text, "sizes": sizes} if masked == text else {"text": masked}


def pieces_of(response: dict[str, Any]) -> list[bytes]:
    """Give the bytes of a recorded answer, in the pieces in which they came."""
    data = base64.b64decode(response["base64"]) if "base64" in response else str(response.get("text", "")).encode()
    sizes = [int(size) for size in str(response.get("sizes", "")).split()]
    if sum(sizes) != len(data):
        return [data]
    return [data[end - size : end] for size, end in zip(sizes, itertools.accumulate(sizes), strict=True)]


def _load(path: Path, *, must_exist: bool) -> list[dict[str, Any]]:
    try:
        tape = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if not must_exist:
            return []
        raise NotRecorded(f"there is no tape {path}; record it first: with Tape({str(path)!r}, 'record'): …") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} is no tape: {error}") from None
    if not isinstance(tape, dict) or not isinstance(tape.get("exchanges"), list):
        raise UsageError(f"{path} is no tape: it has no list of exchanges")
    if tape.get("agentkit_tape") != VERSION:
        raise JournalTooNew(f"the tape {path} has version {tape.get('agentkit_tape')}, this agentkit reads {VERSION}")
    for number, exchange in enumerate(tape["exchanges"], 1):
        try:
            _key(exchange["request"])
            pieces_of(exchange["response"])
            int(exchange["response"]["status"])
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise UsageError(f"{path} is no tape: its exchange {number} cannot be read ({error_line(error)})") from None
    return tape["exchanges"]


def _save(path: Path, tape: dict[str, Any]) -> None:
    """Write the whole tape beside the old one, then take its place: a kill leaves one or the other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(path.name + ".new")
    beside.write_text(json.dumps(tape, indent=1, ensure_ascii=False) + "\n", encoding="utf-8", errors="surrogatepass")
    beside.replace(path)
