"""A run as an exercise: chosen steps are hidden, and the reader predicts them."""

from __future__ import annotations

import ast
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest

from agentkit import Agent, Call, Reply, Run, load, tool
from agentkit.errors import UsageError
from agentkit.models import Scripted
from agentkit.models.base import Abilities

HOSTILE = "'); import os; os.system('x') #\n```\n</details><script>\x1b[2J"


@tool(effect="pure")
def price(item: str) -> float:
    """Look up a price."""
    return {"cake": 4.5}[item]


@tool(effect="pure")
def read(page: str) -> str:
    """Read a page."""
    return HOSTILE


def done(*replies: Any) -> Run:
    model = Scripted([*replies], abilities=Abilities(tools=True))
    return Agent(model, [price, read], journal="memory").run("What is 3 times the price of cake?").run


def cake() -> Run:
    return done(Reply("I look it up.", (Call("price", {"item": "cake"}),)), "It is 13.5.")


def sources(notebook: Any) -> str:
    return "\n".join(cell.source for cell in notebook.cells)


def cell(notebook: Any, name: str) -> Any:
    return next(cell for cell in notebook.cells if cell.id == name)


def test_an_observation_is_hidden_and_asked_for() -> None:
    notebook = cake().to_exercise(hide=[2])
    nbformat.validate(notebook)
    assert cell(notebook, "entry-2-predict").source == (
        "prediction_2 = predict(\"Step 2: what does price(item='cake') return?\")"
    )
    assert cell(notebook, "entry-2-reveal").source == "prediction_2.reveal(hidden[2])"
    assert "4.5" not in sources(notebook) and "I look it up." in sources(notebook) and "13.5" in sources(notebook)


def test_every_observation_is_hidden_by_default() -> None:
    assert cake().to_exercise() == cake().to_exercise(hide=[2])


def test_thoughts_and_answers_can_be_hidden_with_the_calls_that_a_thought_asks_for() -> None:
    notebook = cake().to_exercise(hide=[1, 3, 4])
    assert "I look it up." not in sources(notebook) and "13.5" not in sources(notebook)
    assert "Step 4: what is the answer?" in sources(notebook)
    visible = cake().to_exercise(hide=[2])
    assert "price(item" in cell(visible, "entry-1").source, "the action below is hidden, so the thought shows its call"


@pytest.mark.slow
def test_the_exercise_and_its_solution_run_without_the_run(execute: Callable[..., Any], tmp_path: Path) -> None:
    unsolved = execute(cake().to_exercise(tmp_path / "cake.ipynb", hide=[1, 2]))
    solved = execute(cake().to_exercise(tmp_path / "solution.ipynb", hide=[1, 2], solution=True))
    printed = [
        "".join(o.get("text", "") for c in notebook.cells for o in c.get("outputs", ()))
        for notebook in (unsolved, solved)
    ]
    assert printed[0].count("You made no guess.") == 2 and "In fact:    4.5" in printed[0]
    assert printed[1].count("(right)") == 2 and "4.5" in sources(solved)
    assert "2 of 2 right" in str(solved.cells[-1].outputs)


def test_no_text_of_a_model_or_a_tool_becomes_code() -> None:
    run = done(Reply(HOSTILE, (Call("read", {"page": HOSTILE}),)), HOSTILE)
    for hide in ([1, 2, 3, 4], [2], [1]):
        for solution in (False, True):
            notebook = run.to_exercise(hide=hide, solution=solution)
            code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
            calls = {
                node.func.id
                for node in ast.walk(ast.parse(code))
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            }
            assert calls == {"hidden_steps", "predict", "scores"}
            assert "\x1b" not in sources(notebook)


@pytest.mark.parametrize(
    ("hide", "message"),
    [
        ([9], "there is no entry 9"),
        ([True], "there is no entry True"),
        (["2"], "there is no entry '2'"),
        ([0], "entry 0 can't be hidden"),
        ([], "nothing to hide"),
    ],
)
def test_what_cannot_be_hidden_is_named(hide: list[Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        cake().to_exercise(hide=hide)


def test_an_exercise_is_not_taken_for_a_recording_and_a_file_is_not_overwritten(tmp_path: Path) -> None:
    cake().to_exercise(tmp_path / "cake.ipynb", hide=[2])
    with pytest.raises(UsageError, match="not an exported run"):
        load(tmp_path / "cake.ipynb")
    with pytest.raises(UsageError, match="already exists"):
        cake().to_exercise(tmp_path / "cake.ipynb", hide=[2])
