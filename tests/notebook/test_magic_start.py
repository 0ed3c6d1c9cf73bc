"""`%agent` starts a run: its options, its result, and what it refuses."""

from __future__ import annotations

from typing import Any

import pytest


def test_a_task_in_a_line_starts_a_run_that_the_next_cell_awaits(notebook: Any) -> None:
    notebook.run("%agent -m model -t price -o mine What's the price of tea?")
    assert notebook.run("(await mine).answer").text == "'It is 3.2.'"
    assert notebook.value("mine is agent_run, trace()") == "True ['begin', 'think', 'act', 'think', 'conclude']"
    assert notebook.value("agent_run.task['task'][0]['text']") == "What's the price of tea?"


def test_the_cell_ends_while_the_run_continues(notebook: Any) -> None:
    notebook.run("import threading; bell = threading.Event()\ndef waits(): bell.wait(); return 'rung'")
    notebook.run("model = scripted(calling('waits'), 'done')")
    assert "Run" in notebook.run("%agent -m model -t waits Wait.").text
    assert notebook.value("agent_run.status") == "running"
    notebook.run("bell.set(); agent_run.wait()")
    assert notebook.value("agent_run.status") == "done"


def test_wait_shows_the_finished_trace_once_and_nothing_is_sent_afterwards(notebook: Any) -> None:
    cell = notebook.run("%agent -m model -t price --wait The price of tea")
    assert len(cell.shown) == 1 and cell.text.startswith("Run done: 4 steps") and "It is 3.2." in cell.text
    assert not [message for message in cell.messages if message["msg_type"] == "update_display_data"]


def test_wait_shows_the_trace_even_if_the_cell_has_more_lines(notebook: Any) -> None:
    cell = notebook.run("%agent -m model -t price --wait The price of tea\nagent_run.status")
    assert [data["text/plain"].split(":")[0] for data in cell.shown] == ["Run done", "'done'"]


def test_a_run_can_be_assigned_and_is_shown_once(notebook: Any) -> None:
    cell = notebook.run("assigned = %agent -m model -t price --wait What is the price of tea?\nassigned is agent_run")
    assert len(cell.shown) == 2 and cell.shown[1]["text/plain"] == "True"


def test_cells_wait_for_runs_if_nobody_watches(notebook: Any) -> None:
    notebook.run("import os; os.environ['AGENTKIT_NONINTERACTIVE'] = '1'")
    try:
        cell = notebook.run("%agent -m model -t price The price of tea")
    finally:
        notebook.run("del os.environ['AGENTKIT_NONINTERACTIVE']")
    assert len(cell.shown) == 1 and cell.text.startswith("Run done")


def test_pause_pauses_the_run_before_its_first_step(notebook: Any) -> None:
    assert notebook.run("%agent -m model -t price --pause The price of tea").text.startswith("Run paused: 0 steps")
    assert notebook.value("model.calls") == "0"


def test_a_cell_body_is_the_task_exactly_as_typed(notebook: Any) -> None:
    notebook.run("name = 'tea'")
    notebook.run('%%agent -m model -t price --pause\nfor {name} in {"a": 1}:\n    --wait $5')
    assert notebook.value("agent_run.task['task'][0]['text']") == 'for {name} in {"a": 1}:\n    --wait $5'
    notebook.run("%%agent -m model -t price --pause --fill Translate:\nthe {name}")
    assert notebook.value("agent_run.task['task'][0]['text']") == "Translate:\nthe tea"


def test_variables_and_expressions_are_expanded_in_a_line(notebook: Any) -> None:
    notebook.run("name, n = 'tea', 2")
    notebook.run('%agent -m echo --pause {n + 1} x {name!r} for $5 and {"a": 1} and {{n}}')
    assert notebook.value("agent_run.task['task'][0]['text']") == "3 x 'tea' for $5 and {\"a\": 1} and {n}"


