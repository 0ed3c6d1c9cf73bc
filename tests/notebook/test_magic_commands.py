"""Each command of `%agent` in a real kernel: what it does to the run, and how it refuses what makes no sense."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def held(notebook: Any) -> Any:
    """The kernel with a run that is held before its first step."""
    notebook.run("ordered.clear()")
    notebook.run("%agent -m model -t price,order --pause The price of tea")
    return notebook


@pytest.fixture
def asked(notebook: Any) -> Any:
    """The kernel with a run that waits for a yes before it orders tea."""
    notebook.run("ordered.clear(); model = scripted(asks('order', item='tea'), 'done')")
    notebook.run("run = Agent(model, [order], approve=True).start('Order tea.', paused=True); run.drive()")
    assert notebook.value("run.status") == "waiting"
    return notebook


# -- driving -------------------------------------------------------------------------------------------------------------


def test_step_performs_one_step_and_gives_its_entry(held: Any) -> None:
    assert "price(item='tea')" in held.run("%agent step").text
    assert held.value("trace()") == "['begin', 'think']"


def test_step_performs_several_but_not_beyond_the_end(held: Any) -> None:
    held.run("%agent step 2")
    assert held.value("trace()") == "['begin', 'think', 'act']"
    held.run("%agent step 99")
    assert held.value("agent_run.status") == "done"
    assert "the run is over" in held.refuses("%agent step")


def test_step_over_performs_a_batch_side_by_side(notebook: Any) -> None:
    notebook.run("both = Reply('Both.', (Call('price', {'item': 'tea'}, 'a'), Call('price', {'item': 'cake'}, 'b')))")
    notebook.run("model = scripted(both, 'done')")
    notebook.run("%agent -m model -t price --pause Both prices")
    notebook.run("%agent step\n%agent step --over")
    assert notebook.value("trace()[-2:], len(agent_run.pending)") == "['act', 'act'] 1"


def test_play_waits_or_goes_on_in_the_background(held: Any) -> None:
    cell = held.run("%agent play --wait")
    assert cell.text.startswith("Run done") and held.value("agent_run.answer") == "It is 3.2."
    held.run("%agent undo\n%agent play\nagent_run.wait()")
    assert held.value("agent_run.status") == "done"
    assert "the run is over" in held.refuses("%agent play")


def test_pause_holds_at_the_next_step_and_stop_cancels(notebook: Any) -> None:
    notebook.run("import threading; began, bell = threading.Event(), threading.Event()")
    notebook.run("def waits():\n    began.set(); bell.wait(10); return 'rung'")
    notebook.run("model = scripted(asks('waits'), 'done')")
    notebook.run("%agent -m model -t waits Go.\nbegan.wait()")
    assert "pausing" in notebook.run("%agent pause").text
    notebook.run("bell.set(); agent_run.wait()")
    assert notebook.value("agent_run.status, trace()") == "paused ['begin', 'think', 'act']"
    assert "nothing is under way" in notebook.run("%agent pause").text


def test_stop_stops_a_run_that_keeps_what_it_has(notebook: Any) -> None:
    notebook.run("import asyncio\nasync def sleeps(): await asyncio.sleep(30)")
    notebook.run("began = threading.Event()\nmodel = scripted(asks('sleeps'), 'done')")
    notebook.run("%agent -m model -t sleeps Go.")
    notebook.run("import time\nwhile len(agent_run) < 2: time.sleep(0.01)")
    assert "the run is stopped" in notebook.run("%agent stop --reason enough").text
    assert notebook.value("agent_run.status, agent_run.result.reason") == "stopped enough"


# -- changing ------------------------------------------------------------------------------------------------------------


def test_edit_changes_an_observation_and_the_model_reads_it(held: Any) -> None:
    held.run("%agent step 2\nnew = '3.5'")
    held.run('%agent edit 2 --text "{new}" --reason "prices went up"')
    assert (
        held.value("agent_run[2].result.text, agent_run[2].author, agent_run[2].reason") == "3.5 human prices went up"
    )
    held.run("%agent step")
    assert held.value("heard(model)[-1]") == "3.5"


def test_edit_takes_arguments_as_json_and_a_text_from_the_body_of_the_cell(held: Any) -> None:
    held.run("%agent step")
    held.run("""%agent edit 1 --arguments '{"item": "cake"}'""")
    held.run("%agent step")
    assert held.value("agent_run[2].result.text") == "4.5"
    held.run("%%agent edit 2 --reason 'in two lines'\nfour\nfive")
    assert held.value("repr(agent_run[2].result.text)") == r"'four\nfive'"
    held.run('%agent edit --answer "That is all."')
    held.run("%agent play --wait")
    assert held.value("agent_run.answer") == "That is all."


def test_inject_is_heard_with_the_next_request(held: Any) -> None:
    held.run("word = 'brief'")
    assert "hears it" in held.run("%agent inject be {word}, it's late").text
    held.run("%%agent inject\nand\n{word}")
    held.run("%agent step")
    said = held.value("'|'.join(heard(model))")
    assert "be brief, it's late" in said and "and\n{word}" in said


def test_undo_and_redo_move_and_delete_nothing(held: Any) -> None:
    held.run("%agent step 3\n%agent undo 2")
    assert held.value("trace()") == "['begin', 'think']"
    held.run("%agent redo 2")
    assert held.value("trace()") == "['begin', 'think', 'act', 'think']"


def test_fork_begins_a_second_run_which_is_then_the_current_one(held: Any) -> None:
    held.run("%agent play --wait\nfirst = agent_run")
    assert "reused" in held.run("%agent fork 2 -o other").text
    assert held.value("agent_run is other, other is not first, len(other)") == "True True 3"
    held.run("%agent play --wait")
    assert held.value("first.answer, other.answer") == "It is 3.2. It is 3.5."
    held.run("swapped = %agent fork 1 -r first -m echo -t price")
    assert held.value("repr(swapped.agent)") == "Agent(model='echo', engine='react', tools=[price])"


def test_break_pauses_before_a_tool(held: Any) -> None:
    assert "tool price" in held.run("%agent break --tool price").text
    held.run("%agent play --wait")
    assert (
        held.value("agent_run.status, trace(), agent_run.hold") == "paused ['begin', 'think'] breakpoint on tool price"
    )
    assert "tool price  1" in held.run("%agent break").text
    assert "no breakpoints" in held.run("%agent break --clear").text
    held.run("def is_act(entry): return entry.kind == 'act'")
    assert "when is_act" in held.run("%agent break --when is_act").text
    held.run("%agent play --wait")
    assert held.value("trace()") == "['begin', 'think', 'act']"


# -- deciding ------------------------------------------------------------------------------------------------------------


def test_approve_lets_the_call_pass_with_other_arguments(asked: Any) -> None:
    assert "order needs your approval" in asked.refuses("%agent play -r run")
    asked.run("""%agent approve -r run --arguments '{"item": "cake"}'""")
    asked.run("%agent play -r run --wait")
    assert asked.value("ordered, run.answer") == "['cake'] done"


def test_reject_tells_the_model_why(asked: Any) -> None:
    asked.run("%agent reject -r run it's too dear")
    asked.run("%agent play -r run --wait")
    assert asked.value("ordered") == "[]" and "it's too dear" in asked.value("heard(model)[-1]")


def test_respond_stands_in_for_the_tool(asked: Any) -> None:
    asked.run("%agent respond -r run two teas")
    asked.run("%agent play -r run --wait")
    assert asked.value("ordered, heard(model)[-1]") == "[] two teas"


def test_respond_answers_a_question_of_the_engine(notebook: Any) -> None:
    notebook.run(
        "from agentkit import Answer, Ask\ndef asking(task):\n    return Answer((yield Ask('Which one?')), task)"
    )
    notebook.run("%agent -e asking --wait Ask me")
    assert notebook.value("agent_run.status") == "waiting"
    notebook.run("%agent respond the second one\n%agent play --wait")
    assert notebook.value("agent_run.answer") == "the second one"


# -- lists ---------------------------------------------------------------------------------------------------------------


def test_runs_lists_whole_ids_and_marks_the_current_run(held: Any) -> None:
    text = held.run("%agent runs").text
    line = next(line for line in text.split("\n") if held.value("agent_run.id") in line)
    assert line.startswith("*") and "paused" in line and "The price of tea" in line


def test_resume_goes_on_with_a_run_whose_kernel_ended(held: Any) -> None:
    held.run("%agent step 2\nname = agent_run.id")
    held.run(
        "agent_run.agent.journal.release(name); del agent_run; get_ipython().run_line_magic('reload_ext', 'agentkit')"
    )
    held.run("import gc; gc.collect()")
    cell = held.run("%agent resume {name[:8]} -m model -o again")
    assert cell.text.startswith("Run paused: 2 steps")
    held.run("%agent play --wait")
    assert held.value("again is agent_run, again.answer") == "True It is 3.2."


def test_resume_without_a_tool_opens_read_only_and_says_which(held: Any) -> None:
    held.run("%agent step\nname = agent_run.id; agent_run.agent.journal.release(name)")
    held.run("kept, price, agent_run = [price], None, None\nget_ipython().run_line_magic('reload_ext', 'agentkit')")
    cell = held.run("%agent resume {name}")
    held.run("price = kept[0]")
    assert "read-only: it was opened without tool 'price'" in cell.text
    assert "tool 'price'" in held.refuses("%agent step")


def test_a_run_that_is_open_here_is_taken_as_it_is(held: Any) -> None:
    held.run("first = agent_run\n%agent -m echo --pause another\n")
    held.run("%agent resume {first.id}")
    assert held.value("agent_run is first") == "True"


def test_tools_lists_the_boxes_and_the_users_own(notebook: Any) -> None:
    notebook.run("shop = ToolBox([order], name='shop')")
    lines = [line.split()[:2] for line in notebook.run("%agent tools").text.split("\n")]
    assert ["math", "calculate"] in lines and ["shop", "order"] in lines and ["price", "price"] in lines


def test_engines_shows_which_engine_fits_and_which_are_here(notebook: Any) -> None:
    text = notebook.run("%agent engines").text
    assert all(name in text for name in ("chain_of_thought", "react", "tree_of_thoughts"))
    assert "self_ask" in notebook.run("%agent engines multi_hop").text
    assert notebook.refuses("%agent engines multihop") == "unknown signal 'multihop'; did you mean 'multi_hop'?"


def test_models_says_which_one_is_used_and_why(notebook: Any) -> None:
    text = notebook.run("%agent models").text
    assert "* offline answers when no -m is given: no model was named" in text and "<Scripted 'scripted'" in text
    notebook.run("os = __import__('os'); os.environ['AGENTKIT_MODEL'] = 'echo'")
    try:
        assert "* echo answers when no -m is given: the environment variable" in notebook.run("%agent models").text
    finally:
        notebook.run("del os.environ['AGENTKIT_MODEL']")


# -- export --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["trace.ipynb", "trace.md", "trace.html", "trace.json"])
def test_export_writes_the_format_of_the_ending_and_never_over_a_file(held: Any, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    held.run("%agent step 2")
    held.run(f"%agent export {path}")
    assert "price" in path.read_text(encoding="utf-8")
    assert "is there already" in held.refuses(f"%agent export {path}")
    held.run(f"%agent export {path} --force")
    assert "unknown format '.doc'" in held.refuses(f"%agent export {tmp_path}/trace.doc")
    assert "cannot write" in held.refuses(f"%agent export {tmp_path}/nowhere/{name}")


def test_export_to_a_cell_gives_code_that_plays_the_actions(held: Any) -> None:
    assert held.refuses("%agent export --cells") == "the run has no actions yet"
    held.run("%agent step 2")
    payload = held.run("%agent export --cells").reply["payload"]
    assert payload[0]["source"] == "set_next_input" and not payload[0]["replace"]
    assert held.run(payload[0]["text"]).text == "3.2" and held.value("ordered") == "[]"
    changed = held.cell(payload[0]["text"].replace('"tea"', '"cake"'))
    assert "NotRecorded" in changed.error


# -- wrong input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("%agent step many", "invalid int value: 'many'"),
        ("%agent step 0", "at least 1"),
        ("%agent step -r nobody", "unknown run 'nobody'"),
        ("%agent play --wiat", "unknown option '--wiat'; did you mean '--wait'?"),
        ("%agent pause now", "does not take 'now'"),
        ("%agent stop now", "does not take 'now'"),
        ("%agent edit 99 --text x", "there is no entry 99"),
        ("%agent edit 1", "say what to change"),
        ("%agent edit 1 --arguments '{'", "this is no JSON"),
        ("%agent edit 1 --arguments '[1]'", "arguments are a JSON object"),
        ("%agent edit 1 --answre x", "did you mean '--answer'?"),
        ("%agent inject", "needs some text"),
        ("%agent fork 99", "there is no entry 99"),
        ("%agent fork -t nothing", "unknown tool 'nothing'"),
        ("%agent fork -o 1st", "is no name for a variable"),
        ("%agent undo 99", "99 times is too often, 1 would do"),
        ("%agent redo", "redo"),
        ("%agent approve", "nothing waits for a yes"),
        ("%agent reject no", "nothing waits for a decision"),
        ("%agent respond", "the text is missing"),
        ("%agent respond --json {", "this is no JSON"),
        ("%agent resume", "required: ID"),
        ("%agent resume zzz", "no recorded run begins with 'zzz'"),
        ("%agent runs all", "does not take 'all'"),
        ("%agent tools math", "does not take 'math'"),
        ("%agent models -m x", "unknown option '-m'"),
        ("%agent export", "the file is missing"),
        ("%agent break --line x", "invalid int value"),
        ("%agent break --tool a --error", "exactly one condition"),
        ("%agent break --when nothing", "names a function"),
        ("%%agent runs\nbody", "takes no text below it"),
    ],
)
def test_a_command_that_makes_no_sense_is_refused_in_one_line(held: Any, line: str, says: str) -> None:
    held.run("%agent step")
    assert says in held.refuses(line)
    assert held.value("agent_run.status, trace()") == "paused ['begin', 'think']"
