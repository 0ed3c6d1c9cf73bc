"""Recorded runs of real models are exported, executed again with the same outputs, and read back unchanged."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from recordings import native_model, native_tools

from agentkit import Agent, Run, tool
from agentkit.core.messages import message_from_dict
from agentkit.export import data_of_notebook, html, markdown, to_html, to_json, to_markdown, to_notebook
from agentkit.models.scripted import Scripted

pytestmark = pytest.mark.slow


def native_run(line: dict[str, Any]) -> Run:
    agent = Agent(native_model(line), native_tools(line), journal="memory")
    run = agent.start([message_from_dict(message) for message in line["messages"]], paused=True)
    run.drive()
    return run


def trajectory(line: dict[str, Any]) -> Run:
    observations = iter([step["observation"] for step in line["steps"] if step["tool"] != "Finish"])

    @tool(effect="pure")
    def search(entity: str) -> str:
        """Search for an entity."""
        return str(next(observations))

    @tool(effect="pure")
    def lookup(keyword: str) -> str:
        """Look up a keyword in the last page."""
        return str(next(observations))

    run = Agent(Scripted(line["agentkit_turns"]), [search, lookup], journal="memory").start(
        line["question"], paused=True
    )
    run.drive()
    return run


@pytest.mark.parametrize(("name", "play"), [("native_runs.jsonl", native_run), ("trajectories.jsonl", trajectory)])
def test_recorded_runs_are_exported_executed_again_and_read_back(
    name: str,
    play: Callable[[dict[str, Any]], Run],
    recorded: Any,
    execute: Callable[..., Any],
    outputs_of: Any,
    nbval: Any,
    restored: Any,
    tmp_path: Path,
) -> None:
    lines = recorded(name)
    assert len(lines) == 21
    notebooks, paths = [], []
    for number, line in enumerate(lines):
        run = play(line)
        path = tmp_path / f"{number}.ipynb"
        notebook = to_notebook(run, path)
        nbformat.validate(nbformat.read(path, as_version=4))
        assert (
            sum("agentkit-action" in cell.metadata["tags"] for cell in notebook.cells) == run.state.spent.tool_calls
        ), line["id"]
        back = restored(data_of_notebook(path), run.agent)
        assert back.answer == line["expected"]["final_answer"], line["id"]
        assert [e.result for e in back.entries] == [e.result for e in run.entries], line["id"]
        assert [e.step.chat for e in back.entries if e.kind == "think"] == [
            e.step.chat for e in run.entries if e.kind == "think"
        ]  # type: ignore[union-attr]
        assert data_of_notebook(path) == json.loads(json.dumps(to_json(run)))
        for module in (html, markdown):
            assert module.run(run) and all(map(module.entry, run.entries))
        assert to_html(run).count("<summary><b>") == to_markdown(run).count("\n### ") == len(run)
        notebooks.append(notebook)
        paths.append(path)
    assert outputs_of(execute(*notebooks)) == [each for notebook in notebooks for each in outputs_of(notebook)]
    checked = nbval(*paths[::7])
    assert checked.returncode == 0, checked.stdout
