"""Steps have names, and a session that is run again after its process was killed goes on where it was."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from agentkit import Agent, Call, Reply, tool
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

NATIVE = Abilities(tools=True)
CALLS = (Call("note", {"text": "one"}, "c1"), Call("note", {"text": "two"}, "c2"))


@tool(effect="pure")
def note(text: str) -> str:
    """Note."""
    return text


def test_entries_and_events_have_the_names_of_their_steps() -> None:
    model = Scripted([Reply("", CALLS), Reply("", CALLS[:1]), "done"], abilities=NATIVE)
    run = Agent(model, [note], journal="memory").run("q").run
    names = ["model_call_1", "tool_call_1_0", "tool_call_1_1", "model_call_2", "tool_call_2_0", "model_call_3"]
    assert [entry.step_name for entry in run.entries] == ["", *names, "persist_episode_3"]
    told = [(event.kind, event.data["step_name"]) for event in run.events() if "step_name" in event.data]
    ended = [name for kind, name in told if kind != "tool_call"]
    # calls at the same time end in any order
    assert [ended[0], *sorted(ended[1:3]), *ended[3:]] == [*names, "persist_episode_3"]
    begun = [name for kind, name in told if kind == "tool_call"]
    assert sorted(begun) == ["tool_call_1_0", "tool_call_1_1", "tool_call_2_0"]


def test_calls_one_after_the_other_have_slots_of_their_own() -> None:
    from agentkit import Act, Answer, Chat

    def twice(task: Any) -> Any:
        yield Act(CALLS[0])
        yield Act(CALLS[1])
        return Answer("done", Chat.of(task))

    run = Agent(Scripted([]), [note], engine=twice, journal="memory").run("q").run
    assert [entry.step_name for entry in run.entries][1:] == ["tool_call_0_0", "tool_call_0_1", "persist_episode_0"]


PROGRAM = """
import os, sys
from pathlib import Path
from agentkit import Agent, Call, Reply, tool
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

folder, kill = Path(sys.argv[1]), sys.argv[2] == "kill"

@tool(effect="idempotent")
def note(text: str) -> str:
    "Note."
    if text == "two" and kill:
        os._exit(9)
    with (folder / "notes").open("a") as file:
        file.write(text + "\\n")
    return text

def model(request):
    with (folder / "calls").open("a") as file:
        file.write("x")
    done = sum(message.role == "tool" for message in request.chat)
    names = ("one", "two")
    return Reply("", (Call("note", {"text": names[done]}, f"c{done}"),)) if done < 2 else Reply("done")

model.abilities = Abilities(tools=True)
model.name = "model"
result = Agent(model, [note], journal=folder / "runs.db").run("take notes", session="s")
print(result.answer, result.run.id)
"""


def test_a_session_that_is_run_again_after_a_kill_repeats_no_finished_step(tmp_path: Path) -> None:
    def start(how: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", PROGRAM, str(tmp_path), how]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, env=dict(os.environ), check=False)

    assert start("kill").returncode == 9
    second = start("go on")
    assert second.stdout.startswith("done "), second.stderr
    assert (tmp_path / "notes").read_text() == "one\ntwo\n" and (tmp_path / "calls").read_text() == "xxx"
    third = start("go on")  # a finished run is never replayed into a new one
    assert third.stdout.startswith("done ") and third.stdout != second.stdout
    assert (tmp_path / "calls").read_text() == "xxx" + "xxx"


def test_another_task_or_a_run_that_is_held_here_is_not_continued(tmp_path: Path) -> None:
    agent = Agent(Scripted(["done"] * 9), [note], journal=tmp_path / "runs.db")
    first = agent.start("a", session="s", paused=True)
    assert agent.start("a", session="s", paused=True).id != first.id
    first.close()
    assert agent.start("b", session="s", paused=True).id != first.id


def test_the_last_run_of_a_session_goes_on_if_nothing_has_it_open(tmp_path: Path) -> None:
    agent = Agent(Scripted(["done"] * 9), [note], journal=tmp_path / "runs.db")
    first = agent.start("a", session="s", paused=True)
    first.close()
    again = agent.start("a", session="s", paused=True)
    assert again.id == first.id and again.drive().answer == "done"
    assert agent.start("a", session="s", paused=True).id != first.id
