"""The pages of a server for people: the list of runs, and a page for each run.

The HTML is written here, with every text escaped; `widgets/web/` is the script that keeps it up to date. Nothing in it
is an inline script or style, so that the strict content security policy of the guard applies to all of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from importlib import resources
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from agentkit.core.text import one_line
from agentkit.errors import AgentkitError, Unknown
from agentkit.export.escaping import escape_html
from agentkit.serve.guard import MAY
from agentkit.serve.hub import Hub, Line
from agentkit.serve.page import MAX_SOCKETS, TRY_LATER, Pages
from agentkit.view.head import status_of

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute
    from starlette.websockets import WebSocket

LIST_INTERVAL = 1.0
"""Seconds after which the list of runs is looked at again, for runs of other processes."""

MAX_TASK = 160
"""How many characters of a task the list shows."""

_TYPES = {"widget.js": "text/javascript", "page.js": "text/javascript", "page.css": "text/css"}
_STATIC = resources.files("agentkit") / "static"
_STATUS = {"waiting": "waiting for you", "readonly": "read-only"}
_TONE = {"running": "active", "waiting": "attention", "done": "success", "failed": "error", "damaged": "error"}


def routes(hub: Hub) -> list[BaseRoute]:
    """Return the routes of the pages, their sockets and their static files."""
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route, WebSocketRoute

    pages, lists = Pages(hub), _Lists(hub)

    async def index(request: Request) -> Response:
        return _page("Runs", await lists.html(), _start_form(hub) if _may_drive(request.scope) else "", script="list")

    async def view(request: Request) -> Response:
        id = request.path_params["id"]
        try:
            run = await asyncio.to_thread(hub.follow, id)
        except Unknown as error:
            return _page("No such run", f"<p>{escape_html(error)}</p>", status=404)
        except AgentkitError as error:  # its recording is damaged
            return _page("This run cannot be shown", f"<p>{escape_html(error)}</p>", status=409)
        task = one_line(run.info().task, MAX_TASK)
        return _page(task or id, _run(id, may_hold=_may_drive(request.scope)), script="run")

    async def hold(request: Request) -> Response:
        if not _may_drive(request.scope):
            return PlainTextResponse("this token is for watching only", 403)
        try:
            await asyncio.to_thread(hub.hold, request.path_params["id"])
        except AgentkitError as error:
            return PlainTextResponse(one_line(str(error)), 404 if isinstance(error, Unknown) else 409)
        return Response(status_code=204)

    async def static(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in _TYPES:
            return PlainTextResponse("there is no such file", 404)
        text = await asyncio.to_thread((_STATIC / name).read_text, "utf-8")
        return Response(text, media_type=_TYPES[name])

    async def no_icon(request: Request) -> Response:
        return Response(status_code=204)

    return [
        Route("/", index),
        Route("/favicon.ico", no_icon),
        Route("/static/{name}", static),
        Route("/runs/{id}/view", view),
        Route("/runs/{id}/hold", hold, methods=["POST"]),
        WebSocketRoute("/runs/{id}/socket", pages.connect),
        WebSocketRoute("/socket", lists.connect),
    ]


def _may_drive(scope: Any) -> bool:
    return bool(scope.get(MAY) == "drive")


# -- the list ----------------------------------------------------------------------------------------------------------


class _Lists:
    """The list of runs as HTML, sent over a socket whenever it has changed."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._html = ""
        self._until = 0.0
        self._lock = asyncio.Lock()
        self._sockets = 0

    async def html(self) -> str:
        """Return the list as it is now, or was a moment ago."""
        async with self._lock:
            if time.monotonic() >= self._until:
                self._html = await asyncio.to_thread(self._write)
                self._until = time.monotonic() + LIST_INTERVAL / 4
            return self._html

    def _write(self) -> str:
        return list_html([_totals(self._hub, line) for line in self._hub.list()], time.time())

    async def connect(self, socket: WebSocket) -> None:
        """Send the list whenever it has changed, until the browser leaves."""
        from starlette.websockets import WebSocketDisconnect

        await socket.accept()
        if self._sockets >= MAX_SOCKETS:
            await socket.close(TRY_LATER)
            return
        self._sockets += 1
        changed, loop = asyncio.Event(), asyncio.get_running_loop()

        def on_change(_: str) -> None:
            loop.call_soon_threadsafe(changed.set)

        end: Callable[[], None] = self._hub.on_change(on_change)
        leaving = asyncio.ensure_future(socket.receive())
        sent = ""
        try:
            while not leaving.done():
                html = await self.html()
                if html != sent:
                    await socket.send_text(html)
                    sent = html
                changed.clear()
                waiting = asyncio.ensure_future(changed.wait())
                await asyncio.wait([waiting, leaving], timeout=LIST_INTERVAL, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                await asyncio.sleep(LIST_INTERVAL / 4)  # a run at full speed changes all the time
        except (WebSocketDisconnect, RuntimeError):
            pass  # the browser has left
        finally:
            self._sockets -= 1
            end()
            leaving.cancel()


def _totals(hub: Hub, line: Line) -> tuple[Line, str, int | None]:
    """Return a line with its present status and its tokens, as far as they are known without reading the run."""
    run = hub.here(line.id) if line.is_here else None
    if run is None:
        return line, line.status, None
    return line, status_of(run), run.usage.input + run.usage.output


def list_html(lines: list[tuple[Line, str, int | None]], now: float) -> str:
    """Return the list of runs as HTML; those that wait for a person come first."""
    waiting = sum(status == "waiting" for _, status, _ in lines)
    says = {0: "", 1: "1 run waits for you."}.get(waiting, f"{waiting} runs wait for you.")
    items = "".join(_item(line, status, tokens, now) for line, status, tokens in lines)
    body = f'<ul class="runs">{items}</ul>' if lines else '<p class="muted">There are no runs yet.</p>'
    return f'<div id="runs"><p role="status" class="waits">{says}</p>{body}</div>'


def _item(line: Line, status: str, tokens: int | None, now: float) -> str:
    facts = [line.engine, line.model, f"session {line.session}" if line.session else ""]
    facts += [f"held by {line.holder}" if line.holder else ""]
    facts += [f"{tokens:,} tokens" if tokens else "", f"${line.cost:.4f}" if line.cost else ""]
    told = "".join(f"<span>{escape_html(one_line(fact, 100))}</span>" for fact in facts if fact)
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(line.created))
    when = f'<time datetime="{created}" title="{created}">{_ago(now - line.created)}</time>' if line.created else ""
    task = escape_html(one_line(line.task, MAX_TASK)) or escape_html(line.id)
    return (
        f'<li><a id="run-{escape_html(line.id)}" href="{path(line.id)}">{task}</a>'
        f'<p class="facts"><span class="status {_TONE.get(status, "idle")}">'
        f"{escape_html(_STATUS.get(status, status))}</span>{told}{when}</p></li>"
    )