def test_the_local_variables_of_a_function_are_expanded(notebook: Any) -> None:
    notebook.run("def ask(inner):\n    %agent -m echo --pause about {inner}\nask('oolong')")
    assert notebook.value("agent_run.task['task'][0]['text']") == "about oolong"


def test_the_value_of_a_variable_is_never_parsed_as_a_command_or_an_option(notebook: Any) -> None:
    notebook.run("hostile = 'stop --wait --reason x'")
    notebook.run("%agent -m echo --pause {hostile}")
    assert notebook.value("agent_run.task['task'][0]['text'], agent_run.status") == "stop --wait --reason x paused"


def test_anything_after_a_double_dash_is_the_task(notebook: Any) -> None:
    notebook.run("%agent -m echo --pause -- stop --wait")
    assert notebook.value("agent_run.task['task'][0]['text']") == "stop --wait"


def test_options_set_the_engine_the_iterations_and_the_tools(notebook: Any) -> None:
    notebook.run(
        "from agentkit import Answer, Think\n"
        "def one_thought(task, *, tools=()):\n    reply = yield Think(task, tools)\n    return Answer(reply.text, "
        "task)\n"
        "def shout(text: str) -> str:\n    'Shout.'\n    return text.upper()\n"
    )
    notebook.run("%agent -m model -e one_thought -t 'price, shout,units' --pause Hm")
    assert (
        notebook.value("agent_run.agent.engine is one_thought, agent_run.agent.tools.names")
        == "True ('price', 'shout', 'convert')"
    )
    notebook.run("%agent -m model -n 3 -t none --pause Hm")
    assert notebook.value("agent_run.agent.engine_options, agent_run.agent.tools.names") == "{'max_iterations': 3} ()"
    notebook.run("%agent -m echo -e self_ask -n 3 -w hello")
    assert notebook.value("agent_run.agent.engine_options") == "{'max_follow_ups': 3}"
    assert "no loop whose length could be limited" in notebook.refuses("%agent -m echo -e chain_of_thought -n 3 hello")


def test_config_sets_the_defaults(notebook: Any) -> None:
    notebook.run(
        "%config AgentMagics.model = 'echo'\n%config AgentMagics.tools = 'price'\n%config AgentMagics.iterations = 4"
    )
    notebook.run("%config AgentMagics.journal = None\n%config AgentMagics.wait = True")
    try:
        cell = notebook.run("%agent Say this")
        assert cell.text.startswith("Run done") and "Answer       Say this" in cell.text
        assert notebook.value("agent_run.agent, agent_run.agent.journal").startswith(
            "Agent(model='echo', engine=Loop('react', max_iterations=4), tools=[price]) None"
        )
    finally:
        notebook.run(
            "%config AgentMagics.model = None\n%config AgentMagics.tools = 'math,units,clock,facts'\n"
            "%config AgentMagics.iterations = 0\n%config AgentMagics.journal = 'sqlite'\n%config AgentMagics.wait = "
            "False"
        )
    assert notebook.run("%agent --pause Say this") and notebook.value("agent_run.agent.model") == "Offline()"


def test_of_two_parallel_runs_a_command_acts_on_the_last_one_or_the_one_it_names(notebook: Any) -> None:
    notebook.run("bell = threading.Event()\ndef waits(): bell.wait(); return 'rung'")
    notebook.run("one, two = scripted(calling('waits'), 'one'), scripted(calling('waits'), 'two')")
    notebook.run("%agent -m one -t waits -o first Go.\n%agent -m two -t waits -o second Go.")
    assert notebook.value("first.status, second.status, agent_run is second") == "running running True"
    assert "pausing" in notebook.run("%agent pause -r first").text
    notebook.run("bell.set(); first.wait(); second.wait()")
    assert notebook.value("first.status, second.status, second.answer") == "paused done two"
    notebook.run("%agent -r first play --wait")
    assert notebook.value("first.answer") == "one"
    notebook.run(f"%agent undo -r {notebook.value('first.id[:8]')}")
    assert notebook.value("first.status, agent_run is second") == "paused True"


