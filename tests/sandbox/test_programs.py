"""Programs run behind the walls that the system has, under limits, and end with everything that they started."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from agentkit.errors import ToolError, UsageError
from agentkit.sandbox import Sandbox
from agentkit.sandbox.programs import HOLDS, MAX_OUTPUT, Program, available

WALLS = available() if os.name == "posix" else ()
HOLDING = [level for level in WALLS if "files" in HOLDS[level]]
every_level = pytest.mark.parametrize("level", WALLS)
pytestmark = pytest.mark.slow


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Return a working folder; a secret, a folder that is only read and one that is written are beside it."""
    for name in ("work", "read", "write"):
        (tmp_path / name).mkdir()
    (tmp_path / "secret.txt").write_text("the secret\n")
    (tmp_path / "read" / "data.txt").write_text("data\n")
    (tmp_path / "work" / "link").symlink_to(tmp_path / "secret.txt")
    return tmp_path / "work"


def sh(sandbox: Sandbox, line: str) -> str:
    return sandbox.run(["/bin/sh", "-c", line]).text


def running(mark: str) -> list[str]:
    """Return the processes of this machine whose command line contains a mark."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = Path("/proc", name, "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            continue
        if mark in line and "pytest" not in line:
            found.append(line)
    return found


@every_level
def test_a_program_says_how_it_ended_and_behind_which_walls(level: str, work: Path) -> None:
    sandbox = Sandbox(level, folder=work)  # type: ignore[arg-type]
    done = sandbox.run(["/bin/sh", "-c", "pwd; cat; echo error >&2; exit 3"], text="input\n")
    assert (done.code, done.output) == (3, f"{work}\ninput\nerror\n")
    assert done.text.startswith(f"[exit code 3; sandbox: {sandbox.walls}]\n")
    assert level in sandbox.walls or level == "plain"


@every_level
def test_the_environment_has_nothing_of_this_process(level: str, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-verysecret")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    output = sh(Sandbox(level, folder=work, environment={"GIVEN": "yes"}), "env; ls -a $HOME; echo $TMPDIR")  # type: ignore[arg-type]
    assert "verysecret" not in output and "/somewhere" not in output and os.path.expanduser("~") + "\n" not in output
    names = {line.partition("=")[0] for line in output.splitlines() if "=" in line}
    assert names <= {"HOME", "TMPDIR", "PATH", "LANG", "LC_ALL", "PWD", "OLDPWD", "SHLVL", "_", "GIVEN"}


@every_level
def test_no_open_file_of_this_process_reaches_a_program(level: str, work: Path) -> None:
    with (work.parent / "secret.txt").open() as file:
        os.set_inheritable(file.fileno(), True)
        count = sh(
            Sandbox(level, folder=work),
            'for n in 3 4 5 6 7 8 9 10 11 12 13 14 15; do (: <&$n) 2>/dev/null && echo "open $n"; done',
        )  # type: ignore[arg-type]
    assert "open " not in count.partition("]\n")[2]


@every_level
def test_a_program_runs_for_a_process_with_many_open_files(level: str, work: Path) -> None:
    with contextlib.ExitStack() as files:
        for _ in range(1100):
            files.enter_context((work.parent / "secret.txt").open())
        finished = Sandbox(level, folder=work).run(["/bin/sh", "-c", "echo hi"])  # type: ignore[arg-type]
    assert (finished.code, finished.output) == (0, "hi\n")


@pytest.mark.parametrize("level", HOLDING)
@pytest.mark.parametrize(
    "line",
    [
        "cat ../secret.txt",
        "cat {base}/secret.txt",
        "cat link",
        "ln -s {base}/secret.txt new && cat new",
        "ln {base}/secret.txt new && cat new",
        "cat /etc/shadow /etc/passwd ~root/.bashrc",
        "cat /proc/1/environ",
        "cd / && cat {base}/secret.txt",
        "cp {base}/secret.txt copy && cat copy",
        "python3 -c \"print(open('{base}/secret.txt').read())\"",
        "ls {base} | grep secret",
        "echo x > {base}/secret.txt; cat {base}/secret.txt",
        "echo x >> {base}/read/data.txt",
        "rm -f {base}/read/data.txt",
        "mv {base}/read {base}/moved",
        "touch {base}/new.txt",
        "touch /usr/new-file",
        "mkdir {base}/folder",
    ],
)
def test_walls_that_hold_the_files_hold_them(level: str, work: Path, line: str) -> None:
    base = work.parent
    sandbox = Sandbox(level, folder=work, read=[base / "read"])  # type: ignore[arg-type]
    output = sh(sandbox, line.format(base=base))
    assert (
        "the secret" not in output
        and "root:" not in output
        and "secret.txt\n" not in output.partition("]\n")[2].replace(str(base), "")
    )
    assert (base / "secret.txt").read_text() == "the secret\n" and (base / "read" / "data.txt").read_text() == "data\n"
    assert sorted(os.listdir(base)) == ["read", "secret.txt", "work", "write"]
    assert not os.path.exists("/usr/new-file")


@pytest.mark.parametrize("level", HOLDING)
def test_a_program_reads_and_writes_where_it_may(level: str, work: Path) -> None:
    base = work.parent
    sandbox = Sandbox(level, folder=work, read=[base / "read"], write=[base / "write"])  # type: ignore[arg-type]
    output = sh(
        sandbox, f"cat {base}/read/data.txt > copy && cp copy {base}/write/ && echo t > $TMPDIR/t && cat copy $TMPDIR/t"
    )
    assert output.endswith("]\ndata\nt\n") and (base / "write" / "copy").read_text() == "data\n"


@pytest.mark.parametrize("level", HOLDING)
def test_a_link_in_place_of_a_folder_within_the_working_folder_opens_nothing(level: str, work: Path) -> None:
    (work / "sub").mkdir()
    sandbox = Sandbox(level, folder=work, read=[work / "sub"], write=[work / "sub"])  # type: ignore[arg-type]
    output = sh(sandbox, f"rmdir sub; ln -s {work.parent} sub")
    output += sh(sandbox, f"cat sub/secret.txt {work.parent}/secret.txt; touch {work.parent}/new")
    assert "the secret" not in output and not (work.parent / "new").exists()


@pytest.mark.parametrize("level", HOLDING)
def test_without_net_no_server_of_this_machine_is_reached(level: str, work: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        program = (
            f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 2); print('reached')"
        )
        (work / "reach.py").write_text(program)
        assert "reached\n" not in Sandbox(level, folder=work).run([sys.executable, "reach.py"]).output  # type: ignore[arg-type]
        with pytest.raises(TimeoutError):
            server.accept()
        assert "reached\n" in Sandbox(level, folder=work, net=True).run([sys.executable, "reach.py"]).output  # type: ignore[arg-type]


ENDLESS = {
    "sleeps": "sleep 987.{mark}",
    "ignores": "trap '' TERM INT HUP; while true; do sleep 987.{mark}; done",
    "forks": "for n in 1 2 3 4 5; do sleep 987.{mark} & done; wait",
    "daemonises": "setsid sh -c 'setsid sleep 987.{mark} & sleep 987.{mark}' >/dev/null 2>&1 < /dev/null & sleep 987.{mark}",
    "closes its output": "exec >/dev/null 2>&1 </dev/null; sleep 987.{mark}",
    "prints": "while true; do echo 987.{mark}; sleep 0.1; done",
    "stops itself": "kill -STOP $$; sleep 987.{mark}",
}


@every_level
@pytest.mark.parametrize("line", ENDLESS.values(), ids=ENDLESS)
def test_a_program_that_does_not_end_is_ended_with_all_that_it_started(level: str, work: Path, line: str) -> None:
    mark = f"{time.time_ns()}"
    sandbox = Sandbox(level, folder=work, seconds=1)  # type: ignore[arg-type]
    start = time.monotonic()
    done = sandbox.run(["/bin/sh", "-c", line.format(mark=mark)])
    assert done.ended == "ended after 1 s" and done.code is None
    assert time.monotonic() - start < 15
    assert running(mark) == []


@every_level
def test_what_a_program_leaves_behind_is_ended_too(level: str, work: Path) -> None:
    mark = f"{time.time_ns()}"
    left = f"(setsid sleep 987.{mark} &) ; (nohup sleep 987.{mark} >/dev/null 2>&1 &) ; sleep 987.{mark} & sleep 0.2; echo done"
    done = Sandbox(level, folder=work).run(["/bin/sh", "-c", left])  # type: ignore[arg-type]
    assert (done.code, done.output.splitlines()[-1]) == (0, "done")
    assert running(mark) == []


@every_level
def test_a_program_is_ended_from_another_thread_and_one_that_was_ended_does_not_start(level: str, work: Path) -> None:
    mark = f"{time.time_ns()}"
    program = Program(Sandbox(level, folder=work), ["/bin/sh", "-c", f"touch begun; sleep 987.{mark}"])  # type: ignore[arg-type]
    timer = threading.Thread(target=lambda: (wait_for(lambda: (work / "begun").exists()), program.end()))
    timer.start()
    done = program.run()
    timer.join()
    assert (done.code, done.ended, running(mark)) == (None, "ended from outside", [])
    program = Program(Sandbox(level, folder=work), ["/bin/sh", "-c", "touch again"])  # type: ignore[arg-type]
    program.end()
    with pytest.raises(ToolError, match="before it was started"):
        program.run()
    assert not (work / "again").exists()


def wait_for(is_so: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not is_so() and time.monotonic() < end:
        time.sleep(0.01)


@pytest.mark.parametrize("level", WALLS)
def test_programs_end_with_this_process(level: str, work: Path) -> None:
    mark = f"{time.time_ns()}"
    program = f"""
