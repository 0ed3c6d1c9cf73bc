"""The table of an experiment in a real kernel: it changes while the runs go on, and is complete at the end."""

from __future__ import annotations

import os

import nbformat
import pytest
from nbclient import NotebookClient

pytestmark = pytest.mark.slow

CELL = """
import time
from agentkit import Agent, Reply, experiment

def model(request):
    time.sleep(1)
    return Reply("FINAL_ANSWER: yes")

found = experiment([f"Question {n}?" for n in range(8)], Agent(model, journal="memory"), score=lambda r, c: 1, on=2)
display(found)
found.wait()
time.sleep(0.5)
"""


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")
def test_the_table_changes_until_the_experiment_is_over(tmp_path):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    shown: list[str] = []

    class Client(NotebookClient):
        def process_message(self, message, cell, index):
            if message["msg_type"] == "update_display_data":
                shown.append(message["content"]["data"]["text/html"])
            return super().process_message(message, cell, index)

    environment = {**os.environ, "AGENTKIT_HOME": str(tmp_path), "AGENTKIT_NONINTERACTIVE": "0"}
    Client(notebook, timeout=60, kernel_name="python3").execute(env=environment)
    [output] = notebook.cells[0].outputs
    assert "8 runs; 8 done" in output["data"]["text/plain"]
    assert "<progress" not in output["data"]["text/html"]
    assert any("<progress" in html and "missing" in html for html in shown)
    assert "<progress" not in shown[-1]
