"""A server in a thread and a loop of its own, beside a notebook, a script, or the command line."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import ipaddress
import os
import signal
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Iterable
from typing import Any

from agentkit.agent.agent import Agent
from agentkit.config import home
from agentkit.core import log
from agentkit.core.private_files import write_private
from agentkit.errors import UsageError
from agentkit.inert import inert
from agentkit.run.run import Run
from agentkit.serve.app import App
from agentkit.serve.app import app as make_app
from agentkit.serve.streams import SLOW

MAX_MESSAGE = 6_000_000
"""The most bytes of a message over a websocket."""

GRACE = 5.0
"""How many seconds runs have to reach a step boundary when the process is asked to end."""

THREADS = 40
"""How many requests at once may wait for a run or a disk."""


def serve(
    agent: Agent,
    *,
    port: int = 0,
    host: str = "127.0.0.1",
    hosts: Iterable[str] = (),
    token: str = "",
    watch_token: str = "",
    **limits: Any,
) -> Server:
    """Serve the runs of an agent over HTTP, in a thread of its own, and print the address of its page.

    Port 0 is a free one. Everybody who has the address with the token can start, watch and steer runs; `watch_token`
    is for watching only. Only this machine can reach the server, unless `host` is another address of it: then `hosts`
    has to name the server as browsers do, and you choose the `token`. The `limits` are those of `app`.

    Raises `UsageError` if the port is taken, or if the packages of the extra "serve" are missing.
    """
    hosts = [hosts] if isinstance(hosts, str) else list(hosts)
    if not _is_loopback(host) and not (hosts and token):
        raise UsageError(
            f"other machines can reach {host}, so name it as they do, and choose a token: hosts=[…], token=…; "
            "`agentkit serve` takes --name NAME, and the variable AGENTKIT_SERVE_TOKEN"
        )
    server = Server(make_app(agent, token=token, watch_token=watch_token, hosts=hosts, **limits), host, port)
    sys.stdout.write(f"{server.address}\n")
    return server


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Server:
    """A server that is running; `close()` ends it, and the runs go on. `url` is where, `address` is it with the token.

    `hub` has the runs. In a `with` statement, the server is closed at the end.
    """

    def __init__(self, app: App, host: str, port: int) -> None:
        try:
            import uvicorn
        except ImportError as error:
            raise UsageError(
                f"a server needs packages that are missing ({error}); "
                "install them with: pip install 'jupyter-agentkit[serve]'"
            ) from error
        self.app = app
        self.hub = app.hub
        self._socket = _bound(host, port)
        name, self.port = self._socket.getsockname()[:2]
        self.url = f"http://[{name}]:{self.port}" if ":" in name else f"http://{name}:{self.port}"
        config = uvicorn.Config(
            app,
            log_config=None,
            log_level="warning",
            access_log=False,  # it would write tokens
            server_header=False,
            ws_max_size=MAX_MESSAGE,
            timeout_graceful_shutdown=1,
        )
        log.guard("uvicorn.error", "uvicorn.asgi")
        self._server = uvicorn.Server(config)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._opened: list[str] = []
        self._thread = threading.Thread(target=self._run, name="agentkit-serve", daemon=True)
        self._thread.start()
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.005)
        atexit.register(self.close)

    @property
    def address(self) -> str:
        """The address of the page, with the token: anyone who has it can do what you can."""
        return f"{self.url}/?token={self.app.token}"

    @property
    def watch_address(self) -> str:
        """The address of the page for watching: anyone who has it sees the runs, and changes nothing."""
        return f"{self.url}/?token={self.app.watch_token}"

    @property
    def is_running(self) -> bool:
        """Whether the server answers."""
        return self._thread.is_alive()

    def show(self, run: Run, *, browser: bool = True) -> str:
        """Show the page of a run of this process: print its address, open it in a browser, and return the address.

        No browser is opened with `browser=False`, or if AGENTKIT_NONINTERACTIVE is set. Raises `UsageError` if the
        server has been closed.
        """
        if not self.is_running:
            raise UsageError("this server is closed; serve(agent) starts another one")
        self.hub.add(run)
        address = f"{self.url}/runs/{run.id}/view?token={self.app.token}"
        sys.stdout.write(f"{address}\n")
        if browser and os.environ.get("AGENTKIT_NONINTERACTIVE", "0") in ("", "0"):
            self._open(address)
        return address

    def _open(self, address: str) -> None:
        """Open a browser by way of a private file: other users can read the arguments of a program."""
        home().mkdir(parents=True, exist_ok=True)
        file = home() / f"page-{os.getpid()}-{self.port}.html"
        write_private(file, f'<meta charset="utf-8"><meta http-equiv="refresh" content="0;url={address}">')
        self._opened.append(str(file))
        webbrowser.open(file.as_uri())

    def close(self) -> None:
        """End the server: streams end, and clients may connect to the next one. The runs go on."""
        atexit.unregister(self.close)
        if self._loop is not None and self._thread.is_alive():
            with contextlib.suppress(RuntimeError):  # the loop has ended by itself
                asyncio.run_coroutine_threadsafe(self._end(), self._loop)
            self._thread.join(10)
        for file in self._opened:
            with contextlib.suppress(OSError):
                os.unlink(file)
        self._opened.clear()

    def wait(self) -> None:
        """Serve until the process is interrupted, or asked to end (SIGTERM); then pause the runs, and close.

        Raises `KeyboardInterrupt` after an interrupt.
        """
        asked = threading.Event()
        before = None
        if threading.current_thread() is threading.main_thread():
            before = signal.signal(signal.SIGTERM, lambda number, frame: asked.set())
        try:
            while self.is_running and not asked.wait(0.2):
                pass
        finally:
            self.hub.pause(GRACE)
            self.close()
            if before is not None:
                signal.signal(signal.SIGTERM, before)

    # -- its thread ----------------------------------------------------------------------------------------------------

    def _run(self) -> None:
        with asyncio.Runner() as runner, contextlib.suppress(SystemExit):  # what uvicorn does if it cannot start
            runner.run(self._serve())

    async def _serve(self) -> None:
        from concurrent.futures import ThreadPoolExecutor

        self._loop = asyncio.get_running_loop()
        self._loop.set_default_executor(ThreadPoolExecutor(THREADS, "agentkit-serve"))
        await self._server.serve(sockets=[self._socket])

    async def _end(self) -> None:
        await self.app.close()  # first: uvicorn would wait for the streams, and then break them off
        self._server.should_exit = True

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @inert
    def __repr__(self) -> str:
        state = f"at {self.url}/?token=…" if self.is_running else "that is closed"
        return f"<server {state}>"


def _bound(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address. Raises `UsageError` if that is not possible."""
    sock: socket.socket | None = None
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, protocol, _, address = found[0]
        sock = socket.socket(family, kind, protocol)
        if os.name != "nt":  # there, it would let another program take the port
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):  # a client that is gone without a word
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(SLOW * 1_000))
        sock.bind((address[0], port, *address[2:]))  # getaddrinfo takes a port that is too large, modulo 65,536
        sock.listen(2048)
    except (OSError, OverflowError) as error:
        if sock is not None:
            sock.close()
        raise UsageError(f"cannot serve at {host}, port {port}: {error}; port 0 is a free one") from error
    return sock
