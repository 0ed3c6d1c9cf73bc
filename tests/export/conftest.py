"""Exported notebooks in a real kernel, and recordings in a journal of their own."""

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
    """Execute notebooks, all of them in one kernel whose folder is `tmp_path`, and give the one that they make together."""
    import nbformat
    from nbclient import NotebookClient
    from traitlets.config import Config

    def run(*notebooks: Any, allow_errors: bool = False) -> Any:
        whole = copy.deepcopy(notebooks[0])
        whole.cells = [copy.deepcopy(cell) for notebook in notebooks for cell in notebook.cells]
        for number, cell in enumerate(whole.cells):
            cell.id = f"cell-{number}"
            if cell.cell_type == "code":
                cell.outputs = []
        nbformat.validate(whole)
        no_ports = Config(KernelManager={"transport": "ipc", "ip": f"{tmp_path}/kernel"})
        resources = {"metadata": {"path": str(tmp_path)}}
        NotebookClient(whole, timeout=60, allow_errors=allow_errors, resources=resources, config=no_ports).execute()
        return whole

    return run


@pytest.fixture
def nbval() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Hold the outputs in notebooks to what their cells give now, strictly."""

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
    """Open the run of a recording, as another process would that has nothing else."""

    def restore(data: dict[str, Any], agent: Agent) -> Run:
        journal = MemoryJournal()
        return agent.using(journal=journal).resume(adopt(data, journal))

    return restore


def outputs(notebook: Any) -> list[Any]:
    """The outputs of the code cells, without the numbers of their execution."""
    found = [[dict(output) for output in cell.outputs] for cell in notebook.cells if cell.cell_type == "code"]
    return [[{**output, "execution_count": None} for output in each] for each in found]


@pytest.fixture
def outputs_of() -> Callable[[Any], list[Any]]:
    return outputs