def path(id: str) -> str:
    """Return the path of a run's page."""
    return f"/runs/{quote(id, safe='')}/view"


def _ago(seconds: float) -> str:
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit} ago"
    return "just now"


# -- pages -------------------------------------------------------------------------------------------------------------


def _start_form(hub: Hub) -> str:
    return f"""<form id="start" aria-label="Start a run">
<label>Task <textarea name="task" rows="2" required></textarea></label>
<label>Session <input name="session" autocomplete="off" placeholder="none: the run remembers nothing"></label>
<p><button>Start</button> <button name="paused" value="yes">Start paused</button></p>
<p class="muted">It is a run of {escape_html(one_line(repr(hub.agent)), MAX_TASK)}.</p>
<p role="alert" id="problem"></p>
</form>"""


def _run(id: str, *, may_hold: bool) -> str:
    hold = '<button id="hold" hidden>Go on with this run here</button>' if may_hold else ""  # the script shows it
    return f"""<p class="bar">{hold}<span role="status" id="line"></span><span role="alert" id="problem"></span></p>
<div id="views" data-run="{escape_html(id)}"></div>"""


def _page(title: str, body: str, after: str = "", *, script: str = "", status: int = 200) -> Response:
    from starlette.responses import HTMLResponse

    back = "" if script == "list" else '<a href="/">All runs</a>'
    heading = (
        f"<h1>{escape_html(title, MAX_TASK)}</h1>"
        if script != "run"
        else f'<h1 class="unseen">{escape_html(title)}</h1>'
    )
    html = f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape_html(title, MAX_TASK)} · agentkit</title>
<link rel="stylesheet" href="/static/page.css">
<script type="module" src="/static/page.js"></script>
</head>
<body data-page="{script}">
<nav>{back}</nav>
<main>{heading}
{after}
{body}
</main>
</body>
</html>
"""
    return HTMLResponse(html, status)
