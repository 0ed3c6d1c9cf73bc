"""Tools and agents as an MCP server, for the programs of others: each call is a run of its own, with gates like any."""

from __future__ import annotations

import hmac
import json
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Unpack

from agentkit.agent.agent import Agent
from agentkit.agent.options import Options
from agentkit.core.messages import Call, Chat, Message
from agentkit.core.secrets import mask
from agentkit.core.steps import Act, Answer, Engine, Loop
from agentkit.core.text import error_line
from agentkit.errors import AgentkitError, ModelError, UsageError
from agentkit.inert import inert
from agentkit.mcp.sdk import sdk
from agentkit.run.run import Run
from agentkit.tools.tool import Tool

ASK = "ask"
"""The name of the tool that an agent becomes."""

_ASK_SCHEMA = {
    "type": "object",
    "properties": {
        "task": {"type": "string", "description": "what the agent should do"},
        "session": {"type": "string", "description": "the name of a conversation that this task continues"},
    },
    "required": ["task"],
    "additionalProperties": False,
}


def serve(served: Any, /, *, name: str = "agentkit", **options: Unpack[Options]) -> ToolServer:
    """Return an MCP server of tools, or of an agent: `serve(agent).run()`.

    `served` is an agent, which becomes the one tool `ask(task, session)`, or tools as for `Agent`. The options are
    those of an agent. They hold for each call of a tool: `approve` and `approver`, `budget`, `journal` (None, so that
    nothing is recorded) and so on. Nobody is there to be asked, so a call that needs approval and has no `approver`
    is not made.

    Raises `UsageError` if the SDK is missing.
    """
    if isinstance(served, Agent):
        if options:
            raise UsageError(f"the agent has its own {', '.join(options)}; pass it to Agent(…)")
        return ToolServer(served, name, is_agent=True)
    options.setdefault("journal", None)
    return ToolServer(Agent(_no_model, served, **options), name, is_agent=False)


def _no_model(request: Any) -> Any:
    raise ModelError("an MCP server has no model of its own")


def one_call(task: Any, *, name: str, arguments: dict[str, Any]) -> Engine:
    """Make one call; its observation is the answer."""
    message = yield Act(Call(name, arguments, "call"))
    return Answer(message.text, Chat.of(task))


