"""Conversations with the real program in a real pseudo-terminal: typing, Ctrl-C at every moment, kill -9, and pipes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chat_world
import pytest
from hostile_text import ATTACKS, raw_characters, texts
from talking import ESCAPES, Terminal

from agentkit import Agent
from agentkit.agent.agent import runs

pytestmark = pytest.mark.slow

Start = Callable[..., Terminal]


@pytest.fixture
def world(tmp_path: Path) -> dict[str, str]:
    return chat_world.install(tmp_path)


@pytest.fixture
def start(world: dict[str, str]) -> Iterator[Start]:
    """Return a function that starts a conversation in a terminal."""
    started: list[Terminal] = []

    def begin(*arguments: str, **options: Any) -> Terminal:
        command = ["chat", "-t", "world", *([] if "-m" in arguments else ["-m", "obedient"]), *arguments]
        started.append(Terminal(*command, **{**world, **options}))
        return started[-1]

    yield begin
    for terminal in started:
        if terminal.process.isalive():
            terminal.kill()


def piped(world: dict[str, str], text: str | bytes, *arguments: str, model: str = "obedient") -> tuple[int, str, str]:
    """Return the exit code, the standard output and the standard error of a conversation through pipes."""
    data = text if isinstance(text, bytes) else text.encode()
    command = [sys.executable, "-m", "agentkit", "chat", "-m", model, *arguments]
    done = subprocess.run(command, input=data, capture_output=True, env={**os.environ, **world}, timeout=120)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def paid(world: dict[str, str]) -> list[str]:
    path = Path(world["WORLD"], "paid")
    return path.read_text().split() if path.exists() else []


def wait_for(path: Path) -> None:
    end = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < end, f"{path} does not appear"
        time.sleep(0.01)


def interrupt(terminal: Terminal, world: dict[str, str], message: str) -> None:
    """Send a message, and press Ctrl-C as soon as its step has begun."""
    terminal.until("\n>")
    terminal.type(message)
    wait_for(Path(world["WORLD"], "begun"))
    terminal.ctrl("c")


def newest() -> Any:
    return runs()[0]


# -- pipes -------------------------------------------------------------------------------------------------------------


def test_each_line_of_a_pipe_is_answered_and_only_answers_are_on_the_standard_output(world: dict[str, str]) -> None:
    code, answers, steps = piped(world, "What is 3 * 17?\n\nand 2 + 2?", model="offline")
    assert (code, answers) == (0, "3 * 17 is 51.\n2 + 2 is 4.\n")
    assert "calculate(expression='3 * 17')" in steps and "→ 51" in steps


@pytest.mark.parametrize("text", ["", "\n\n", "exit\n", "quit", "  q  \nnever"])
def test_nothing_to_answer_ends_cleanly(world: dict[str, str], text: str) -> None:
    assert piped(world, text) == (0, "", "") and runs() == []


def test_messages_of_one_conversation_know_each_other_and_a_session_goes_on_in_another_process(
    world: dict[str, str],
) -> None:
    assert piped(world, "one\ntwo\n", "-s", "s")[:2] == (0, "Message 1: one\nMessage 2: two\n")
    code, answers, steps = piped(world, "three\n", "-s", "s")
    assert (code, answers) == (0, "Message 3: three\n") and "session s: 2 earlier turns" in steps


def test_a_model_that_fails_makes_the_exit_code_1_and_the_other_lines_are_answered(world: dict[str, str]) -> None:
    code, answers, steps = piped(world, "fail\nfail\nhello\n")
    assert "goes on where run" not in steps and len(runs()) == 2  # the same message tries the same run again
    assert code == 1 and "Message" in answers and "the line is down" in steps
    assert f"agentkit chat --resume {runs()[1].run}" in steps and "Traceback" not in steps


def test_in_a_pipe_nobody_is_asked_and_the_run_waits_for_a_person(world: dict[str, str]) -> None:
    code, answers, steps = piped(world, "pay 5\nhello\n", "-t", "world", "-p", "ask")
    assert code == 1 and "pay needs your approval" in steps and paid(world) == []
    assert [info.status for info in runs()] == ["done", "waiting"]
    code, answers, steps = piped(world, "/approve\n", "-t", "world", "--resume", runs()[1].run)
    assert (code, answers) == (0, "It said: paid 5\n") and paid(world) == ["5"]


def test_bytes_that_are_not_utf_8_are_refused_without_a_traceback(world: dict[str, str]) -> None:
    code, answers, steps = piped(world, b"one\n\xff\xfe\ntwo\n")
    assert "UTF-8" in steps and "Traceback" not in steps and answers == "Message 1: one\nMessage 2: two\n"
    assert code == 1


def test_commands_work_in_a_pipe_and_mistakes_in_them_are_one_line(world: dict[str, str]) -> None:
    lines = [
        "/pause",
        "pay 7",
        "/step",
        "/show",
        "/undo",
        "/undo",
        "/nonsense",
        "/edit",
        "/edit 99 x",
        "/step x",
        "/play",
    ]
    code, answers, steps = piped(world, "\n".join(lines), "-t", "world")
    assert (code, answers, paid(world)) == (0, "It said: paid 7\n", ["7"])
    for text in ("there is no command /nonsense", "/edit takes", "there is no entry '99'", "TIMES must be a number"):
        assert text in steps
    assert "Traceback" not in steps


def test_a_full_disk_and_a_closed_output_leave_no_traceback(world: dict[str, str]) -> None:
    command = f"{sys.executable} -m agentkit chat -m obedient"
    done = subprocess.run(
        ["bash", "-c", f"echo hello | {command} | true; echo ${{PIPESTATUS[1]}}"],
        capture_output=True,
        text=True,
        env={**os.environ, **world},
    )
    assert "Traceback" not in done.stderr


# -- typing ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["exit", "quit", "q", "/exit", "/q", "Q"])
def test_a_conversation_ends_with_a_word(start: Start, word: str) -> None:
    terminal = start()
    terminal.until(">")
    terminal.type(word)
    assert terminal.end() == 0


def test_a_conversation_ends_with_ctrl_d_and_says_how_it_goes_on(start: Start) -> None:
    terminal = start("-s", "mine")
    terminal.until("\n>")
    terminal.type("hello")
    terminal.until("Message 1: hello")
    terminal.until("\n>")
    terminal.ctrl("d")
    assert terminal.end() == 0 and "agentkit chat --session mine continues" in terminal.screen


def test_an_answer_that_was_streamed_is_not_repeated(start: Start, world: dict[str, str]) -> None:
    Path(world["WORLD"], "go").touch()
    terminal = start()
    terminal.until("\n>")
    terminal.type("think")
    terminal.until("1 model call")
    assert terminal.screen.count("Let me think about it.") == 1


def test_a_message_can_have_several_lines(start: Start) -> None:
    terminal = start()
    terminal.until("\n>")
    terminal.process.send("one\x1b\rtwo\\\rthree\r")
    terminal.until("1 model call")
    assert newest().task == "one\ntwo\nthree"
    terminal.until("\n>")
    terminal.process.send("\x1b[200~four\nfive\x1b[201~\r")  # what a terminal sends when text is pasted
    terminal.until("1 model call")
    assert newest().task == "four\nfive"
    terminal.type("q")
    assert terminal.end() == 0


def test_the_history_is_kept_without_secrets_for_its_owner_only(start: Start, home: Path) -> None:
    terminal = start()
    terminal.until("\n>")
    terminal.type("my key is sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGH")
    terminal.until("1 model call")
    terminal.until("\n>")
    terminal.type("q")
    assert terminal.end() == 0
    history = home / "chat-history"
    assert "my key is" in history.read_text() and "abcdefghijkl" not in history.read_text()
    assert history.stat().st_mode & 0o777 == 0o600
    again = start()
    again.until("\n>")
    again.process.send("\x1b[A\x1b[A\r")  # the line before the last
    again.until("Message 1: my key is")


def test_a_call_is_asked_about_and_what_was_typed_before_the_question_does_not_count(
    start: Start, world: dict[str, str]
) -> None:
    terminal = start("-p", "ask")
    terminal.until("\n>")
    terminal.process.send("pay 5\ry\ry\r")
    terminal.until("pay needs your approval")
    assert "pay(amount=5) [irreversible]" in terminal.until("decide>")
    time.sleep(0.5)
    assert paid(world) == []
    terminal.type("what?")
    terminal.until("'what?' is not one of approve, reject, respond")
    terminal.until("decide>")
    terminal.type("y")
    terminal.until("It said: paid 5")
    assert paid(world) == ["5"]


@pytest.mark.parametrize(
    ("decision", "payments", "text"),
    [
        ("n not today", [], "not today"),
        ("respond paid by hand", [], "It said: paid by hand"),
        ('approve {"amount": 6}', ["6"], "It said: paid 6"),
        ("/reject too much", [], "too much"),
        ("/approve --remember", ["5"], "It said: paid 5"),
    ],
)
def test_decisions_at_the_question(
    start: Start, world: dict[str, str], decision: str, payments: list[str], text: str
) -> None:
    terminal = start("-p", "ask")
    terminal.until("\n>")
    terminal.type("pay 5")
    terminal.until("decide>")
    terminal.type(decision)
    terminal.until(text)
    terminal.until("model calls")
    assert paid(world) == payments
    if "--remember" in decision:
        terminal.until("\n>")
        terminal.type("/undo 2")
        terminal.until(">")


def test_going_back_says_what_is_not_undone_and_asks_before_it_is_repeated(start: Start, world: dict[str, str]) -> None:
    terminal = start()
    terminal.until("\n>")
    terminal.type("pay 5")
    terminal.until("It said: paid 5")
    terminal.until("\n>")
    terminal.type("/undo 3")
    assert "Not undone: pay(amount=5)" in terminal.until("paused>")
    terminal.type("/play")
    terminal.until("decide>")
    terminal.type("")  # the default: what it returned then
    terminal.until("It said: paid 5")
    assert paid(world) == ["5"]
    terminal.until("\n>")
    terminal.type("/retry 2")
    assert "Not undone: pay(amount=5)" in terminal.until("decide>")
    terminal.type("y")
    terminal.until("It said: paid 5")
    assert paid(world) == ["5", "5"]
    terminal.until("\n>")
    terminal.type("/fork 1")
    assert "Not undone" in terminal.until("paused>")


def test_every_command_of_the_help_does_something_and_none_leaves_a_traceback(start: Start, tmp_path: Path) -> None:
    terminal = start(folder=tmp_path)
    terminal.until("\n>")
    terminal.type("hello")
    terminal.until("\n>")
    for line, text in {
        "/help": "exit, quit, q, Ctrl-D",
        "/show": "Message 1: hello",
        "/show 1": "Message 1: hello",
        "/edit 1 text=edited": "edited by human",
        "/undo": "undo",
        "/redo": "redo",
        "/rewind 0": "rewind",
        "/inject more": "the model sees this message",
        "/step": "more",
        "/play ": "model calls",
        "/engine": "now react",
        "/engine reflexion": "reflexion (obedient)",
        "/model": "now obedient",
        "/model echo": "reflexion (echo)",
        "/fork 0": "a fork",
        "/save": "is in the journal",
        "/save trace.md": "written to trace.md",
        "/approve": "nothing waits",
        "/new": "the next message starts another run",
        "/play": "there is no run yet",
    }.items():
        terminal.type(line)
        terminal.until(text)
        terminal.until(">")
    assert (tmp_path / "trace.md").exists()
    terminal.type("q")
    assert terminal.end() == 0


def test_a_message_to_a_paused_run_is_for_this_run(start: Start, world: dict[str, str]) -> None:
    terminal = start()
    interrupt(terminal, world, "dawdle")
    terminal.until("pausing")
    Path(world["WORLD"], "go").touch()
    terminal.until("paused>")
    terminal.type("and hurry")
    terminal.until("injected: and hurry")
    terminal.until("model calls")
    assert len(runs()) == 1 and newest().status == "done"


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["think", "dawdle"])
def test_ctrl_c_pauses_at_the_next_step_boundary(start: Start, world: dict[str, str], what: str) -> None:
    terminal = start()
    interrupt(terminal, world, what)
    terminal.until("pausing: the step in progress ends first")
    Path(world["WORLD"], "go").touch()
    terminal.until(">")
    terminal.type("/play")
    terminal.until("model call")
    terminal.until("\n>")
    terminal.type("q")
    assert terminal.end() == 0 and newest().status == "done"


@pytest.mark.parametrize("what", ["think", "dawdle"])
def test_ctrl_c_twice_ends_the_conversation_and_nothing_is_lost(start: Start, world: dict[str, str], what: str) -> None:
    terminal = start()
    interrupt(terminal, world, what)
    terminal.until("pausing")
    terminal.ctrl("c")
    assert terminal.end() == 130
    id = newest().run
    assert f"agentkit chat --resume {id}" in terminal.screen
    Path(world["WORLD"], "go").touch()
    again = start("--resume", id)
    again.until("paused before")
    again.until("paused>")
    again.type("/play")
    again.until("model call")
    again.until("\n>")
    again.type("q")
    assert again.end() == 0 and newest().status == "done"


def test_ctrl_c_at_the_prompt_clears_what_was_typed_and_twice_ends(start: Start) -> None:
    terminal = start()
    terminal.until("\n>")
    terminal.process.send("not this")
    terminal.until("not this")
    terminal.ctrl("c")
    terminal.type("this")
    terminal.until("Message 1: this")
    terminal.until("\n>")
    terminal.ctrl("c")
    terminal.until("Ctrl-C again ends")
    terminal.type("that")
    terminal.until("Message 2: that")
    terminal.until("\n>")
    terminal.ctrl("c")
    terminal.until("Ctrl-C again ends")
    terminal.ctrl("c")
    assert terminal.end() == 130 and "not this" not in {info.task for info in runs()}


@pytest.mark.parametrize("columns", [60, 80])
def test_the_list_of_commands_fits_the_terminal(world: dict[str, str], columns: int) -> None:
    terminal = Terminal("chat", "-t", "world", "-m", "obedient", columns=columns, **world)
    terminal.until("\n>")
    terminal.type("/help")
    lines = terminal.until("Begin another line").splitlines()
    terminal.until("\n>")
    terminal.ctrl("d")
    assert terminal.end() == 0
    assert len(lines) > 20 and max(map(len, lines)) <= columns


def test_ctrl_c_at_a_question_with_a_default_decides_nothing(start: Start, world: dict[str, str]) -> None:
    terminal = start()
    terminal.until("\n>")
    terminal.type("pay 5")
    terminal.until("model calls")
    terminal.until("\n>")
    terminal.type("/retry 2")
    terminal.until("reuse")
    terminal.until("decide>")
    terminal.ctrl("c")
    terminal.until("Ctrl-C again ends")
    terminal.until("decide>")
    terminal.type("/edit 1")
    terminal.until("I pay.")
    terminal.ctrl("c")  # leaves the text, so that a command is not taken for it
    terminal.until("nothing was edited")
    terminal.until("decide>")
    terminal.type("/edit 1")
    terminal.until("I pay.")
    terminal.process.send("\x15\r")  # Ctrl-U deletes the text
    terminal.until("/edit 1 text= makes the text empty")
    terminal.until("decide>")
    terminal.type("reuse")
    terminal.until("pay(amount=5) [not called: what follows was answered in its place]\n→ paid 5\n")
    terminal.until("\n>")
    terminal.ctrl("d")
    assert terminal.end() == 0 and newest().status == "done" and paid(world) == ["5"]


def test_ctrl_c_at_a_question_decides_nothing(start: Start, world: dict[str, str]) -> None:
    terminal = start("-p", "ask")
    terminal.until("\n>")
    terminal.type("pay 5")
    terminal.until("decide>")
    terminal.ctrl("c")
    terminal.until("Ctrl-C again ends")
    terminal.until("decide>")
    terminal.ctrl("c")
    assert terminal.end() == 130 and paid(world) == []
    assert newest().status == "waiting"
    again = start("--resume", newest().run)
    again.until("decide>")
    again.type("y")
    again.until("It said: paid 5")
    assert paid(world) == ["5"]


def test_ctrl_c_at_any_time_leaves_a_run_that_can_be_picked_up(start: Start, world: dict[str, str]) -> None:
    Path(world["WORLD"], "go").touch()
    for number in range(int(os.environ.get("AGENTKIT_SIZE", "3")) + 3):
        terminal = start()
        terminal.until("\n>")
        terminal.type(f"pay {number}")
        time.sleep(0.004 * number**2)
        for _ in range(20):  # two that are quick are one, and the kernel drops one while the terminal changes its mode
            if terminal.process.isalive():
                terminal.ctrl("c")
                time.sleep(0.1)
        assert terminal.end() == 130
        if runs() and newest().status not in ("done", "not begun") and newest().task == f"pay {number}":
            code, _, steps = piped(world, "/play\n/reuse\n", "-t", "world", "--resume", newest().run)
            assert code == 0, steps
    assert len(paid(world)) == len(set(paid(world)))  # none is paid twice


def test_a_signal_during_a_pipe_ends_with_130_and_says_how_to_go_on(world: dict[str, str]) -> None:
    command = [sys.executable, "-m", "agentkit", "chat", "-m", "obedient", "-t", "world"]
    process = subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True, env={**os.environ, **world})
    assert process.stdin is not None
    process.stdin.write("dawdle\n")
    process.stdin.flush()
    wait_for(Path(world["WORLD"], "begun"))
    process.send_signal(signal.SIGINT)
    answers, steps = process.communicate(timeout=60)
    assert (process.returncode, answers) == (130, "") and f"--resume {newest().run}" in steps
    assert "Traceback" not in steps


# -- kill -9 -----------------------------------------------------------------------------------------------------------


def test_after_kill_9_a_run_is_picked_up_and_nothing_is_paid_twice(start: Start, world: dict[str, str]) -> None:
    terminal = start("-s", "money")
    terminal.until("\n>")
    terminal.type("pay 5")
    terminal.until("It said: paid 5")
    terminal.until("\n>")
    terminal.type("dawdle")
    wait_for(Path(world["WORLD"], "begun"))
    terminal.kill()
    assert newest().status == "interrupted"
    Path(world["WORLD"], "go").touch()
    again = start("-s", "money")
    assert f"--resume {newest().run}" in again.until("\n>")
    again.type("dawdle")  # the same message goes on where it was
    again.until("goes on where run")
    again.until("It said: back")
    again.until("\n>")
    again.type("hello")
    again.until("Message 3: hello")
    assert paid(world) == ["5"]


# -- what is shown -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("columns", [20, 80])
def test_hostile_text_of_a_model_and_of_tools_is_inert(
    start: Start, world: dict[str, str], tmp_path: Path, columns: int
) -> None:
    terminal = start(columns=columns)
    terminal.until("\n>")
    for text in texts():
        Path(world["WORLD"], "hostile").write_text(text, encoding="utf-8", errors="surrogatepass")
        terminal.type("repeat it")
        terminal.until("2 model calls, 1")
        terminal.until("\n>")
    terminal.type("/show")
    terminal.until("\n>")
    terminal.type("q")
    assert terminal.end() == 0
    shown = ESCAPES.sub("", terminal.raw).replace("\r", "").replace("\x08", "")
    attacks = [attack for attack in ATTACKS if attack.startswith("\x1b") and attack in terminal.raw]
    assert not raw_characters(shown) and not attacks
    assert not [line for line in shown.splitlines() if line.startswith("FORGED")]


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_nothing_is_dimmed_if_nobody_wants_it(start: Start, environment: dict[str, str]) -> None:
    terminal = start(**environment)
    terminal.until(">")
    terminal.type("hello")
    terminal.until("1 model call")
    assert "\x1b[2m" not in terminal.raw and "\x1b[2m" not in terminal.screen
    assert "\x1b[2m" in _greeting(start())


def _greeting(terminal: Terminal) -> str:
    terminal.until("exit ends")
    return terminal.raw


def test_a_terminal_without_utf_8_loses_nothing(start: Start) -> None:
    terminal = start("-m", "offline", "-t", "math", LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    terminal.until(">")
    terminal.type("What is 3 * 17?")
    terminal.until("* calculate(expression='3 * 17')")
    terminal.until("-> 51")
    terminal.type("q")
    assert terminal.end() == 0


def test_a_run_that_is_open_elsewhere_is_refused_in_one_line(world: dict[str, str]) -> None:
    run = Agent("echo").start("hello", paused=True)
    code, answers, steps = piped(world, "", "--resume", run.id)
    assert (code, answers) == (1, "") and f"agentkit watch {run.id}" in steps
    assert json.loads(json.dumps(steps)) and "Traceback" not in steps
    run.close()
