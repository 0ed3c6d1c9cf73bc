"""A notebook in a real page, so that a test reads like what a person does."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
from browser.servers import Jupyter
from jupyter_client.blocking import BlockingKernelClient
from playwright.sync_api import Locator, Page

LONG_ENOUGH = 60
"""Seconds after which something that was waited for counts as failed."""


class Notebook:
    """A notebook that is open in JupyterLab ("lab") or Notebook 7 ("notebook"), and its kernel."""

    def __init__(self, page: Page, server: Jupyter, app: str, folder: Path) -> None:
        self.page, self.server, self.app, self.folder = page, server, app, folder
        self.name = ""
        self._client: BlockingKernelClient | None = None

    def open(self, *cells: str, name: str = "a.ipynb") -> Notebook:
        """Write a notebook of code cells, and open it."""
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(cell, id=f"cell-{i}") for i, cell in enumerate(cells)]
        )
        notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
        self.folder.mkdir(exist_ok=True)
        nbformat.write(notebook, self.folder / name)
        return self.visit(self.folder / name)

    def visit(self, path: Path) -> Notebook:
        """Open an existing notebook, and wait until its kernel is ready."""
        self.name = path.relative_to(self.server.root).as_posix()
        place = f"lab/tree/{self.name}?reset" if self.app == "lab" else f"notebooks/{self.name}?"
        self.page.goto(f"{self.server.url}/{place}&token={self.server.token}")
        self.ready()
        return self

    def reload(self) -> None:
        """Reload the page; the kernel keeps running."""
        self.page.reload()
        self.ready()

    def ready(self) -> None:
        """Wait until cells can be run."""
        self.page.wait_for_function(READY, timeout=LONG_ENOUGH * 1000)
        if self._client is None:
            self._connect()

    def __len__(self) -> int:
        return int(self.page.evaluate("() => jupyterapp.shell.currentWidget.content.model.cells.length"))

    def run(self, i: int) -> None:
        """Start a cell; see `done`."""
        self.page.evaluate(RUN, i)

    def done(self, i: int) -> None:
        """Wait until a cell has finished."""
        self.page.wait_for_function(DONE, arg=i, timeout=LONG_ENOUGH * 1000)

    def executed(self, i: int) -> bool:
        """Return whether a cell has run."""
        return bool(
            self.page.evaluate("(i) => jupyterapp.shell.currentWidget.content.widgets[i].model.executionCount", i)
        )

    def cell(self, i: int) -> Locator:
        """Return a cell with its outputs."""
        return self.page.locator(".jp-Notebook .jp-Cell").nth(i)

    def output(self, i: int) -> Locator:
        """Return the output of a cell."""
        return self.cell(i).locator(".jp-OutputArea").first

    def sources(self) -> list[str]:
        """Return the text of all cells."""
        return list(
            self.page.evaluate(
                "() => Array.from(jupyterapp.shell.currentWidget.content.model.cells, c => c.sharedModel.getSource())"
            )
        )

    def save(self) -> nbformat.NotebookNode:
        """Save the notebook, and return the contents of its file."""
        self.page.evaluate("() => jupyterapp.shell.currentWidget.context.save()")
        return nbformat.read(self.server.root / self.name, as_version=4)

    # -- the kernel, without the page --------------------------------------------------------------------------------

    @property
    def kernel(self) -> str:
        """Return the id of the kernel."""
        return next(
            str(session["kernel"]["id"]) for session in self.server.api("sessions") if session["path"] == self.name
        )

    def ask(self, expression: str) -> Any:
        """Return the value of a Python expression in the kernel, after the running cell."""
        assert self._client is not None
        reply = self._client.execute(
            "", user_expressions={"value": expression}, store_history=False, reply=True, timeout=LONG_ENOUGH
        )
        value = reply["content"]["user_expressions"]["value"]
        assert value["status"] == "ok", value
        return ast.literal_eval(value["data"]["text/plain"])

    def do(self, code: str) -> None:
        """Run code in the kernel, without a cell."""
        assert self._client is not None
        reply = self._client.execute(code, store_history=False, silent=True, reply=True, timeout=LONG_ENOUGH)
        assert reply["content"]["status"] == "ok", reply["content"]

    def until(self, expression: str) -> None:
        """Wait until a Python expression is true in the kernel."""
        eventually(lambda: self.ask(f"bool({expression})"), expression)

    def restart(self) -> None:
        """Restart the kernel as the button of the page does, and wait until it responds."""
        self.page.evaluate("() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
        self._connect()

    def close(self) -> None:
        """Shut down the kernel."""
        if self._client is not None:
            self._client.stop_channels()
            self.server.api(f"kernels/{self.kernel}", "DELETE")

    def _connect(self) -> None:
        if self._client is not None:
            self._client.stop_channels()
        self._client = BlockingKernelClient(connection_file=self.server.connection(self.kernel))
        self._client.load_connection_file()
        self._client.start_channels()
        eventually(self._is_ready, "the kernel is ready")

    def _is_ready(self) -> bool:
        assert self._client is not None
        try:
            self._client.wait_for_ready(timeout=LONG_ENOUGH)
        except RuntimeError:  # on a busy machine, a kernel that is still starting counts as dead
            return False
        return True


def eventually(true: Callable[[], bool], what: str, seconds: float = LONG_ENOUGH) -> None:
    """Wait until something is true."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, f"never true: {what}"
        time.sleep(0.02)


READY = """() => {
  const panel = window.jupyterapp?.shell.currentWidget;
  const kernel = panel?.sessionContext?.session?.kernel;
  return panel?.content?.model && kernel?.status === 'idle' && kernel.connectionStatus === 'connected';
}"""

RUN = """(i) => {
  const notebook = jupyterapp.shell.currentWidget.content;
  notebook.activeCellIndex = i;
  jupyterapp.commands.execute('notebook:run-cell');
}"""

DONE = """(i) => {
  const cell = jupyterapp.shell.currentWidget.content.widgets[i];
  return cell.model.executionCount !== null && cell.model.executionState !== 'running';
}"""
