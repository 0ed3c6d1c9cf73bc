"""Each command of `%agent` in a real kernel: what it does to the run, and what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def paused(notebook: Any) -> Any:
    """Return the kernel with a run that is paused before its first step."""
    notebook.run("ordered.clear()")
    notebook.run("%agent -m model -t price,order --pause The price of tea")
    return notebook


@pytest.fixture
def waiting(notebook: Any) -> Any:
    """Return the kernel with a run that waits for approval before it orders tea."""
    notebook.run("ordered.clear(); model = scripted(calling('order', item='tea'), 'done')")
    notebook.run("run = Agent(model, [order], approve=True).start('Order tea.', paused=True); run.drive()")
    assert notebook.value("run.status") == "waiting"
    return notebook


# -- driving -----------------------------------------------------------------------------------------------------------


def test_step_performs_one_step_and_returns_its_entry(paused: Any) -> None:
    assert "price(item='tea')" in paused.run("%agent step").text
    assert paused.value("trace()") == "['begin', 'think']"


def test_step_performs_several_steps_but_not_beyond_the_end(paused: Any) -> None:
    paused.run("%agent step 2")
    assert paused.value("trace()") == "['begin', 'think', 'act']"
    paused.run("%agent step 99")
    assert paused.value("agent_run.status") == "done"
    assert "the run is over" in paused.refuses("%agent step")


def test_step_over_performs_parallel_calls_together(notebook: Any) -> None:
    notebook.run("both = Reply('Both.', (Call('price', {'item': 'tea'}, 'a'), Call('price', {'item': 'cake'}, 'b')))")
    notebook.run("model = scripted(both, 'done')")
    notebook.run("%agent -m model -t price --pause Both prices")
    notebook.run("%agent step\n%agent step --over")
    assert notebook.value("trace()[-2:], len(agent_run.pending)") == "['act', 'act'] 1"


def test_play_waits_or_continues_in_the_background(paused: Any) -> None:
    cell = paused.run("%agent play --wait")
    assert cell.text.startswith("Run done") and paused.value("agent_run.answer") == "It is 3.2."
    paused.run("%agent undo\n%agent play\nagent_run.wait()")
    assert paused.value("agent_run.status") == "done"
    assert "the run is over" in paused.refuses("%agent play")


def test_pause_pauses_before_the_next_step(notebook: Any) -> None:
    notebook.run("import threading; began, bell = threading.Event(), threading.Event()")
    notebook.run("def waits():\n    began.set(); bell.wait(10); return 'rung'")
    notebook.run("model = scripted(calling('waits'), 'done')")
    notebook.run("%agent -m model -t waits Go.\nbegan.wait()")
    assert "pausing" in notebook.run("%agent pause").text
    notebook.run("bell.set(); agent_run.wait()")
    assert notebook.value("agent_run.status, trace()") == "paused ['begin', 'think', 'act']"
    assert "the run is not running" in notebook.run("%agent pause").text


def test_stop_stops_a_run_that_keeps_its_entries(notebook: Any) -> None:
    notebook.run("import asyncio\nasync def sleeps(): await asyncio.sleep(30)")
    notebook.run("began = threading.Event()\nmodel = scripted(calling('sleeps'), 'done')")
    notebook.run("%agent -m model -t sleeps Go.")
    notebook.run("import time\nwhile len(agent_run) < 2: time.sleep(0.01)")
    assert "the run is stopped" in notebook.run("%agent stop --reason enough").text
    assert notebook.value("agent_run.status, agent_run.result.reason") == "stopped enough"


# -- changing ----------------------------------------------------------------------------------------------------------


def test_edit_changes_an_observation_and_the_model_reads_it(paused: Any) -> None:
    paused.run("%agent step 2\nnew = '3.5'")
    paused.run('%agent edit 2 --text "{new}" --reason "prices went up"')
    assert (
        paused.value("agent_run[2].result.text, agent_run[2].author, agent_run[2].reason") == "3.5 human prices went up"
    )
    paused.run("%agent step")
    assert paused.value("last_messages(model)[-1]") == "3.5"


def test_edit_takes_arguments_as_json_and_a_text_from_the_body_of_the_cell(paused: Any) -> None:
    paused.run("%agent step")
    paused.run("""%agent edit 1 --arguments '{"item": "cake"}'""")
    paused.run("%agent step")
    assert paused.value("agent_run[2].result.text") == "4.5"
    paused.run("%%agent edit 2 --reason 'in two lines'\nfour\nfive")
    assert paused.value("repr(agent_run[2].result.text)") == r"'four\nfive'"
    paused.run('%agent edit --answer "That is all."')
    paused.run("%agent play --wait")
    assert paused.value("agent_run.answer") == "That is all."


def test_an_injected_message_is_sent_with_the_next_request(paused: Any) -> None:
    paused.run("word = 'brief'")
    assert "the model sees this message" in paused.run("%agent inject be {word}, it's late").text
    paused.run("%%agent inject\nand\n{word}")
    paused.run("%agent step")
    messages = paused.value("'|'.join(last_messages(model))")
    assert "be brief, it's late" in messages and "and\n{word}" in messages


def test_a_signal_is_recorded_with_its_text_or_its_json_value(paused: Any) -> None:
    assert "the signal go was sent" in paused.run("%agent signal go now, please").text
    paused.run("""%agent signal --json parcel {"at": 12}""")
    paused.run("%%agent signal long\nin\ntwo lines")
    assert paused.value("agent_run.trace.signals") == str(
        {"go": "now, please", "parcel": {"at": 12}, "long": "in\ntwo lines"}
    )


def test_undo_and_redo_delete_nothing(paused: Any) -> None:
    paused.run("%agent step 3\n%agent undo 2")
    assert paused.value("trace()") == "['begin', 'think']"
    paused.run("%agent redo 2")
    assert paused.value("trace()") == "['begin', 'think', 'act', 'think']"


def test_fork_starts_a_second_run_which_becomes_the_current_one(paused: Any) -> None:
    paused.run("%agent play --wait\nfirst = agent_run")
    assert "reused" in paused.run("%agent fork 2 -o other").text
    assert paused.value("agent_run is other, other is not first, len(other)") == "True True 3"
    paused.run("%agent play --wait")
    assert paused.value("first.answer, other.answer") == "It is 3.2. It is 3.5."
    paused.run("swapped = %agent fork 1 -r first -m echo -t price")
    assert paused.value("repr(swapped.agent)") == "Agent(model='echo', engine='react', tools=[price])"


def test_break_pauses_before_a_tool(paused: Any) -> None:
    assert "tool price" in paused.run("%agent break --tool price").text
    paused.run("%agent play --wait")
    assert (
        paused.value("agent_run.status, trace(), agent_run.hold")
        == "paused ['begin', 'think'] breakpoint on tool price"
    )
    assert "tool price  1" in paused.run("%agent break").text
    assert "no breakpoints" in paused.run("%agent break --clear").text
    paused.run("def is_act(entry): return entry.kind == 'act'")
    assert "when is_act" in paused.run("%agent break --when is_act").text
    paused.run("%agent play --wait")
    assert paused.value("trace()") == "['begin', 'think', 'act']"


# -- deciding ----------------------------------------------------------------------------------------------------------


def test_approve_allows_a_call_with_other_arguments(waiting: Any) -> None:
    assert "order needs your approval" in waiting.refuses("%agent play -r run")
    waiting.run("""%agent approve -r run --arguments '{"item": "cake"}'""")
    waiting.run("%agent play -r run --wait")
    assert waiting.value("ordered, run.answer") == "['cake'] done"


def test_reject_tells_the_model_why(waiting: Any) -> None:
    waiting.run("%agent reject -r run it's too dear")
    waiting.run("%agent play -r run --wait")
    assert waiting.value("ordered") == "[]" and "it's too dear" in waiting.value("last_messages(model)[-1]")


def test_respond_answers_instead_of_the_tool(waiting: Any) -> None:
    waiting.run("%agent respond -r run two teas")
    waiting.run("%agent play -r run --wait")
    assert waiting.value("ordered, last_messages(model)[-1]") == "[] two teas"


def test_respond_answers_a_question_of_the_engine(notebook: Any) -> None:
    notebook.run(
        "from agentkit import Answer, Ask\ndef asking(task):\n    return Answer((yield Ask('Which one?')), task)"
    )
    notebook.run("%agent -e asking --wait Ask me")
    assert notebook.value("agent_run.status") == "waiting"
    notebook.run("%agent respond the second one\n%agent play --wait")
    assert notebook.value("agent_run.answer") == "the second one"


# -- lists -------------------------------------------------------------------------------------------------------------


def test_runs_lists_full_ids_and_marks_the_current_run(paused: Any) -> None:
    text = paused.run("%agent runs").text
    line = next(line for line in text.split("\n") if paused.value("agent_run.id") in line)
    assert line.startswith("*") and "paused" in line and "The price of tea" in line


def test_resume_continues_a_run_whose_kernel_ended(paused: Any) -> None:
    paused.run("%agent step 2\nname = agent_run.id")
    paused.run(
        "agent_run.agent.journal.release(name); del agent_run; get_ipython().run_line_magic('reload_ext', 'agentkit')"
    )
    paused.run("import gc; gc.collect()")
    cell = paused.run("%agent resume {name[:8]} -m model -o again")
    assert cell.text.startswith("Run paused: 2 steps")
    paused.run("%agent play --wait")
    assert paused.value("again is agent_run, again.answer") == "True It is 3.2."


def test_resume_without_a_tool_opens_the_run_read_only_and_names_the_tool(paused: Any) -> None:
    paused.run("%agent step\nname = agent_run.id; agent_run.agent.journal.release(name)")
    paused.run("kept, price, agent_run = [price], None, None\nget_ipython().run_line_magic('reload_ext', 'agentkit')")
    cell = paused.run("%agent resume {name}")
    paused.run("price = kept[0]")
    assert "read-only: it was opened without tool 'price'" in cell.text
    assert "tool 'price'" in paused.refuses("%agent step")


FORGET = "held = agent_run; name = held.id; del agent_run\nget_ipython().run_line_magic('reload_ext', 'agentkit')"


def test_a_run_that_an_object_outside_the_session_holds_can_be_looked_at_exported_and_forked(
    paused: Any, tmp_path: Path
) -> None:
    paused.run(f"%agent step 2\n{FORGET}")
    cell = paused.run("%agent look {name[:8]} -o looked")
    assert cell.text.startswith("Run paused (read-only): 2 steps") and "it was opened to look at" in cell.text
    assert "it was opened to look at" in paused.refuses("%agent step")
    paused.run(f"%agent export {tmp_path / 'looked.md'} -r {{name}}")
    assert "The price of tea" in (tmp_path / "looked.md").read_text(encoding="utf-8")
    paused.run("%agent fork 1 -r looked -m model -o other")
    assert paused.value("len(looked), len(other), other is agent_run, other.tree_id == name") == "3 2 True True"
    assert paused.value("held.status, len(held.rows()) > 3") == "paused True"


def test_resume_opens_a_run_anew_that_was_only_looked_at(paused: Any) -> None:
    paused.run(f"%agent step\n{FORGET}\nheld.close()")
    paused.run("%agent look {name}")
    assert paused.run("%agent resume {name}").text.startswith("Run paused: 1 step")


def test_a_run_with_an_engine_of_the_notebook_is_resumed_with_it(paused: Any) -> None:
    paused.run(
        "from agentkit import Answer, Chat, Think\n"
        "def mine(task):\n    thought = yield Think(Chat.of(task))\n    return Answer(thought.text, Chat.of(task))"
    )
    paused.run("%agent -e mine -m echo --pause hello")
    paused.run(f"{FORGET}\nheld.close()")
    paused.run("%agent resume {name} -o again\n%agent play --wait")
    assert paused.value("again.answer, again.agent.engine is mine") == "hello True"


@pytest.mark.parametrize(
    ("option", "check"),
    [
        ("-m other", "agent_run.performer.model is other"),
        ("-t order,price", "'order' in agent_run.performer.tools.names"),
    ],
)
def test_resume_opens_an_open_run_anew_with_another_model_or_tools(paused: Any, option: str, check: str) -> None:
    paused.run("other = scripted('done')\nfirst = agent_run")
    paused.run(f"%agent resume {{first.id}} {option} -o again")
    assert paused.value("again is agent_run and again is not first and again.id == first.id")
    assert paused.value(check) and paused.value("str(again.status)") == "paused"
    assert paused.value("first.read_only").startswith("it was closed, or resumed as another object")


def test_waiving_a_guard_of_an_open_run_says_what_to_do(paused: Any) -> None:
    paused.run("def is_long(entry): return False")
    paused.run("%agent break --when is_long")
    cell = paused.cell("%agent resume {agent_run.id} --waive breakpoints")
    assert cell.reply["status"] == "error" and "there is nothing to waive" in cell.stderr + cell.error
    assert "run.guard(approve=None)" in cell.stderr + cell.error
    paused.run("%agent break --clear")
    assert paused.value("agent_run.guards.breakpoints == []") and paused.value("str(agent_run.status)") == "paused"


def test_a_run_that_is_playing_is_not_opened_anew(notebook: Any) -> None:
    notebook.run("import threading; go = threading.Event(); other = scripted('done')")
    notebook.run("def slow(request): go.wait(60); return 'done'")
    notebook.run("%agent -m slow --pause Wait.\nagent_run.play()")
    cell = notebook.cell("%agent resume {agent_run.id} -m other")
    notebook.run("go.set(); agent_run.wait()")
    assert cell.reply["status"] == "error" and "pause it first" in cell.stderr + cell.error


def test_resume_returns_a_run_that_is_already_open(paused: Any) -> None:
    paused.run("first = agent_run\n%agent -m echo --pause another\n")
    paused.run("%agent resume {first.id}")
    assert paused.value("agent_run is first") == "True"


def test_tools_lists_the_toolboxes_and_the_tools_of_the_user(notebook: Any) -> None:
    notebook.run("shop = ToolBox([order], name='shop')")
    lines = [line.split()[:2] for line in notebook.run("%agent tools").text.split("\n")]
    assert ["math", "calculate"] in lines and ["shop", "order"] in lines and ["price", "price"] in lines


def test_engines_shows_which_engine_fits_and_which_are_available(notebook: Any) -> None:
    text = notebook.run("%agent engines").text
    assert all(name in text for name in ("chain_of_thought", "react", "tree_of_thoughts"))
    assert "self_ask" in notebook.run("%agent engines multi_hop").text
    assert notebook.refuses("%agent engines multihop") == "unknown signal 'multihop'; did you mean 'multi_hop'?"


def test_models_says_which_one_is_used_by_default_and_why(notebook: Any) -> None:
    text = notebook.run("%agent models").text
    assert "* offline is used without -m: no model was named" in text and "<Scripted 'scripted'" in text
    notebook.run("os = __import__('os'); os.environ['AGENTKIT_MODEL'] = 'echo'")
    try:
        assert "* echo is used without -m: the environment variable" in notebook.run("%agent models").text
    finally:
        notebook.run("del os.environ['AGENTKIT_MODEL']")


# -- export ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["trace.ipynb", "trace.md", "trace.html", "trace.json"])
def test_export_writes_the_format_of_the_file_ending_and_overwrites_no_file(
    paused: Any, tmp_path: Path, name: str
) -> None:
    path = tmp_path / name
    paused.run("%agent step 2")
    paused.run(f"%agent export {path}")
    assert "price" in path.read_text(encoding="utf-8")
    assert "already exists" in paused.refuses(f"%agent export {path}")
    paused.run(f"%agent export {path} --force")
    assert "unknown format '.doc'" in paused.refuses(f"%agent export {tmp_path}/trace.doc")
    assert "there is no folder" in paused.refuses(f"%agent export {tmp_path}/nowhere/{name}")


def test_export_to_a_cell_writes_code_that_plays_the_actions(paused: Any) -> None:
    assert paused.refuses("%agent export --cells") == "the run has no actions yet"
    paused.run("%agent step 2")
    payload = paused.run("%agent export --cells").reply["payload"]
    assert payload[0]["source"] == "set_next_input" and not payload[0]["replace"]
    assert paused.run(payload[0]["text"]).text == "3.2" and paused.value("ordered") == "[]"
    changed = paused.cell(payload[0]["text"].replace('"tea"', '"cake"'))
    assert "NotRecorded" in changed.error


# -- wrong input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("%agent step many", "invalid int value: 'many'"),
        ("%agent step 0", "at least 1"),
        ("%agent step -r nobody", "unknown run 'nobody'"),
        ("%agent play --wiat", "unknown option '--wiat'; did you mean '--wait'?"),
        ("%agent pause now", "does not take 'now'"),
        ("%agent stop now", "does not take 'now'"),
        ("%agent edit 99 --text x", "there is no entry 99"),
        ("%agent edit 1", "say what to change"),
        ("%agent edit 1 --arguments '{'", "this is not JSON"),
        ("%agent edit 1 --arguments '[1]'", "arguments must be a JSON object"),
        ("%agent edit 1 --answre x", "did you mean '--answer'?"),
        ("%agent inject", "needs some text"),
        ("%agent signal", "the name is missing"),
        ("%agent signal --json go {", "this is not JSON"),
        ("%agent fork 99", "there is no entry 99"),
        ("%agent fork -t nothing", "unknown tool 'nothing'"),
        ("%agent fork -o 1st", "is not a valid name for a variable"),
        ("%agent undo 99", "this is possible only 1 time, not 99"),
        ("%agent redo", "redo"),
        ("%agent approve", "nothing is waiting for approval"),
        ("%agent reject no", "nothing is waiting for a decision"),
        ("%agent respond", "the text is missing"),
        ("%agent respond --json {", "this is not JSON"),
        ("%agent resume", "required: ID"),
        ("%agent resume zzz", "there is no recorded run whose id begins with 'zzz'"),
        ("%agent runs all", "does not take 'all'"),
        ("%agent tools math", "does not take 'math'"),
        ("%agent models -m x", "unknown option '-m'"),
        ("%agent export", "needs a FILE"),
        ("%agent break --line x", "invalid int value"),
        ("%agent break --tool a --error", "exactly one condition"),
        ("%agent break --when nothing", "needs a variable that holds a function"),
        ("%%agent runs\nbody", "takes no cell body"),
    ],
)
def test_an_impossible_command_is_refused_in_one_line(paused: Any, line: str, error: str) -> None:
    paused.run("%agent step")
    assert error in paused.refuses(line)
    assert paused.value("agent_run.status, trace()") == "paused ['begin', 'think']"


# -- the profile -------------------------------------------------------------------------------------------------------


def test_the_profile_of_the_current_run_is_shown(notebook: Any) -> None:
    notebook.run("run = Agent(scripted(calling('order', item='tea'), 'done'), [order]).start('Go.', paused=True)")
    notebook.run("run.drive()")
    cell = notebook.run("%agent profile -r run")
    assert "models and tools" in cell.text and "order" in cell.text
    assert notebook.value("run.profile().total.calls") == "3"


# -- permissions -------------------------------------------------------------------------------------------------------


@pytest.fixture
def asking(notebook: Any) -> Any:
    """Return the kernel with a run that waits before it orders tea, because of its permissions."""
    notebook.run("ordered.clear(); model = scripted(calling('order', item='tea'), 'done')")
    notebook.run("run = Agent(model, [order], permissions='ask').start('Order tea.', paused=True); run.drive()")
    return notebook


def test_permissions_are_listed_explained_tested_and_set(asking: Any) -> None:
    assert "mode" in asking.run("%agent permissions -r run").text
    assert "waits for you" in asking.run("%agent permissions explain -r run").text
    told = asking.run('%agent permissions test order -r run --arguments \'{"item": "tea"}\'').text
    assert told.startswith("ask: in mode ask")
    assert "only if its tool is pure" in asking.run("%agent permissions mode plan -r run").text
    assert "deny" in asking.run('%agent permissions test order -r run --arguments \'{"item": "tea"}\'').text
    assert "write the mode in full" in asking.refuses("%agent permissions mode bypass -r run")
    assert "a tool is missing" in asking.refuses("%agent permissions test -r run")
    asking.run("run.drive()")
    assert asking.value("run[2].author, ordered") == "gate []"


def test_an_approval_can_hold_always(asking: Any) -> None:
    asking.run("%agent approve -r run --always")
    assert asking.value("run.guards.permissions.tables[0].source") == "person"
    asking.run("from agentkit.gates import permission_file")
    assert "order" in asking.value("permission_file.read().rules[0].text")
    asking.run("permission_file.path().unlink()")