def test_an_interrupt_shows_the_run_and_raises(notebook: Any) -> None:
    notebook.run(
        "def interrupts():\n    import _thread; _thread.interrupt_main(); bell.wait(1); return 'late'\nbell = "
        "threading.Event()"
    )
    notebook.run("model = scripted(calling('interrupts'), 'done')")
    cell = notebook.cell("%agent -m model -t interrupts --wait Go.")
    assert "KeyboardInterrupt" in cell.error and cell.text.startswith("Run paused: 2 steps")
    notebook.run("%agent play --wait")
    assert notebook.value("agent_run.answer") == "done"


def test_the_failure_of_a_model_is_reported_in_a_line_below_the_trace(notebook: Any) -> None:
    notebook.run("model = scripted(ConnectionError('nobody there'), 'It is up again.')")
    cell = notebook.cell("%agent -m model --wait Hello there")
    assert "Run failed" in cell.text and "nobody there" in cell.stderr and not cell.error
    notebook.run("%agent play --wait")
    assert notebook.value("agent_run.answer") == "It is up again."


def test_the_error_of_a_provider_is_shown_in_one_line_without_control_characters(notebook: Any) -> None:
    notebook.run("model = scripted(ConnectionError('first\\nsecond\\x1b[2J'), 'done')")
    assert "first second\\x1b[2J" in notebook.refuses("%agent -m model --wait Hello there")


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("%agent --modle echo hi", "unknown option '--modle'; did you mean '--model'?"),
        ("%agent -m ecko hi", "unknown model 'ecko'; did you mean 'echo'?"),
        ("%agent -e reakt hi", "unknown engine 'reakt'; did you mean 'react'?"),
        ("%agent -t prise hi", "unknown tool 'prise'; did you mean 'price'?"),
        ("%agent -t SETUP hi", "unknown tool 'SETUP'"),
        ("%agent -n 0 hi", "max_iterations must be at least 1, not 0"),
        ("%agent -n many hi", "invalid int value: 'many'"),
        ("%agent -o 2nd hi", "'2nd' is not a valid name for a variable"),
        ("%agent -m", "expected one argument"),
        ("%agent --wait", "the task is missing"),
        ("%agent What is the time --wait", "options go before the text, but --wait is in the text"),
        ("%agent What is 2 * 3? -t math", "but -t is in the text"),
        ("%agent What is 2 * 3? -p", "but -p is in the text"),
        ("%agent runz", "unknown command 'runz'; did you mean 'runs'?"),
        ("%agent edti 3 --text x", "did you mean 'edit'?"),
        ("%agent stpe", "did you mean 'step'?"),
        ("%agent exprot trace.ipynb", "did you mean 'export'?"),
        ("%agent stop the music", "does not take 'the music'"),
        ("%agent about {nobody}", "NameError: name 'nobody' is not defined"),
        ("%agent -m 'echo hi", "No closing quotation"),
        ("%agent -r agent_run hello", "-r selects the run of a command"),
    ],
)
def test_wrong_input_is_refused_in_one_line_and_starts_nothing(notebook: Any, line: str, error: str) -> None:
    before = notebook.value("id(globals().get('agent_run'))")
    assert error in notebook.refuses(line)
    assert notebook.value("id(globals().get('agent_run'))") == before


def test_help_shows_the_options_and_the_commands(notebook: Any) -> None:
    page = notebook.run("%agent?").reply["payload"][0]["data"]["text/plain"]
    assert "--iterations" in page and "%agent COMMAND" in page
    assert "inject" in notebook.run("%agent help").text
    assert "--arguments JSON" in notebook.run("%agent help edit").text
    assert notebook.refuses("%agent help edt") == "unknown command 'edt'; did you mean 'edit'?"
