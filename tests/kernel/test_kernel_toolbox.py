"""Code of a model runs in the person's kernel only if the person approves it, and in the thread of their cells."""

from __future__ import annotations

from typing import Any

import pytest

pytestmark = pytest.mark.slow

AGENT = """
import threading
from agentkit import Agent, Call, Reply
from agentkit.models import Scripted
from agentkit.tools.builtin.python import Kernel
mine = 20
def started(*codes, name="run_in_kernel", **options):
    model = Scripted([*(Reply("", (Call(name, {"code": code}),)) for code in codes), "done"])
    return Agent(model, [Kernel()], **options).start("Use my variables.")
def observed(run):
    return [entry.result.text for entry in run.entries if entry.kind == "act"]
"""


def test_code_waits_for_approval_and_then_uses_the_variables_of_the_person(shared: Any) -> None:
    shared.run(AGENT)
    shared.run("run = started('mine += 22; print(mine, threading.current_thread() is threading.main_thread())')")
    shared.wait_until("run.status == 'waiting'")
    assert shared.run("print(mine, run.pending[0].step.call.name)") == "20 run_in_kernel"
    shared.run("run.approve(); run.play()")
    shared.wait_until("run.status == 'done'")
    assert shared.run("print(mine, observed(run))") == r"42 ['42 True\n']"


@pytest.mark.parametrize(
    "name",
    [
        "run_in_kernel",
        "RUN_IN_KERNEL",
        "run-in-kernel",
        "`run_in_kernel`",
        "run_in_kernel()",
        "functions.run_in_kernel",
    ],
)
def test_no_spelling_of_the_name_runs_code_without_approval(shared: Any, name: str) -> None:
    shared.run(AGENT)
    shared.run(f"run = started('mine = 0', name={name!r})")
    shared.wait_until("run.status in ('waiting', 'done')")
    assert shared.run("print(mine)") == "20"
    if shared.run("print(run.status)") == "waiting":
        shared.run("run.reject('no'); run.play()")
        shared.wait_until("run.status == 'done'")
        assert "rejected" in shared.run("print(observed(run))") and shared.run("print(mine)") == "20"


def test_errors_are_told_and_a_nobody_who_could_approve_means_no(shared: Any) -> None:
    shared.run(AGENT)
    shared.run("run = started('print(1); missing', 'await x', 'if', 'raise SystemExit', approver=lambda call: True)")
    for _ in range(4):
        shared.wait_until("run.status == 'waiting'")
        shared.run("run.approve(); run.play(); import time; time.sleep(0.1)")
        shared.wait_until("run.status in ('waiting', 'done')")
    shared.wait_until("run.status == 'done'")
    texts = shared.run("print('|'.join(observed(run)))")
    for text in (
        "the code raised NameError: name 'missing' is not defined\n1",
        "with await at the top level",
        "SyntaxError",
        "SystemExit",
    ):
        assert text in texts
    shared.run(
        "result = Agent(Scripted([Reply('', (Call('run_in_kernel', {'code': 'mine = 0'}),)), 'done']), [Kernel()]).run('x')"
    )
    assert (
        shared.run("print(mine, result.answer, 'nobody was there to approve it' in str(observed(result.run)))")
        == "20 done True"
    )
