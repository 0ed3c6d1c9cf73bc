"""The shell: a command that is not allowed is not run, however it is written."""

from __future__ import annotations

import asyncio
import itertools
import os
import threading
import time
from pathlib import Path

import pytest

from agentkit import Agent, Call, Reply
from agentkit.errors import ToolError, UsageError
from agentkit.models import Scripted
from agentkit.sandbox import Sandbox
from agentkit.sandbox.programs import available
from agentkit.tools.builtin.shell import Shell

pytestmark = pytest.mark.slow
ALLOW = ["ls", "cat", "echo", "git log"]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return a folder with programs of its own, which leave a file behind if they are run."""
    for name in ("ls", "cat", "git", "program", "echo"):
        (tmp_path / name).write_text(f"#!/bin/sh\ntouch {tmp_path}/was-run\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ls").symlink_to(tmp_path / "program")
    return tmp_path


def refused() -> list[str]:
    """Return commands that must not be run; `{run}` is a command that leaves a file behind."""
    run = "touch {work}/was-run"
    separators = [";", "&&", "||", "|", "&", "\n", "\r\n", " ; ", ";;", "|&", "\t;\t", "\r"]
    allowed = ["ls", "echo x", 'cat "a b"', "git log", "echo ';'"]
    chained = [f"{first}{separator}{run}" for first, separator in itertools.product(allowed, separators)]
    substituted = [
        f"ls $({run})", f"ls `{run}`", f'echo "$({run})"', f'echo "`{run}`"', f"echo ${{x:-$({run})}}", f"cat <({run})", f"ls >({run})",
        f"echo $(($({run})))", f'echo "a" "$({run})"', f"echo 'a'\"$({run})\"", f"echo \\\\$({run})", f"({run})", f"{{ {run}; }}", f"echo x >({run})",
    ]  # fmt: skip
    redirected = [
        "echo x > {work}/was-run", "echo x >{work}/was-run", "echo x >> {work}/was-run", "echo x 1>{work}/was-run", "ls 2> {work}/was-run",
        "echo x >| {work}/was-run", "echo x &> {work}/was-run", "cat < /etc/passwd > {work}/was-run", "cat <<< x > {work}/was-run",
        "cat << x\ntouch {work}/was-run\nx", "echo x <> {work}/was-run",
    ]  # fmt: skip
    other_programs = [
        run, f"/usr/bin/{run}", f"/bin/{run}", f"sh -c '{run}'", f"bash -c '{run}'", f"/bin/sh -c '{run}'", f"env {run}", f"/usr/bin/env {run}",
        f"xargs {run}", f"nice {run}", f"nohup {run}", f"timeout 5 {run}", f"setsid {run}", f"sudo {run}", f"su -c '{run}'", f"exec {run}",
        f"eval {run}", f"command {run}", f"builtin {run}", f"busybox {run}", f"time {run}", f"! {run}", f"stdbuf -o0 {run}", f"chroot / {run}",
        f"find . -exec {run} +", "python3 -c \"open('was-run', 'w')\"", "perl -e 'system(touch)'", f"awk 'BEGIN {{ system(\"{run}\") }}'",
        "sed -i s/a/b/ program", "tee was-run", "cp program was-run", "mv program was-run", "ln -s program was-run", "install program was-run",
        "dd of=was-run", "tar cf was-run program", "source program", ". ./program", "curl -o was-run http://127.0.0.1/", "make -f program",
    ]  # fmt: skip
    other_spellings = [
        "./ls", "./program", "bin/ls", "../{work}/ls", "{work}/ls", "/usr/bin/ls", "/bin/ls", ".//ls", "~/ls", "$HOME/ls", "LS", "Ls", "ls\u200b",
        "l\u0455", "\uff4c\uff53", "'./ls'", '"{work}/program"', "\\./ls", "l''s/../program", "PATH=. ls", "PATH={work} ls", "LD_PRELOAD=x ls",
        "A=1 ls", "=ls", "-ls", "ls/", "git", "git push", "git -c core.pager=x log", "git --exec-path=. log", "git  push", "'git log'", "git\u00a0log",
        "gitlog", "git LOG", "", "   ", "\t\n", "''", '""', "'ls", '"ls', "ls 'a", "ls \\", "\x00ls", "ls\x00", "ls " + "x" * 30_000, "*", "l?", "[l]s", "ls *.py",
        "l[s]", "cat ~/x", "# ls", "ls # x", "ls $HOME", "ls ${{HOME}}", "%ls", "!ls", "@ls", "function ls", "alias ls", "if ls", "while ls",
    ]  # fmt: skip
    return [*chained, *substituted, *redirected, *other_programs, *other_spellings]


@pytest.mark.parametrize("level", available())
def test_of_many_commands_that_must_be_refused_none_is_run(
    level: str, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(work)
    monkeypatch.setenv("PATH", f"{work}:.:{os.environ['PATH']}")
    before, ran = sorted(os.listdir(work)), []
    shell = Shell(ALLOW, sandbox=Sandbox(level, folder=work, read=["/"]))  # type: ignore[arg-type]
    commands = [command.replace("{work}", str(work)).replace("{{", "{").replace("}}", "}") for command in refused()]
    for command in commands:
        try:
            ran.append((command, asyncio.run(shell.run_command(command))))
        except ToolError:
            pass
    print(f"{level}: {len(commands)} commands, {len(ran)} run")
    assert len(set(commands)) >= 120
    assert ran == [] and sorted(os.listdir(work)) == before


def test_what_is_allowed_is_run_from_the_path_of_the_sandbox(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{work}:{os.environ['PATH']}")
    monkeypatch.chdir(work)
    shell = Shell(ALLOW, sandbox=Sandbox(folder=work))
    shown = {
        "ls -1 bin": "ls",
        "echo \"a; b\" '$(x)' a\\;b": "a; b $(x) a;b",
        "echo HEAD~1 a#b {x} a!b": "HEAD~1 a#b {x} a!b",
        "  echo  'a  b'  ": "a  b",
    }
    for command, output in shown.items():
        assert asyncio.run(shell.run_command(command)).partition("]\n")[2] == output + "\n"
    assert not (work / "was-run").exists()


def test_a_model_writes_for_a_shell_only_behind_walls_that_hold_the_files(work: Path) -> None:
    with pytest.raises(UsageError, match="needs a sandbox that holds the files"):
        Shell("anything", sandbox=Sandbox("plain", folder=work))
    if available()[0] == "plain":
        pytest.skip("this system has no such walls")
    text = asyncio.run(Shell("anything", sandbox=Sandbox(folder=work)).run_command("echo a b | tr ' ' '\\n' | wc -l"))
    assert text.endswith("]\n2\n")


@pytest.mark.parametrize(
    ("allow", "error"),
    [
        ([], "lists the programs"),
        ([""], "lists the programs"),
        ("ls", "is a list"),
        (["no-such-program"], "there is no program"),
        (["./ls"], "there is no program"),
    ],
)
def test_an_allow_list_that_cannot_be_meant_is_refused(work: Path, allow: object, error: str) -> None:
    with pytest.raises(UsageError, match=error):
        Shell(allow, sandbox=Sandbox(folder=work))  # type: ignore[arg-type]


def test_the_model_learns_what_it_may_run_and_behind_which_walls_it_ran(work: Path) -> None:
    sandbox = Sandbox(folder=work)
    model = Scripted(
        [
            Reply("", (Call("run_command", {"command": "echo hi"}),)),
            Reply("", (Call("run_command", {"command": "rm x"}),)),
            "done",
        ]
    )
    run = Agent(model, [Shell(ALLOW, sandbox=sandbox)], journal="memory").run("Say hi.").run
    texts = [entry.result.text for entry in run.entries if entry.kind == "act"]
    assert texts[0] == f"[exit code 0; sandbox: {sandbox.walls}]\nhi\n"
    assert "'rm' was not run. These commands may be run: ls, cat, echo, git log." in texts[1]
    tool = next(iter(Shell(ALLOW, sandbox=sandbox)))
    assert (tool.effect, "ls, cat, echo, git log" in tool.description) == ("irreversible", True)


def test_a_run_that_is_stopped_ends_its_command(work: Path) -> None:
    shell = Shell(["sleep", "sh"], sandbox=Sandbox(folder=work))
    command = "sh -c 'touch begun; sleep 900; touch finished'"
    model = Scripted([Reply("", (Call("run_command", {"command": command}),)), "done"])
    run = Agent(model, [shell], journal="memory").start("Wait.")
    end = time.monotonic() + 60
    while not (work / "begun").exists() and time.monotonic() < end:
        time.sleep(0.01)
    run.stop()
    while any(thread.name == "agentkit-call" for thread in threading.enumerate()) and time.monotonic() < end:
        time.sleep(0.01)
    assert not any(b"touch finished" in line for line in command_lines())


def command_lines() -> list[bytes]:
    lines = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            lines.append(Path("/proc", name, "cmdline").read_bytes())
        except OSError:
            continue
    return lines
