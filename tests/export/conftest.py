"""Exported notebooks in a real kernel, and recordings in a new journal."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentkit import Agent, Run
from agentkit.export import adopt
from agentkit.journal import MemoryJournal


@pytest.fixture
def execute(tmp_path: Path) -> Callable[..., Any]:
    """Return a function that executes notebooks as one, in a kernel whose folder is `tmp_path`, and returns that one."""
    import nbformat
    from nbclient import NotebookClient
    from traitlets.config import Config

    def run(*notebooks: Any, allow_errors: bool = False) -> Any:
        joined = copy.deepcopy(notebooks[0])
        joined.cells = [copy.deepcopy(cell) for notebook in notebooks for cell in notebook.cells]
        for number, cell in enumerate(joined.cells):
            cell.id = f"cell-{number}"
            if cell.cell_type == "code":
                cell.outputs = []
        nbformat.validate(joined)
        no_ports = Config(KernelManager={"transport": "ipc", "ip": f"{tmp_path}/kernel"})
        resources = {"metadata": {"path": str(tmp_path)}}
        NotebookClient(joined, timeout=60, allow_errors=allow_errors, resources=resources, config=no_ports).execute()
        return joined

    return run


@pytest.fixture
def nbval() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return a function that executes notebooks with nbval, which compares the outputs exactly."""

    def check(*paths: Path) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "--nbval",
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            paths[0].parent,
        ]
        return subprocess.run([*command, "-c", "/dev/null", *paths], capture_output=True, text=True, timeout=110)

    return check


@pytest.fixture
def restored() -> Callable[[dict[str, Any], Agent], Run]:
    """Return a function that opens the run of a recording in a new journal, as another process would."""

    def restore(data: dict[str, Any], agent: Agent) -> Run:
        journal = MemoryJournal()
        return agent.using(journal=journal).resume(adopt(data, journal))

    return restore


def outputs(notebook: Any) -> list[Any]:
    """Return the outputs of the code cells, without their execution counts."""
    return [
        [{**output, "execution_count": None} for output in cell.outputs]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


@pytest.fixture
def outputs_of() -> Callable[[Any], list[Any]]:
    """Return the function `outputs`."""
    return outputs
