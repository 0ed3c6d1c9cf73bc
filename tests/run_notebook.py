"""Execute a notebook as a reader would, print what its cells print, and fail when a cell fails.

    python tests/run_notebook.py notebooks/00_quickstart.ipynb

The file is not changed. Runs are kept in a folder that goes away, unless AGENTKIT_HOME names another.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from traitlets.config import Config

COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def main(path: Path, scratch: str) -> int:
    """Execute a notebook, and return the exit code: 0 if every cell ran, 1 if one failed. `scratch` is an empty folder."""
    os.environ.setdefault("AGENTKIT_HOME", scratch)
    os.environ.setdefault("AGENTKIT_NONINTERACTIVE", "1")  # nobody is watching, so a run is shown once, as a picture
    notebook = nbformat.read(path, as_version=4)
    files_not_ports = Config(
        KernelManager={"transport": "ipc", "ip": f"{scratch}/kernel"}
    )  # does not even need a loopback
    client = NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": str(path.parent)}}, config=files_not_ports
    )
    client.on_cell_executed = show
    try:
        client.execute()
    except CellExecutionError:
        print(f"{path}: a cell failed", file=sys.stderr)
        return 1
    print(f"{path}: {sum(cell.cell_type == 'code' for cell in notebook.cells)} cells ran")
    return 0


def show(cell: Any, cell_index: int, execute_reply: Any) -> None:
    """Print the outputs of one cell as text, under its number."""
    texts = [text(output).rstrip() for output in cell.get("outputs", ())]
    if any(texts):
        print(f"[{cell.get('execution_count')}]", *filter(None, texts), sep="\n", end="\n\n", flush=True)


def text(output: Any) -> str:
    """Return the plain text of an output: printed text, a displayed value, or a traceback."""
    if output.output_type == "stream":
        return str(output.text)
    if output.output_type == "error":
        return COLOUR.sub("", "\n".join(output.traceback))
    return str(output.data.get("text/plain", ""))


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(main(Path(sys.argv[1]), folder))
