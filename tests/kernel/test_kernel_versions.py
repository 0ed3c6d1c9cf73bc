"""The view on real kernels of every kind: what is done in it is carried out at once, or when the cell that blocks has ended.

Which of the two is a matter of the kernel's version, of the front end (JupyterLab and Notebook 7 speak on a subshell, others
on the main shell) and of what the cell does. The table says which; nothing is ever lost.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kernel.conftest import Kernel, started
from kernel.front_end import FrontEnd

NEWEST = "newest"

BUSY = {
    "loop that prints": "while not over.exists():\n    print('.', end='', flush=True); time.sleep(0.02)",
    "loop that publishes": "while not over.exists():\n    run.widget().send({'t': 'nothing'}); time.sleep(0.02)",
    "loop that computes": "while not over.exists():\n    sum(i * i for i in range(20_000))",
    "loop that awaits": "while not over.exists():\n    await asyncio.sleep(0.02)",
}

AT_ONCE = {(version, "subshell", busy) for version in ("7.0.1", "7.3.0", NEWEST) for busy in BUSY} | {
    (NEWEST, "main", "loop that awaits")
}
"""Where a command is carried out while the cell runs; in all other cases it is when the cell has ended."""


EVERYWHERE = pytest.mark.parametrize(
    ("version", "shell"),
    [
        ("6.31.0", "main"),
        *((version, shell) for version in ("7.0.1", "7.3.0", NEWEST) for shell in ("main", "subshell")),
    ],
    indirect=["version"],
    scope="module",
)
"""Subshells came with 7.0."""


def environment(version: str) -> dict[str, str]:
    """Give what a kernel of this version needs; it is installed over the packages of the tests, once."""
    if version == NEWEST:
        return {}
    folder = Path(sys.prefix) / "kernels" / version
    if not (folder / "ipykernel_launcher.py").exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder]
        subprocess.run([*command, f"ipykernel=={version}", "nest-asyncio", "nest-asyncio2"], check=True, timeout=300)
    return {"PYTHONPATH": str(folder)}


@pytest.fixture(scope="module")
def version(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def kernel(version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """One kernel of each version for all tests."""
    with started(tmp_path_factory.mktemp("home"), **environment(version)) as kernel:
        found = kernel.run("import ipykernel, asyncio, time; print(ipykernel.__version__)")
        assert found == version or (version == NEWEST and found > "7.3.0"), found
        yield kernel


def view(kernel: Kernel, shell: str, lesson: Any) -> FrontEnd:
    """Show a run that has thought and acted, and waits ten minutes before its next step."""
    front = FrontEnd(kernel, subshell=shell == "subshell")
    kernel.run(lesson("asks('Bern')", "'done'") + "bell.set()\n")
    kernel.run("run = agent.start('A room.', paused=True); next(run); run.play(pace=600)")
    kernel.eventually("len(run) == 3")
    front.show("display(run)")
    return front


def orders(front: FrontEnd) -> list[str]:
    """Pause the run, put another text in the place of what the tool gave, say something to the model, and step."""
    last = next(message for message in front.heard if message["t"] == "reset")["cards"][-1]["id"]
    return [
        front.command("pause"),
        front.command("pace", seconds=0),
        front.command("edit", entry=last, base=last, change={"text": "no room"}, reason="I called them"),
        front.command("inject", text="Try Basel.", to=""),
        front.command("step"),
    ]


def carried_out(kernel: Kernel) -> None:
    """See that the run has become what the orders say."""
    kernel.eventually("model.calls == 2 and run.status == 'paused'")
    assert kernel.run("print(said()[-2:], len(run))") == "['no room', '[USER INTERRUPT] Try Basel.'] 4"


@EVERYWHERE
@pytest.mark.parametrize("busy", BUSY)
def test_orders_given_while_a_cell_runs_are_carried_out_then_or_when_it_ends(
    kernel: Kernel, version: str, shell: str, busy: str, lesson: Any, tmp_path: Path
) -> None:
    front, over = view(kernel, shell, lesson), tmp_path / "over"
    cell = kernel.send(f"over = Path({str(over)!r}); print('begun')\n" + BUSY[busy])
    kernel.until_it_says(cell, "begun")
    given = orders(front)
    try:
        if (version, shell, busy) in AT_ONCE:
            for order in given:
                front.answer(order)
        else:
            front.silence(0.5)
    finally:
        over.touch()
    for order in given:
        front.answer(order)
    kernel.finish(cell)
    carried_out(kernel)
    front.close()


@EVERYWHERE
def test_orders_given_while_no_cell_runs_are_carried_out_at_once(
    kernel: Kernel, version: str, shell: str, lesson: Any
) -> None:
    front = view(kernel, shell, lesson)
    for order in orders(front):
        front.answer(order)
    carried_out(kernel)
    front.close()


@EVERYWHERE
def test_a_run_is_paused_and_stopped_while_its_tool_sleeps(
    kernel: Kernel, version: str, shell: str, lesson: Any
) -> None:
    front = FrontEnd(kernel, subshell=shell == "subshell")
    kernel.run(lesson("asks('Bern')", "'done'"))
    front.show("run = agent.start('A room.'); display(run)")
    kernel.eventually("began.is_set()")
    front.answer(front.command("pause"))
    front.until(lambda: "pausing" in statuses(front))
    front.answer(front.command("stop"))
    front.until(lambda: "stopped" in statuses(front))
    kernel.run("bell.set()")
    assert kernel.run("print(run.status)") == "stopped"
    front.close()


def statuses(front: FrontEnd) -> list[str]:
    """Give how the run stood, as far as the view was told."""
    heads = [message["head"] for message in front.heard if message["t"] == "reset"]
    heads += [event["head"] for message in front.heard for event in message.get("ev", ()) if event["k"] == "head"]
    return [head["status"] for head in heads]
