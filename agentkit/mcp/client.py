"""The tools, resources and prompts of an MCP server, for an agent.

A server is somebody else's program. What it says about its tools is not believed unless you trust it, what it returns
is the text of a tool, and it can neither delay a run nor break it: each call has a time limit, and what it lists is
limited, too.
"""

from __future__ import annotations

import fnmatch
import functools
import json
import os
import re
import shutil
import threading
import warnings
import weakref
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from agentkit.core import background, secrets
from agentkit.core.checked_arguments import checked
from agentkit.core.messages import Chat, assistant, canonical, digest, user
from agentkit.errors import ToolError, Unfinished, Unknown, UsageError
from agentkit.inert import for_terminal, inert
from agentkit.mcp.connection import Connection, Target, reason
from agentkit.mcp.results import block_text, resource_text, result_text, value_of
from agentkit.mcp.sdk import sdk
from agentkit.tools.tool import Tool

DEFAULT_TIMEOUT = 60.0
_PATIENCE = 600.0
"""How many seconds a call has that is made a second time, before the loop of the lost connection ends."""

_MAX_PAGES = 100
_MAX_TOOLS = 1_000
_MAX_DESCRIPTION = 10_000
_MAX_SCHEMA = 100_000
_NAME = re.compile(r"[\w./-]{1,128}", re.ASCII)  # as in the protocol; others can look like the name of another tool

Ask = Callable[[Any], Coroutine[Any, Any, Any]]
Schema = dict[str, Any]


