"""The programs under test: a Jupyter server with JupyterLab and Notebook 7, and marimo, each on a loopback port."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WIDGETS = Path(__file__).parents[2] / "widgets"
LONG_ENOUGH = 60
"""Seconds after which a server that has not started counts as failed."""

NOTHING_FROM_OUTSIDE = {
    "@jupyterlab/apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    "@jupyterlab/extensionmanager-extension/plugin": {"enabled": False},
}
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}


@dataclass
class Jupyter:
    """A notebook server; `root` is the folder that it serves."""

    url: str
    token: str
    folder: Path

    @property
    def root(self) -> Path:
        """Return the folder of the notebooks."""
        return self.folder / "root"

    def settings(self, plugin: str, **values: Any) -> None:
        """Change settings, as in the settings editor; they apply to pages that are opened afterwards."""
        path = self.folder / "settings" / f"{plugin}.jupyterlab-settings"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(values))

    def theme(self, name: str) -> None:
        """Select the theme "light" or "dark"."""
        self.settings("@jupyterlab/apputils-extension/themes", theme=THEMES[name], **{"adaptive-theme": False})

    def api(self, path: str, method: str = "GET") -> Any:
        """Call the REST API; return the JSON of the answer, or None."""
        request = urllib.request.Request(
            f"{self.url}/api/{path}", method=method, headers={"Authorization": f"token {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=LONG_ENOUGH) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def connection(self, kernel: str) -> str:
        """Return the path of the connection file of a kernel."""
        return str(self.folder / "runtime" / f"kernel-{kernel}.json")


@contextmanager
def jupyter(folder: Path) -> Iterator[Jupyter]:
    """Yield a Jupyter server that uses none of the machine's settings."""
    port, server = free_port(), Jupyter("", "a-token-for-tests", folder)
    server.url = f"http://127.0.0.1:{port}"
    server.root.mkdir(parents=True)
    for plugin, values in NOTHING_FROM_OUTSIDE.items():
        server.settings(plugin, **values)
    server.theme("light")
    options = {
        "ServerApp.port": port,
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.root_dir": server.root,
        "ServerApp.open_browser": False,
        "ServerApp.allow_root": True,
        "IdentityProvider.token": server.token,
        "LabApp.expose_app_in_browser": True,
        "JupyterNotebookApp.expose_app_in_browser": True,
        "LabApp.news_url": None,
        "LabApp.check_for_updates_class": "jupyterlab.NeverCheckForUpdate",
    }
    command = [sys.executable, "-m", "jupyterlab", *(f"--{name}={value}" for name, value in options.items())]
    with running(command, folder, f"{server.url}/api"):
        yield server


@contextmanager
def marimo(notebook: Path) -> Iterator[str]:
    """Run a marimo notebook as an app, and yield its address."""
    port = free_port()
    command = [
        sys.executable,
        "-m",
        "marimo",
        "run",
        "--headless",
        "--port",
        str(port),
        "--host",
        "127.0.0.1",
        str(notebook),
    ]
    with running(command, notebook.parent, f"http://127.0.0.1:{port}/health"):
        yield f"http://127.0.0.1:{port}"


@contextmanager
def dev_page(folder: Path) -> Iterator[str]:
    """Serve the page that runs the widget without Jupyter, and yield its address."""
    port = free_port()
    with running(
        [find_node(), str(WIDGETS / "build.mjs"), "--dev", str(port)], folder, f"http://127.0.0.1:{port}/dev/"
    ):
        yield f"http://127.0.0.1:{port}/dev/"


def find_node() -> str:
    """Return the path of node: the machine's, or else the one that make installed from a wheel."""
    return shutil.which("node") or str(Path(sys.prefix) / "bin/node")


@contextmanager
def running(command: list[str], folder: Path, sign: str) -> Iterator[None]:
    """Run a program in the meantime; `sign` is an address that answers as soon as it is ready."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("JUPYTER", "MARIMO", "XDG"))}
    own = {f"JUPYTER_{kind.upper()}_DIR": str(folder / kind) for kind in ("config", "data", "runtime")}
    own |= {f"JUPYTERLAB_{kind.upper()}_DIR": str(folder / kind) for kind in ("settings", "workspaces")}
    own |= {
        "AGENTKIT_HOME": str(folder / "runs"),
        "AGENTKIT_NONINTERACTIVE": "0",
        "HOME": str(folder),
        "IPYTHONDIR": str(folder / "ipython"),
    }
    log = folder / "log"
    with (
        log.open("w") as out,
        subprocess.Popen(command, env={**kept, **own}, cwd=folder, stdout=out, stderr=out) as process,
    ):
        try:
            end = time.monotonic() + LONG_ENOUGH
            while not answers(sign):
                assert process.poll() is None and time.monotonic() < end, log.read_text()
                time.sleep(0.1)
            yield
        finally:
            process.terminate()
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                process.kill()


def answers(url: str) -> bool:
    """Return whether a server responds."""
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except OSError:
        return False


def free_port() -> int:
    """Return a port that is not in use."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
