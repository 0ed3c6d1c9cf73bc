"""The view with several versions of ipykernel: a command is carried out at once, or when the running cell has ended.

Which of the two depends on the version, on the front end (JupyterLab and Notebook 7 use a subshell, others the main
shell), and on what the cell does. The table tells which; no command is ever lost.
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

pytestmark = pytest.mark.slow

NEWEST = "newest"

BUSY = {
    "loop that prints": "while not over.exists():\n    print('.', end='', flush=True); time.sleep(0.02)",
    "loop that publishes": "while not over.exists():\n    run.widget().send({'t': 'nothing'}); time.sleep(0.02)",
    "loop that computes": "while not over.exists():\n    sum(i * i for i in range(20_000))",
    "loop that awaits": "while not over.exists():\n    await asyncio.sleep(0.02)",
}

IMMEDIATE = {(version, "subshell", busy) for version in ("7.0.1", "7.3.0", NEWEST) for busy in BUSY} | {
    (NEWEST, "main", "loop that awaits")
}
"""The cases in which a command is carried out while the cell runs; otherwise it waits until the cell has ended."""


EVERY_KERNEL = pytest.mark.parametrize(
    ("version", "shell"),
    [
        ("6.31.0", "main"),
        *((version, shell) for version in ("7.0.1", "7.3.0", NEWEST) for shell in ("main", "subshell")),
    ],
    indirect=["version"],
    scope="module",
)
"""Subshells exist since 7.0."""


def environment(version: str) -> dict[str, str]:
    """Return the environment of a kernel of this version, which is installed in a separate folder when it is first
    needed.
    """
    if version == NEWEST:
        return {}
    folder = Path(sys.prefix) / "kernels" / version
    if not (folder / "ipykernel_launcher.py").exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", folder]
        subprocess.run([*command, f"ipykernel=={version}", "nest-asyncio", "nest-asyncio2"], check=True, timeout=300)
    return {"PYTHONPATH": str(folder)}


@pytest.fixture(scope="module")
def version(request: pytest.FixtureRequest) -> str:
    """Return the version of ipykernel."""
    return str(request.param)


@pytest.fixture(scope="module")
def kernel(version: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    """Yield one kernel of each version for all tests."""
    with started(tmp_path_factory.mktemp("home"), **environment(version)) as kernel:
        actual = kernel.run("import ipykernel, asyncio, time; print(ipykernel.__version__)")
        assert actual == version or (version == NEWEST and actual > "7.3.0"), actual
        yield kernel


def view(kernel: Kernel, shell: str, first_cell: Any) -> FrontEnd:
    """Show a run after a thought and an action; it waits ten minutes before its next step."""
    front = FrontEnd(kernel, subshell=shell == "subshell")
    kernel.run(first_cell("booking('Bern')", "'done'") + "bell.set()\n")
    kernel.run("run = agent.start('A room.', paused=True); next(run); run.play(pace=600)")
    kernel.wait_until("len(run) == 3")
    front.show("display(run)")
    return front


def send_commands(front: FrontEnd) -> list[str]:
    """Pause the run, edit the observation, inject a message, and step; return the ids of the answers."""
    last = next(message for message in front.messages if message["t"] == "reset")["cards"][-1]["id"]
    return [
        front.command("pause"),
        front.command("pace", seconds=0),
        front.command("edit", entry=last, base=last, change={"text": "no room"}, reason="I called them"),
        front.command("inject", text="Try Basel.", to=""),
        front.command("step"),
    ]


def check_run(kernel: Kernel) -> None:
    """Check that the commands have had their effects on the run."""
    kernel.wait_until("model.calls == 2 and run.status == 'paused'")
    assert kernel.run("print(last_messages()[-2:], len(run))") == "['no room', '[USER INTERRUPT] Try Basel.'] 4"


@EVERY_KERNEL
@pytest.mark.parametrize("busy", BUSY)
def test_commands_sent_while_a_cell_runs_are_carried_out_at_once_or_when_it_has_ended(
    kernel: Kernel, version: str, shell: str, busy: str, first_cell: Any, tmp_path: Path
) -> None:
    front, over = view(kernel, shell, first_cell), tmp_path / "over"
    cell = kernel.send(f"over = Path({str(over)!r}); print('started')\n" + BUSY[busy])
    kernel.wait_for_output(cell, "started")
    ids = send_commands(front)
    try:
        if (version, shell, busy) in IMMEDIATE:
            for id in ids:
                front.answer(id)
        else:
            front.expect_no_answer(0.5)
    finally:
        over.touch()
    for id in ids:
        front.answer(id)
    kernel.finish(cell)
    check_run(kernel)
    front.close()


@EVERY_KERNEL
def test_commands_sent_while_no_cell_runs_are_carried_out_at_once(
    kernel: Kernel, version: str, shell: str, first_cell: Any
) -> None:
    front = view(kernel, shell, first_cell)
    for id in send_commands(front):
        front.answer(id)
    check_run(kernel)
    front.close()


@EVERY_KERNEL
def test_a_run_is_paused_and_stopped_while_its_tool_sleeps(
    kernel: Kernel, version: str, shell: str, first_cell: Any
) -> None:
    front = FrontEnd(kernel, subshell=shell == "subshell")
    kernel.run(first_cell("booking('Bern')", "'done'"))
    front.show("run = agent.start('A room.'); display(run)")
    kernel.wait_until("began.is_set()")
    front.answer(front.command("pause"))
    front.until(lambda: "pausing" in statuses(front))
    front.answer(front.command("stop"))
    front.until(lambda: "stopped" in statuses(front))
    kernel.run("bell.set()")
    assert kernel.run("print(run.status)") == "stopped"
    front.close()


def statuses(front: FrontEnd) -> list[str]:
    """Return every status of the run that the view has received."""
    heads = [message["head"] for message in front.messages if message["t"] == "reset"]
    heads += [event["head"] for message in front.messages for event in message.get("ev", ()) if event["k"] == "head"]
    return [head["status"] for head in heads]