@checked
def mcp(
    server: str | Sequence[str],
    *,
    prefix: str = "",
    only: Sequence[str] = ("*",),
    trust: bool = False,
    timeout: float = DEFAULT_TIMEOUT,
    headers: Mapping[str, str] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> McpServer:
    """Return the MCP server of a command or of a URL, as a source of tools for an agent.

    `server` is a command, such as "npx -y @modelcontextprotocol/server-filesystem notes" or a list of its words, or the
    URL of a server that speaks streamable HTTP. It is started when it is first needed.

    Each name is preceded by `prefix`. Only tools that match one of the patterns `only` are offered. The server's hints
    about the effects of its tools count if you `trust` it; otherwise each tool is taken for irreversible. `timeout` is
    how many seconds the server has to start, and to answer each call. `headers` are sent to a URL. A command runs in
    the folder `cwd`, with the variables `env` and, of your own, only those of the SDK (`PATH`, `HOME` and a few more).

    Raises `UsageError` if `server` is neither a command nor a URL.
    """
    return McpServer(_target(server, headers or {}, env or {}, cwd), prefix, tuple(only), trust, timeout)


def _target(
    server: str | Sequence[str], headers: Mapping[str, str], env: Mapping[str, str], cwd: str | os.PathLike[str] | None
) -> Target:
    import shlex

    if isinstance(server, str) and server.startswith(("http://", "https://")):
        if env or cwd is not None:
            raise UsageError("env and cwd are for a command; a URL takes headers")
        secrets.learn_named(headers)
        return Target(url=server, headers=dict(headers))
    try:
        words = shlex.split(server, posix=os.name != "nt") if isinstance(server, str) else list(map(str, server))
    except ValueError as error:
        raise UsageError(f"{server!r:.200} is not a command: {error}; pass a list of its words") from None
    if not words:
        raise UsageError('an MCP server is a command, such as "npx -y …", or a URL, not an empty text')
    if headers:
        raise UsageError("headers are for a URL; a command takes env")
    secrets.learn_named(env)
    return Target(command=tuple(words), env=dict(env), cwd=None if cwd is None else os.fspath(cwd))


class McpServer:
    """An MCP server as a source of tools; see `mcp`.

    Each run is offered the tools that the server has when the run starts. A lost connection is opened again before the
    next call; a call during which it is lost is repeated only if the tool may be repeated.
    """

    def __init__(self, target: Target, prefix: str, only: tuple[str, ...], trust: bool, timeout: float) -> None:
        self.target = target
        self.prefix = prefix
        self.only = only
        self.trust = trust
        self.timeout = timeout
        self.closed = False
        self._lock = threading.Lock()
        self._connections: list[Connection] = []  # the open one, if any
        self._digests: dict[str, str] = {}
        weakref.finalize(self, _let_go, self._connections).atexit = False

    # -- the connection ------------------------------------------------------------------------------------------------

    def connect(self) -> McpServer:
        """Connect to the server now, unless it is connected. Raises `UsageError` if that fails."""
        self.closed = False
        self._connection()
        return self

    def close(self) -> None:
        """End the connection, and the process of the server."""
        self.closed = True
        _close(self._connections)

    def __enter__(self) -> McpServer:
        return self.connect()

    def __exit__(self, *error: Any) -> None:
        self.close()

    def _connection(self) -> Connection:
        """Return the open connection; a new one if there is none. Raises `UsageError`."""
        sdk()  # here, in the thread of the caller
        with self._lock:
            if self.closed:
                raise UsageError(f"the MCP server {self.target.text} was closed; connect() opens it again")
            for connection in self._connections:
                if connection.is_usable:
                    return connection
            _let_go(self._connections)
            self._check_command()
            self._connections.append(Connection(self.target, self.timeout))
            return self._connections[-1]

    def _check_command(self) -> None:
        command, cwd = self.target.command, self.target.cwd
        if cwd is not None and not os.path.isdir(cwd):
            raise UsageError(f"there is no folder {cwd!r} to start the MCP server in")
        path = self.target.env.get("PATH", os.environ.get("PATH"))
        if command and shutil.which(command[0], path=path) is None:
            raise UsageError(
                f"the MCP server {self.target.text} could not be started: there is no program {command[0]!r}; "
                "install it, or write its whole path"
            )

    def _ask(self, ask: Ask) -> Any:
        """Ask the server for something that may be repeated, and wait for the answer. Raises `UsageError`."""
        for attempt in (1, 2):
            connection = self._connection()
            try:
                future = connection.start(ask)
                return background.wait(future, self.timeout)
            except TimeoutError:
                future.cancel()
                raise UsageError(connection.late(self.timeout)) from None
            except Exception as error:
                connection.note(error)
                if attempt == 2 or connection.is_usable:
                    raise UsageError(
                        f"the MCP server {self.target.text} failed: {connection.problem(error)}"
                    ) from error

    # -- as a source of tools ------------------------------------------------------------------------------------------

    def get_tool_schemas(self) -> list[Schema]:
        """Return the schemas of the tools that the server has now, with their effects. Raises `UsageError`."""
        tools = self._ask(lambda client: _pages(client.list_tools, "tools"))
        schemas, left_out = dict[str, Schema](), list[str]()
        for tool in tools[:_MAX_TOOLS]:
            if not any(fnmatch.fnmatchcase(tool.name, pattern) for pattern in self.only):
                continue
            if problem := _problem(tool):
                left_out.append(f"{tool.name[:100]!r} ({problem})")
            elif tool.name not in schemas:
                schemas[tool.name] = self._schema(tool)
        if len(tools) > _MAX_TOOLS:
            left_out.append(f"all after the first {_MAX_TOOLS:,} tools")
        if left_out:
            self._warn(f"left out: {', '.join(left_out[:10])}{' …' if len(left_out) > 10 else ''}")
        self._tell_changes(schemas)
        return list(schemas.values())

    def _schema(self, tool: Any) -> Schema:
        return {
            "name": self.prefix + tool.name,
            "description": (tool.description or tool.title or "")[:_MAX_DESCRIPTION],
            "argument_schema": tool.input_schema,
            "output_schema": tool.output_schema or {},
            "effect": _effect(tool.annotations) if self.trust else "irreversible",
        }

    def _tell_changes(self, schemas: Mapping[str, Schema]) -> None:
        """Warn if the tools are no longer those of the last time: an approval may have been given to another tool."""
        digests = {name: digest(canonical(schema)) for name, schema in schemas.items()}
        before, self._digests = self._digests, digests
        changes = {
            "new": digests.keys() - before.keys(),
            "gone": before.keys() - digests.keys(),
            "changed": {name for name in digests.keys() & before.keys() if digests[name] != before[name]},
        }
        parts = [f"{what}: {', '.join(sorted(names)[:10])}" for what, names in changes.items() if names]
        if before and parts:
            self._warn(f"has changed its tools; {'; '.join(parts)}")

    def _warn(self, text: str) -> None:
        warnings.warn(for_terminal(f"the MCP server {self.target.text}: {text}"), RuntimeWarning, stacklevel=4)

    def tool_of(self, schema: Schema) -> Tool:
        """Return the tool of a schema of `get_tool_schemas`, even of a recorded one."""
        name = str(schema["name"])
        own_name = name.removeprefix(self.prefix)
        effect: Any = schema.get("effect") if self.trust else "irreversible"
        known = ("pure", "idempotent", "irreversible")
        return self._tool(
            name,
            str(schema.get("description") or ""),
            schema.get("argument_schema") or {},
            effect if effect in known else "irreversible",
            lambda arguments: lambda client: _call_tool(client, own_name, arguments),
            own_name,
            schema.get("output_schema") or {},
        )

    def check(self) -> None:
        """Check that the server can be reached. Raises `UsageError`."""
        self._connection()

    async def execute_tool(self, name: str, arguments: dict[str, Any]) -> Any:
        """Call a tool, and return its value. Raises `ToolError`."""
        import asyncio

        return await asyncio.wrap_future(self.tool_of({"name": name})(**arguments))

    def _tool(
        self,
        name: str,
        description: str,
        parameters: Schema,
        effect: Any,
        ask: Callable[[dict[str, Any]], Ask],
        own_name: str = "",
        returns: Schema | None = None,
    ) -> Tool:
        """Return a tool that asks the server; `own_name` is the name that it lists, if any."""

        def call(**arguments: Any) -> Future[Any]:
            connection = self._connection()  # here, in the thread of the call: this may start the server
            answer = functools.partial(
                self._answer, own_name, connection, ask(arguments), may_repeat=effect in ("pure", "idempotent")
            )
            return connection.start(answer)

        return Tool(name, description, parameters, call, returns, effect=effect, timeout=self.timeout)

    async def _answer(
        self, name: str, connection: Connection, ask: Ask, client: Any, *, may_repeat: bool, is_repeated: bool = False
    ) -> Any:
        """Return the answer to a call. Raises `ToolError`, or `Unfinished` if the call may have been performed.

        This runs on the loop of the connection, even while another one is opened because this one was lost.
        """
        import asyncio

        try:
            return await ask(client)
        except ToolError:
            raise
        except Exception as error:
            connection.note(error)
            if connection.is_usable:
                raise ToolError(await self._explained(name, client, error)) from None
            problem = await asyncio.to_thread(connection.problem, error)
        if not is_repeated and (may_repeat or connection.is_stale):
            other = await asyncio.to_thread(self._connection)
            again = functools.partial(self._answer, name, other, ask, may_repeat=may_repeat, is_repeated=True)
            return await asyncio.wrap_future(other.start(again))
        raise Unfinished(f"the MCP server ended, or the connection was lost, before it answered: {problem}")

    async def _explained(self, name: str, client: Any, error: Exception) -> str:
        """Return why the server refused a call, even if it no longer has the tool."""
        text = f"the MCP server refused the call: {reason(error)}"
        if not name:
            return text
        try:
            listed = await _pages(client.list_tools, "tools")
        except Exception:
            return text
        names = [tool.name for tool in listed]
        if name in names:
            return text
        return f"the MCP server no longer has this tool. A new run is offered what it has now: {', '.join(names[:20])}"

    # -- resources and prompts -----------------------------------------------------------------------------------------

    def resources(self) -> list[dict[str, str]]:
        """Return the resources of the server: `uri`, `name`, `description` and `type` of each. Raises `UsageError`."""
        return [_about_resource(resource) for resource in self._ask(_list_resources)]

    def read(self, uri: str) -> str:
        """Return the text of a resource; of one that is bytes, its size and its type. Raises `UsageError`."""
        return str(self._ask(lambda client: _read(client, uri)))

    @property
    def resource_tools(self) -> list[Tool]:
        """Two tools with which a model lists and reads the resources: `list_resources` and `read_resource`."""
        effect = "pure" if self.trust else "irreversible"
        uri = {"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]}
        listing = self._tool(
            f"{self.prefix}list_resources", "List the resources that can be read.", {}, effect, lambda _: _listed
        )
        reading = self._tool(
            f"{self.prefix}read_resource",
            "Read a resource, by its URI.",
            uri,
            effect,
            lambda arguments: lambda client: _read(client, arguments["uri"]),
        )
        return [listing, reading]

    def prompts(self) -> list[dict[str, Any]]:
        """Return the prompts of the server: `name`, `description` and `arguments` of each. Raises `UsageError`."""
        return [
            {
                "name": prompt.name,
                "description": prompt.description or "",
                "arguments": {argument.name: argument.description or "" for argument in prompt.arguments or ()},
            }
            for prompt in self._ask(lambda client: _pages(client.list_prompts, "prompts"))
        ]

    def prompt(self, name: str, /, **arguments: str) -> Chat:
        """Return a prompt as a chat, with which a run can start. Raises `Unknown`, `UsageError`."""
        known = {prompt["name"]: prompt for prompt in self.prompts()}
        if name not in known:
            raise Unknown("prompt", name, known)
        for given in arguments:
            if given not in known[name]["arguments"]:
                raise Unknown("argument", given, known[name]["arguments"], of=f"prompt {name!r}")
        result = self._ask(lambda client: client.get_prompt(name, arguments))
        speak = {"user": user, "assistant": assistant}
        return Chat.of([speak[message.role](block_text(message.content, {})) for message in result.messages])

    @inert
    def __repr__(self) -> str:
        tools = f": {', '.join(self._digests)}" if self._digests else ""
        return f"<MCP server {self.target.text}{tools}>"


def _let_go(connections: list[Connection]) -> None:
    """Close connections that nobody can use any more, without waiting for their servers to end."""
    gone = [*connections]
    connections.clear()
    if gone:
        background.in_thread(lambda: _close(gone, _PATIENCE))


def _close(connections: list[Connection], patience: float = 1.0) -> None:
    while connections:
        connections.pop().close(patience)


# -- what is asked of a client of the SDK ------------------------------------------------------------------------------


async def _pages(listing: Callable[..., Awaitable[Any]], what: str) -> list[Any]:
    """Return all pages of a list; a server that never ends is read no further than the limits."""
    found, cursor = list[Any](), None
    for _ in range(_MAX_PAGES):
        page = await listing(cursor=cursor)
        found += getattr(page, what)
        cursor = page.next_cursor
        if cursor is None or len(found) > _MAX_TOOLS:
            break
    return found


async def _call_tool(client: Any, name: str, arguments: dict[str, Any]) -> Any:
    """Call a tool, and return its value.

    What the client's own `call_tool` adds is left out: it checks results against the schema of the server, whose
    patterns can take for ever.
    """
    from mcp import types

    request = types.CallToolRequest(params=types.CallToolRequestParams(name=name, arguments=arguments))
    result = await client.session.send_request(request, types.CallToolResult)
    if result.is_error:
        raise ToolError(result_text(result) or "the tool failed, and gave no reason")
    return value_of(result)


async def _list_resources(client: Any) -> list[Any]:
    return await _pages(client.list_resources, "resources")


async def _listed(client: Any) -> list[dict[str, str]]:
    return [_about_resource(resource) for resource in await _list_resources(client)]


async def _read(client: Any, uri: str) -> str:
    result = await client.read_resource(uri)
    return "\n\n".join(map(resource_text, result.contents))


def _about_resource(resource: Any) -> dict[str, str]:
    return {
        "uri": str(resource.uri),
        "name": resource.name,
        "description": (resource.description or "")[:_MAX_DESCRIPTION],
        "type": resource.mime_type or "",
    }


def _effect(hints: Any) -> str:
    """Return the effect that the hints of a server stand for."""
    if hints is not None and hints.read_only_hint:
        return "pure"
    return "idempotent" if hints is not None and hints.idempotent_hint else "irreversible"


def _problem(tool: Any) -> str:
    """Return why a tool cannot be offered, or ""."""
    if not _NAME.fullmatch(tool.name):
        return "its name is not made of the letters A to Z, digits, and . _ - /"
    try:
        size = len(json.dumps([tool.input_schema, tool.output_schema]))
    except (RecursionError, ValueError):
        return "its schema is nested too deeply"
    return f"its schema has {size:,} characters" if size > _MAX_SCHEMA else ""
