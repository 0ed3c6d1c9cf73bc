"""A PostgreSQL server in a temporary folder, and PgBouncer before it, as a user of their own.

The programs are those of this machine, or those that `make test` has unpacked.
"""

from __future__ import annotations

import itertools
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from agentkit.journal import open_journal

ROOT = Path(__file__).parents[1]
UNPACKED = ROOT / ".venv/postgresql/root"
HOW = "these tests need PostgreSQL and PgBouncer: run `make postgresql`, or `apt-get install postgresql pgbouncer` as root"
NOBODY: dict[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
"""initdb and PgBouncer refuse to run as root."""


def program(name: str) -> str:
    """Return the path of a program; fail with what to do if there is none."""
    folders = [folder for root in (Path("/"), UNPACKED) for folder in sorted(root.glob("usr/lib/postgresql/*/bin"))]
    path = os.pathsep.join([*map(str, folders), os.environ.get("PATH", ""), "/usr/sbin", str(UNPACKED / "usr/sbin")])
    found = shutil.which(name, path=path)
    if found is None:
        raise RuntimeError(f"there is no {name}: {HOW}")
    return os.path.realpath(found)


def environment() -> dict[str, str]:
    """Return the environment of the programs, which may need unpacked libraries."""
    libraries = [str(folder) for folder in UNPACKED.glob("usr/lib/*-linux-gnu")]
    return {**os.environ, "LD_LIBRARY_PATH": os.pathsep.join(libraries), "LC_ALL": "C"}


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Server:
    """A server that is started at once; `settings` are lines of postgresql.conf."""

    def __init__(self, **settings: object) -> None:
        self.folder, self.port, self.password = Path(tempfile.mkdtemp(prefix="pg-")), free_port(), secrets.token_hex(12)
        self._names = itertools.count(1)
        self._shared: str | None = None
        (self.folder / "password").write_text(self.password)
        if NOBODY:
            os.chown(self.folder, 65534, 65534)
            (self.folder / "password").chmod(0o644)
        self.data = self.folder / "data"
        self._run(
            *("initdb", "--pgdata", str(self.data), "--username", "owner", "--auth", "scram-sha-256"),
            *("--pwfile", str(self.folder / "password"), "--encoding", "UTF8", "--no-locale", "--no-sync"),
        )
        lines = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": "",
            "shared_buffers": "32MB",
            "max_connections": 120,
            **settings,
        }
        with (self.data / "postgresql.conf").open("a") as file:
            file.writelines(f"{name} = '{value}'\n" for name, value in lines.items())
        self.start()

    def _run(self, name: str, *arguments: str) -> None:
        with (self.folder / f"{name}.out").open("w") as out:
            done = subprocess.run(
                [program(name), *arguments], stdout=out, stderr=subprocess.STDOUT, cwd="/", env=environment(), **NOBODY
            )
        if done.returncode:
            raise RuntimeError((self.folder / f"{name}.out").read_text())

    def start(self) -> None:
        self._run("pg_ctl", "start", "--wait", "--timeout=120", f"--pgdata={self.data}", f"--log={self.folder}/log")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it: "immediate" as a crash does, "fast" after the transactions."""
        self._run("pg_ctl", "stop", "--wait", "--timeout=120", f"--pgdata={self.data}", f"--mode={mode}")

    def url(self, database: str, user: str = "owner", port: int = 0, password: str = "") -> str:
        return f"postgresql://{user}:{password or self.password}@127.0.0.1:{port or self.port}/{database}"

    def create(self) -> str:
        """Create an empty database, and return its name."""
        name = f"test_{next(self._names)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        return name

    def emptied(self) -> str:
        """Return the name of a database without tables: always the same one, since to create one takes long."""
        if self._shared is None:
            self._shared = self.create()
        with psycopg.connect(self.url(self._shared), autocommit=True) as connection:
            connection.execute("DROP SCHEMA IF EXISTS agentkit CASCADE")
        return self._shared

    @contextmanager
    def journal(self) -> Iterator[str]:
        """Give the URL of an empty database, and close what this process has opened as a journal there."""
        url = self.url(self.emptied())
        yield url
        for read_only in (True, False):
            opened: Any = open_journal(url, read_only=read_only)
            opened.close()

    def remove(self) -> None:
        try:
            self.stop()
        except RuntimeError:
            pass  # it was stopped by a test
        shutil.rmtree(self.folder, ignore_errors=True)


class Bouncer:
    """PgBouncer before a server, in transaction mode, with few connections to it."""

    def __init__(self, server: Server, size: int = 4) -> None:
        self.server, self.port = server, free_port()
        self.folder = server.folder / f"bouncer-{self.port}"
        self.folder.mkdir()
        (self.folder / "users").write_text(f'"owner" "{server.password}"\n')
        (self.folder / "ini").write_text(
            f"""[databases]
* = host=127.0.0.1 port={server.port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {self.port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {self.folder}/users
pool_mode = transaction
default_pool_size = {size}
max_client_conn = 500
ignore_startup_parameters = extra_float_digits
"""
        )
        with (self.folder / "log").open("w") as log:
            self.process = subprocess.Popen(
                [program("pgbouncer"), str(self.folder / "ini")],
                stdout=log,
                stderr=log,
                cwd="/",
                env=environment(),
                **NOBODY,
            )
        for _ in range(200):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError((self.folder / "log").read_text())

    def url(self, database: str) -> str:
        return self.server.url(database, port=self.port)

    def remove(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
