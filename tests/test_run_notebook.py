"""`HEADLESS=1 make lab` executes a notebook, and its exit code says whether it succeeded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).with_name("run_notebook.py")


def execute(folder: Path, *sources: str) -> subprocess.CompletedProcess[str]:
    path = folder / "some.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(source) for source in sources]), path)
    before = path.read_bytes()
    done = subprocess.run([sys.executable, SCRIPT, path], capture_output=True, text=True, timeout=100)
    assert path.read_bytes() == before
    return done


def test_a_notebook_whose_cells_run_prints_their_outputs_and_exits_with_zero(tmp_path: Path) -> None:
    done = execute(tmp_path, "print('said', 6 * 7)", "'shown ' * 2", "x = 1", "import os; os.environ['AGENTKIT_HOME']")
    assert done.returncode == 0, done.stderr
    assert "said 42" in done.stdout and "'shown shown '" in done.stdout
    assert "4 cells ran" in done.stdout


def test_a_failing_cell_shows_its_traceback_stops_the_notebook_and_exits_with_one(tmp_path: Path) -> None:
    done = execute(tmp_path, "print('before')", "assert 1 == 2, 'not equal'", "print('after')")
    assert done.returncode == 1
    assert "before" in done.stdout and "AssertionError: not equal" in done.stdout
    assert "\x1b" not in done.stdout and "after" not in done.stdout
    assert "a cell failed" in done.stderr


def test_a_kernel_that_dies_is_a_failure(tmp_path: Path) -> None:
    assert execute(tmp_path, "import os; os._exit(0)").returncode != 0


def test_a_missing_notebook_is_a_failure(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, SCRIPT, tmp_path / "none.ipynb"], capture_output=True, text=True, timeout=100
    )
    assert done.returncode != 0 and "none.ipynb" in done.stderr