from agentkit.sandbox import Sandbox
Sandbox({level!r}, folder={str(work)!r}).run(["/bin/sh", "-c", "touch begun; setsid sleep 987.{mark}"])
"""
    parent = subprocess.Popen([sys.executable, "-c", program])
    wait_for(lambda: (work / "begun").exists())
    parent.kill()
    parent.wait()
    wait_for(lambda: not running(mark))
    assert running(mark) == []


@every_level
def test_limits_hold(level: str, work: Path) -> None:
    sandbox = Sandbox(level, folder=work, cpu_seconds=1, memory=600_000_000, file_size=1_000_000)  # type: ignore[arg-type]
    done = sandbox.run(["/bin/sh", "-c", "while true; do :; done"])
    assert done.code not in (0, None)
    assert "MemoryError" in sandbox.run([sys.executable, "-c", "b'x' * 10**10"]).output
    sh(sandbox, "head -c 5000000 /dev/zero > large")
    assert (work / "large").stat().st_size <= 1_000_000


@every_level
def test_output_is_cut_in_the_middle_and_a_flood_is_ended(level: str, work: Path) -> None:
    sandbox = Sandbox(level, folder=work)  # type: ignore[arg-type]
    done = sandbox.run(["/bin/sh", "-c", "echo first; head -c 100000 /dev/zero | tr '\\0' x; echo; echo last"])
    assert done.output.startswith("first\n") and done.output.endswith("x\nlast\n")
    assert "bytes of the output are not shown]" in done.output and len(done.output) < 31_000
    done = sandbox.run(["/bin/sh", "-c", "trap '' TERM PIPE; yes; yes"])
    assert done.ended == f"ended because it printed more than {MAX_OUTPUT:,} bytes"
    assert "�" in sandbox.run(["/bin/sh", "-c", "printf '\\377\\376'"]).output


@every_level
def test_a_program_that_cannot_be_started_is_an_error(level: str, work: Path) -> None:
    sandbox = Sandbox(level, folder=work)  # type: ignore[arg-type]
    if level != "bubblewrap":  # it starts, and fails itself
        with pytest.raises(ToolError, match="cannot be started"):
            sandbox.run(["/usr/bin/no-such-program"])
    for command in ([], ["ls"], ["./ls"], ["/bin/ls", "\0"]):
        with pytest.raises(ToolError, match="absolute path"):
            sandbox.run(command)


def test_no_handle_and_no_folder_stays(work: Path) -> None:
    sandbox = Sandbox(folder=work, seconds=1)
    sandbox.run(["/bin/sh", "-c", "echo"])
    count = len(os.listdir("/dev/fd"))
    homes = [sh(sandbox, "echo $HOME; touch $HOME/x").splitlines()[-1] for _ in range(3)]
    sandbox.run(["/bin/sh", "-c", "sleep 5"])
    assert len(os.listdir("/dev/fd")) == count
    assert not any(os.path.exists(home) for home in homes)


def test_strict_takes_only_walls_that_hold_what_was_asked(work: Path) -> None:
    strongest = WALLS[0]
    if HOLDS[strongest] >= {"files", "network"}:
        assert Sandbox("strict", folder=work).level == strongest
    else:
        with pytest.raises(UsageError, match=r"do not hold the .*network"):
            Sandbox("strict", folder=work)
    if "files" in HOLDS[strongest]:
        assert Sandbox("strict", folder=work, net=True).level == strongest


def test_walls_that_are_not_there_and_folders_that_are_not_there_are_refused(work: Path) -> None:
    with pytest.raises(UsageError, match="one of auto, strict"):
        Sandbox("jail", folder=work)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="there is no folder"):
        Sandbox(folder=work / "missing")
    for level in set(HOLDS) - set(WALLS):
        with pytest.raises(UsageError, match=f"there is no {level} on this system"):
            Sandbox(level, folder=work)  # type: ignore[arg-type]
    assert repr(Sandbox("plain", folder=work)) == f"<Sandbox none, only limits: files and the network are open; {work}>"


def test_a_secret_that_is_passed_on_to_programs_is_masked_in_what_they_print(work: Path) -> None:
    from agentkit.core.secrets import mask

    sandbox = Sandbox(folder=work, environment={"SHOP_TOKEN": "plain-looking-zq81kk2", "CITY": "Rapperswil-Jona"})
    output = sh(sandbox, "echo it is $SHOP_TOKEN in $CITY")
    assert "zq81kk2" in output and "zq81kk2" not in mask(output) and "Rapperswil-Jona" in mask(output)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux shows the words of commands as files")
def test_no_other_user_sees_what_is_passed_on_to_a_program(work: Path) -> None:
    program = Program(Sandbox(folder=work, environment={"GIVEN": "seen-by-nobody-else"}), ["/bin/sleep", "60"])
    thread = threading.Thread(target=program.run)
    thread.start()
    try:
        until = time.monotonic() + 30
        while not (shown := commands_of_children()) and time.monotonic() < until:
            time.sleep(0.01)
        assert "launch.py" in shown and "seen-by-nobody-else" not in shown
    finally:
        program.end()
        thread.join()


def commands_of_children() -> str:
    """Return the words of the commands of the processes that this one has started, as every user can read them."""
    found = []
    for process in subprocess.run(["ps", "-o", "pid=", "--ppid", str(os.getpid())], capture_output=True).stdout.split():
        path = Path("/proc", process.decode(), "cmdline")
        found.append(path.read_text().replace("\0", " ") if path.exists() else "")
    return " ".join(command for command in found if "launch.py" in command)
