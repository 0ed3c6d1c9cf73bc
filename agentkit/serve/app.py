"""The ASGI application: runs are started, watched, steered and decided about over HTTP."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, Literal

from agentkit.agent.agent import Agent
from agentkit.core.log import logger
from agentkit.core.secrets import learn, mask, mask_json
from agentkit.core.steps import Act
from agentkit.core.text import call_text, error_line
from agentkit.errors import (
    AgentkitError,
    Busy,
    Ended,
    Fenced,
    JournalInUse,
    ReadOnly,
    Undecided,
    Unknown,
    UsageError,
)
from agentkit.gates.state import Status
from agentkit.inert import inert
from agentkit.run import signals
from agentkit.run.run import Run, choices
from agentkit.serve import agui, web
from agentkit.serve.frames import position, to_ascii
from agentkit.serve.guard import BURST, MAX_BODY, RATE, Guard
from agentkit.serve.hub import Hub
from agentkit.serve.log import Log
from agentkit.serve.streams import MAX_STREAMS, Full, Stream, Streams, run_header
from agentkit.view.head import decision_id

TOKEN, WATCH_TOKEN = "AGENTKIT_SERVE_TOKEN", "AGENTKIT_SERVE_WATCH_TOKEN"
"""The variables with the tokens, if they are not passed."""

STATUS = {Unknown: 404, Ended: 409, Busy: 409, ReadOnly: 409, JournalInUse: 409, Undecided: 409, UsageError: 400}
"""The status of the answer for an error; any other error is 500, and its text stays here."""

SORRY = "the server could not do this; its log says why"
_HOST_FORM = re.compile(r"[^\s/@?#]+")
_TOKEN_FORM = re.compile(r"[A-Za-z0-9._~-]{16,200}")

Data = dict[str, Any]


def app(
    agent: Agent,
    *,
    token: str = "",
    watch_token: str = "",
    hosts: Iterable[str] = (),
    max_body: int = MAX_BODY,
    max_streams: int = MAX_STREAMS,
    rate: float = RATE,
    burst: float = BURST,
) -> App:
    """Return an ASGI application that serves the runs of an agent, for uvicorn or any other ASGI server.

    A request needs the `token`, or for watching only the `watch_token`; without one it is that of the variable
    AGENTKIT_SERVE_TOKEN (AGENTKIT_SERVE_WATCH_TOKEN), or else a new one: `app.token`. `hosts` are the names of the
    server besides those of this machine. `rate` requests a second are answered in the long run, and `burst` at once.

    Raises `UsageError` for a token that is too short, for an address among the names, or if the packages of the extra
    "serve" are missing.
    """
    if not isinstance(agent, Agent):
        raise UsageError(f"an agent is served, such as Agent('offline'), not {agent!r:.100}")
    return App(Hub(agent), token, watch_token, hosts, max_body, max_streams, rate, burst)


class App:
    """An ASGI application that serves the runs of `hub`; `token` and `watch_token` let requests in."""

    def __init__(
        self,
        hub: Hub,
        token: str,
        watch_token: str,
        hosts: Iterable[str],
        max_body: int,
        max_streams: int,
        rate: float,
        burst: float,
    ) -> None:
        self.hub = hub
        self.streams = Streams(hub, max_streams)
        self.token = _checked(token or os.environ.get(TOKEN, "") or secrets.token_urlsafe(24))
        self.watch_token = _checked(watch_token or os.environ.get(WATCH_TOKEN, "") or secrets.token_urlsafe(24))
        if self.token == self.watch_token:
            raise UsageError("the token for watching must be another one")
        for given in (self.token, self.watch_token):
            learn(given, TOKEN)
        self._guard = Guard(
            _routed(hub, self.streams, self.close),
            {self.token: "drive", self.watch_token: "watch"},
            _checked_hosts(hosts),
            open_paths=["/health"],
            max_body=max_body,
            rate=rate,
            burst=burst,
        )

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        await self._guard(scope, receive, send)

    async def close(self) -> None:
        """End the streams that are open, on the loop of the server; the runs go on."""
        self._guard.close()
        await self.streams.close()
        self.hub.close()

    @inert
    def __repr__(self) -> str:
        return f"<ASGI application of {self.hub.agent!r}>"


def _checked_hosts(hosts: Iterable[str]) -> list[str]:
    """Return the names of the server. Raises `UsageError` for an address, which no browser sends as a name."""
    names = [hosts] if isinstance(hosts, str) else list(hosts)
    for name in names:
        if not isinstance(name, str) or not _HOST_FORM.fullmatch(name):
            raise UsageError(
                f"{name!r:.100} is not a name such as agents.example.com, under which browsers reach the server"
            )
    return names


def _checked(token: str) -> str:
    if not isinstance(token, str) or not _TOKEN_FORM.fullmatch(token):
        raise UsageError(
            "a token has at least 16 characters, of A-Z, a-z, 0-9 and ._~-; secrets.token_urlsafe() makes one"
        )
    return token


def _routed(hub: Hub, streams: Streams, close: Callable[[], Awaitable[None]]) -> Any:
    """Return the application behind the guard. Raises `UsageError` if Starlette is missing."""
    try:
        from starlette.applications import Starlette
        from starlette.exceptions import HTTPException
        from starlette.routing import Route
    except ImportError as error:
        raise UsageError(
            f"a server needs packages that are missing ({error}); "
            "install them with: pip install 'jupyter-agentkit[serve]'"
        ) from error

    @asynccontextmanager
    async def lifespan(app: Any) -> Any:
        yield
        await close()

    answers = Answers(hub, streams)
    routes = [
        Route("/health", answers.health, methods=["GET"]),
        Route("/runs", answers.runs, methods=["GET"]),
        Route("/runs", answers.start, methods=["POST"]),
        Route("/runs/{id}", answers.run, methods=["GET"]),
        Route("/runs/{id}/events", answers.events, methods=["GET"]),
        Route("/ag-ui", answers.agui, methods=["POST"]),
        *web.routes(hub),
        *(Route(f"/runs/{{id}}/{verb}", answers.verb(verb), methods=["POST"]) for verb in VERBS),
    ]
    handlers = {AgentkitError: _failed, Full: _full, HTTPException: _refused}
    return Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)


class Answers:
    """What each address answers. Whatever may wait for a run, or for a disk, is done in a thread."""

    def __init__(self, hub: Hub, streams: Streams) -> None:
        self.hub = hub
        self.streams = streams

    async def health(self, request: Any) -> Any:
        """Answer that the server is there."""
        return _json({"status": "ok"})

    async def runs(self, request: Any) -> Any:
        """List the runs."""
        lines = await _in_thread(self.hub.list)
        return _json({"runs": [line.to_dict() for line in lines]})

    async def start(self, request: Any) -> Any:
        """Start a run, and answer with its id, or with its events if the client accepts a stream."""
        body = await _body(request, bodies()["start"])
        is_stream = "text/event-stream" in request.headers.get("accept", "")

        task = body.task if isinstance(body.task, str) else [message.model_dump() for message in body.task]

        def start() -> Run:
            run = self.hub.start(task, session=body.session, user=body.user, paused=True)
            if is_stream:
                Log.of(run).load()  # before the first event that no journal has
            if not body.paused:
                run.play()
            return run

        if is_stream:
            self.streams.check()
        run = await _in_thread(start)
        if is_stream:
            return Stream(self.streams, run)
        return _json({"id": run.id, "status": str(run.status)}, 201, run.id)

    async def agui(self, request: Any) -> Any:
        """Start a run in the thread of a front end, or go on with the one that waits for it; stream it as AG-UI."""
        try:
            asked = agui.read_input(json.loads(await request.body()))
        except (ValueError, RecursionError):
            raise UsageError("the body must be JSON") from None

        def begin() -> tuple[Run, Any]:
            if asked.resume:
                run = self.hub.of_session(asked.thread)
                texts = Log.of(run).agui(asked.thread, asked.run, from_now=True)
                agui.decide(run, asked.resume)
            else:
                run = self.hub.start(asked.task, session=asked.thread, paused=True)
                texts = Log.of(run).agui(asked.thread, asked.run, from_now=True)
            run.play()
            return run, texts

        self.streams.check()
        run, texts = await _in_thread(begin)
        return Stream(self.streams, run, texts=lambda run, after: texts)

    async def run(self, request: Any) -> Any:
        """Answer with what a run is doing."""
        id = request.path_params["id"]
        return _json(await _in_thread(lambda: about(self.hub.follow(id))), 200, id)

    async def events(self, request: Any) -> Any:
        """Stream the events of a run after the one with the id of `Last-Event-ID` or `?after=`."""
        id = request.path_params["id"]
        after = request.headers.get("last-event-id", "") or request.query_params.get("after", "")
        position(after)
        self.streams.check()
        return Stream(self.streams, await _in_thread(lambda: self.hub.get(id)), after)

    def verb(self, name: str) -> Any:
        """Return the handler of something that is done to a run."""

        async def handle(request: Any) -> Any:
            id = request.path_params["id"]
            body = await _body(request, bodies()[name])

            def do() -> Data:
                VERBS[name](self.hub, id, body)
                run = self.hub.here(id)
                if run is not None:
                    return {"id": id, "status": str(run.status)}
                followed = self.hub.follow(id).followed if name in ASKING else None
                return {"id": id, **({"asked": followed.text} if followed is not None else {})}

            return _json(await _in_thread(do), 202, id)

        return handle


# -- what is done to a run ---------------------------------------------------------------------------------------------


def resume(hub: Hub, id: str, body: Any) -> None:
    """Continue a run in the background. Raises `Undecided` if it waits for a person, `Ended` if it is over."""
    run = hub.hold(id)
    waiting = run.waiting  # once: somebody else may decide meanwhile
    if waiting and run.status == "waiting":
        raise Undecided(f"{waiting[0][1].why}: decide first")
    if run.status == "done":
        raise Ended("the run is over")
    run.play()


def pause(hub: Hub, id: str, body: Any) -> None:
    """Pause a run at the next step boundary, or ask the process that holds it."""
    hub.hold_or_ask(id).pause()


def stop(hub: Hub, id: str, body: Any) -> None:
    """Stop a run now, or ask the process that holds it."""
    hub.hold_or_ask(id).stop()


def inject(hub: Hub, id: str, body: Any) -> None:
    """Send a message to the model of a run with its next request, or ask the process that holds the run."""
    hub.hold_or_ask(id).inject(body.text, body.to)


def decide(hub: Hub, id: str, body: Any) -> None:
    """Decide about a step that waits for a person, and continue the run."""
    run = hub.hold(id)
    [(how, value)] = [
        (how, value) for how, value in body.model_dump().items() if how in DECISIONS and value is not None
    ]

    def do() -> None:
        which = _which(run, body.which)
        if how == "approve":
            run.approve(which, arguments=body.arguments, remember=body.remember)
        elif how == "reject":
            run.reject(value, which, remember=body.remember)
        elif how == "respond":
            run.respond(value, which)
        else:
            run.reuse(which)

    run.control.do(do)
    if body.play and run.status != "waiting":
        run.play()


def signal(hub: Hub, id: str, body: Any) -> None:
    """Send a signal to a run, which another process may hold."""
    run = hub.here(id)
    if run is not None:
        run.signal(body.name, body.value)
        return
    if hub.get(id).answer is not None:
        raise Ended("the run is over, so nothing waits for a signal")
    signals.send(id, body.name, body.value)


VERBS: dict[str, Callable[[Hub, str, Any], None]] = {
    "inject": inject,
    "resume": resume,
    "pause": pause,
    "stop": stop,
    "decide": decide,
    "signal": signal,
}
ASKING = ("inject", "pause", "stop")
"""What another process can be asked to do in a run that it holds."""

DECISIONS = ("approve", "reject", "respond", "reuse")


def _which(run: Run, which: int | str | None) -> int:
    """Return the position of the step that a decision is about: it has to be the one that the person saw."""
    waiting = [decision_id(pending, verdict) for pending, verdict in run.waiting]
    if which is None and len(waiting) == 1:
        return 0
    if which is None and waiting:
        raise UsageError(f"{len(waiting)} steps wait; say which one: {', '.join(waiting)}")
    if isinstance(which, str) and which in waiting:
        return waiting.index(which)
    if isinstance(which, int) and 0 <= which < len(waiting):
        return which
    raise UsageError("this step is not waiting for a decision any more; look at the run again")


def about(run: Run) -> Data:
    """Return what a run is doing, as JSON data."""
    usage, error = run.usage, run.error
    return {
        "id": run.id,
        "tree": run.tree_id,
        "status": str(run.status if run.answer is None else Status.DONE),  # also of a run that is only looked at
        "task": [dict(message) for message in run.task["task"]],
        "session": run.task.get("session", {}).get("id", ""),
        "engine": run.task["engine"].rpartition(":")[2],
        "model": run.task["model"],
        "answer": run.answer,
        "error": mask(error_line(error)) if error else None,
        "hold": mask(run.hold),
        "read_only": mask(run.read_only),
        "holder": mask(run.followed.holder) if run.followed is not None else "",
        "waiting": [_waiting(pending, verdict) for pending, verdict in run.waiting],
        "entries": len(run),
        "usage": {"input": usage.input, "output": usage.output, "calls": usage.calls, "cost": usage.cost},
    }


def _waiting(pending: Any, verdict: Any) -> Data:
    step = pending.step
    call = {"name": step.call.name, "arguments": mask_json(step.call.arguments)} if type(step) is Act else {}
    return {
        "which": decision_id(pending, verdict),
        "kind": step.kind,
        "why": mask(verdict.why),
        "text": mask(call_text(step.call) if call else str(getattr(step, "question", ""))),
        **call,
        "choices": choices(pending, verdict),
    }


# -- bodies ------------------------------------------------------------------------------------------------------------


def bodies() -> dict[str, Any]:
    """Return the models of the bodies, which pydantic checks, by what they ask for."""
    global _bodies
    if _bodies is None:
        _bodies = _make_bodies()
    return _bodies


_bodies: dict[str, Any] | None = None


def _make_bodies() -> dict[str, Any]:
    from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool, model_validator

    class Body(BaseModel):
        model_config = ConfigDict(extra="forbid", strict=True)

    class Message(Body):
        role: Literal["system", "user", "assistant"]
        content: str

    class Start(Body):
        task: str | list[Message]
        session: str = Field("", max_length=200)
        user: str = Field("", max_length=200)
        paused: bool = False

    class Inject(Body):
        text: str = Field(min_length=1)
        to: str = ""

    class Signal(Body):
        name: str = Field(min_length=1, max_length=200)
        value: JsonValue = None

    class Decide(Body):
        which: int | str | None = None
        approve: Literal[True] | None = None
        reject: str | None = None
        respond: JsonValue = None
        reuse: Literal[True] | None = None
        arguments: dict[str, JsonValue] | None = None
        remember: StrictBool = False
        play: bool = True

        @model_validator(mode="after")
        def one(self) -> Any:
            given = [name for name in DECISIONS if getattr(self, name) is not None]
            if len(given) != 1:
                raise ValueError(f"give one of {', '.join(DECISIONS)}")
            if self.arguments is not None and not self.approve:
                raise ValueError("arguments go with approve")
            return self

    return {
        "start": Start,
        "inject": Inject,
        "signal": Signal,
        "decide": Decide,
        **dict.fromkeys(("resume", "pause", "stop"), Body),
    }


async def _body(request: Any, model: Any) -> Any:
    """Return the body of a request. Raises `UsageError` if it is not JSON, or not what is needed."""
    from pydantic import ValidationError

    data = await request.body()
    try:
        return model.model_validate_json(data or b"{}")
    except ValidationError as error:
        problems = (f"{'.'.join(map(str, each['loc'])) or 'body'}: {each['msg']}" for each in error.errors())
        raise UsageError("; ".join(list(problems)[:5])) from None


# -- answers -----------------------------------------------------------------------------------------------------------


def _json(data: Any, status: int = 200, run: str = "") -> Any:
    from starlette.responses import Response

    answer = Response(to_ascii(data), status, media_type="application/json")
    answer.raw_headers += run_header(run)
    return answer


async def _failed(request: Any, error: Any) -> Any:
    """Answer with an error that its caller can fix."""
    status = _status(error)
    return _json({"error": SORRY if status == 500 else mask(str(error))}, status)


def _status(error: Exception) -> int:
    """Return the status of the answer for an error."""
    return next((status for kind, status in STATUS.items() if isinstance(error, kind)), 500)


async def _full(request: Any, error: Any) -> Any:
    answer = _json({"error": str(error)}, 503)
    answer.headers["retry-after"] = "5"
    return answer


async def _refused(request: Any, error: Any) -> Any:
    answer = _json({"error": error.detail}, error.status_code)
    answer.headers.update(error.headers or {})
    return answer


async def _in_thread(function: Callable[[], Any]) -> Any:
    import anyio
    from starlette.exceptions import HTTPException

    def carried_out() -> Any:
        try:
            return function()
        except Fenced as fenced:
            raise JournalInUse(str(fenced)) from None  # no `Exception`, which would end the task of the server
        except Exception as error:
            if _status(error) == 500:
                logger.error("a request failed: %s", mask(error_line(error)), exc_info=error)
                raise HTTPException(500, SORRY) from None
            raise

    return await anyio.to_thread.run_sync(carried_out, abandon_on_cancel=True)