class ToolServer:
    """An MCP server; `run()` speaks over the standard input and output, `app()` is an ASGI application."""

    def __init__(self, agent: Agent, name: str, *, is_agent: bool) -> None:
        self.agent = agent if is_agent else agent.prepared()
        self.name = name
        self.is_agent = is_agent

    def server(self) -> Any:
        """Return the server of the SDK. Raises `UsageError` if the SDK is missing."""
        sdk()
        from mcp.server.lowlevel import Server

        return Server(self.name, on_list_tools=self._list, on_call_tool=self._call)

    def run(self) -> None:
        """Serve one client over the standard input and output, until it closes the input.

        What a tool prints goes to the standard error.
        """
        import anyio

        server = self.server()

        async def serving() -> None:
            from mcp.server.stdio import stdio_server

            printed, sys.stdout = sys.stdout, sys.__stdout__ or sys.stdout  # the stream may be one that changes texts
            try:
                async with stdio_server() as (read, write):
                    sys.stdout = sys.stderr
                    await server.run(read, write, server.create_initialization_options())
            finally:
                sys.stdout = printed

        anyio.run(serving)

    def app(self, token: str = "", host: str = "127.0.0.1") -> Any:
        """Return an ASGI application that serves at `/mcp`, for clients that send `Authorization: Bearer <token>`.

        Its lifespan has to be run. Unless `host` is this machine, the addresses under which it is reached are yours to
        check. Without a token, everybody who reaches the address may call the tools.
        """
        app = self.server().streamable_http_app(host=host)
        return _guarded(app, token) if token else app

    def run_http(self, port: int = 0, token: str = "", host: str = "127.0.0.1") -> None:
        """Serve over HTTP, until it is interrupted. Raises `UsageError` without a token, unless on this machine."""
        if not token and host not in ("127.0.0.1", "::1", "localhost"):
            raise UsageError(f"other machines can reach {host}, so a token is needed: token=…")
        app = self.app(token, host)
        import uvicorn

        uvicorn.run(app, host=host, port=port, log_level="warning")

    # -- what clients ask ----------------------------------------------------------------------------------------------

    async def _list(self, context: Any, params: Any) -> Any:
        from mcp import types

        if self.is_agent:
            hints = types.ToolAnnotations(read_only_hint=False, destructive_hint=True, open_world_hint=True)
            about = self.agent.options.get("instructions") or "Ask an agent to do a task, and read its answer."
            return types.ListToolsResult(
                tools=[types.Tool(name=ASK, description=about, input_schema=_ASK_SCHEMA, annotations=hints)]
            )
        return types.ListToolsResult(tools=[_described(tool) for tool in self.agent.tools])

    async def _call(self, context: Any, params: Any) -> Any:
        arguments = dict(params.arguments or {})
        try:
            return await (self._ask if self.is_agent else self._perform)(context, params.name, arguments)
        except (AgentkitError, OSError) as error:
            return _result(mask(error_line(error)), ok=False)

    async def _perform(self, context: Any, name: str, arguments: dict[str, Any]) -> Any:
        engine = Loop(one_call, name=name, arguments=arguments)
        run = await _in_thread(lambda: self.agent.using(engine=engine).start(f"call {name}", paused=True))
        await self._complete(run, context)
        message = next((entry.result for entry in run.entries if entry.kind == "act"), None)
        if message is None:
            return _result(run.result.answer or f"not performed: {run.result.reason}", ok=False)
        tool = self.agent.tools.find(name)
        return _of_message(message, has_data=tool is not None and bool(tool.returns))

    async def _ask(self, context: Any, name: str, arguments: dict[str, Any]) -> Any:
        task, session = arguments.get("task"), arguments.get("session", "")
        if name != ASK or not isinstance(task, str) or not task.strip() or not isinstance(session, str):
            return _result(f"this server has one tool: {ASK}(task, session), whose arguments are texts", ok=False)
        session = f"mcp:{session}" if session else ""  # a client must not read the conversations of others
        run = await _in_thread(lambda: self.agent.start(task, session=session, paused=True))
        await self._complete(run, context)
        result = run.result
        if result.error:
            return _result(mask(f"the agent failed: {error_line(result.error)}"), ok=False)
        return _result(result.answer, ok=True)

    async def _complete(self, run: Run, context: Any) -> None:
        """Drive a run to its end, and tell the client its steps; a client that cancels stops it."""
        import anyio

        steps = 0
        told, news = anyio.create_memory_object_stream[str](1_000)
        token = anyio.lowlevel.current_token()

        def on_event(event: Any) -> None:
            if event.kind in ("thought", "tool_result"):
                text = str(event.data.get("name") or event.data.get("role") or event.kind)
                with suppress(Exception):  # the client is gone, or does not read
                    anyio.from_thread.run_sync(told.send_nowait, text, token=token)

        async def tell() -> None:
            nonlocal steps
            async for text in news:
                steps += 1
                await context.session.report_progress(steps, None, text)

        run.on_event(on_event)
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(tell)
                await _in_thread(lambda: run.agent.complete(run))
                told.close()
        except BaseException:
            run.stop("the client cancelled the call")
            raise
        finally:
            told.close()
            news.close()

    @inert
    def __repr__(self) -> str:
        what = ASK if self.is_agent else ", ".join(self.agent.tools.names)
        return f"<MCP server {self.name} of {what or 'nothing'}>"


async def _in_thread(function: Callable[[], Any]) -> Any:
    import anyio

    return await anyio.to_thread.run_sync(function, abandon_on_cancel=True)


def _described(tool: Tool) -> Any:
    """Return the description of a tool for clients, with its effect as hints."""
    from mcp import types

    hints = types.ToolAnnotations(
        read_only_hint=tool.effect == "pure",
        destructive_hint=tool.effect not in ("pure", "idempotent"),
        idempotent_hint=tool.effect in ("pure", "idempotent"),
    )
    returns = tool.returns if tool.returns.get("type") == "object" else None
    schema = {"type": "object", **tool.parameters}
    return types.Tool(
        name=tool.native["function"]["name"],
        description=tool.description,
        input_schema=schema,
        output_schema=returns,
        annotations=hints,
    )


def _of_message(message: Message, *, has_data: bool) -> Any:
    data = message.value if has_data and message.ok and isinstance(message.value, dict) else None
    return _result(message.text, ok=message.ok, data=data)


def _result(text: str, *, ok: bool, data: Any = None) -> Any:
    from mcp import types

    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)], structured_content=data, is_error=not ok
    )


def _guarded(app: Any, token: str) -> Callable[..., Awaitable[None]]:
    """Return an application that answers 401 to a request without the token."""
    wanted = f"Bearer {token}".encode()

    async def guarded(scope: Any, receive: Any, send: Any) -> None:
        given = dict(scope.get("headers") or ()).get(b"authorization", b"")
        if scope["type"] == "lifespan" or hmac.compare_digest(given, wanted):
            await app(scope, receive, send)
            return
        body = json.dumps({"error": "send the header Authorization: Bearer and the token"}).encode()
        headers = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
        await send({"type": "http.response.start", "status": 401, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return guarded
