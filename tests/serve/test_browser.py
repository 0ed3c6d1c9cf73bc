"""`run.view()` where there is no notebook: in a script, and in IPython in a terminal."""

from __future__ import annotations

import os
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from agentkit import Agent
from agentkit.errors import UsageError

pytestmark = pytest.mark.slow

SCRIPT = """
import urllib.request
from agentkit import Agent
from agentkit.models.scripted import Scripted

run = Agent(Scripted(["Hello."]), journal="memory").start("Say hello.", paused=True)
{view}
other = Agent(Scripted(["Hello."]), journal="memory").start("Say hello again.", paused=True)
other.view()
input()
"""
DOCS = Path(__file__).parents[2] / "docs" / "view-in-a-browser.md"
BROWSER = "import pathlib, sys; pathlib.Path({log!r}).open('a').write(sys.argv[1] + chr(10))"


def visited(folder: Path, *command: str, script: str) -> tuple[list[str], list[str], list[str]]:
    """Return the addresses that a program prints, the pages that it opens, and the titles of what is there."""
    browser, log = folder / "browser", folder / "log"
    browser.write_text(f"#!{sys.executable}\n{BROWSER.format(log=str(log))}\n")
    browser.chmod(0o700)
    env = {**os.environ, "AGENTKIT_NONINTERACTIVE": "0", "AGENTKIT_HOME": str(folder / "home")}
    env |= {"BROWSER": f"{browser} %s", "IPYTHONDIR": str(folder / "ipython")}
    (folder / "script.py").write_text(script)
    with subprocess.Popen(
        [sys.executable, *command, str(folder / "script.py")],
        env=env,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as program:
        assert program.stdin is not None and program.stdout is not None
        addresses = [program.stdout.readline().strip() for _ in range(script.count(".view()"))]
        with pytest.raises(subprocess.TimeoutExpired):
            program.wait(1.5)  # a browser takes its time, and the program waits for a person
        titles = []
        for address in addresses:
            with urllib.request.urlopen(address, timeout=30) as answer:
                titles.append(answer.read().decode().partition("<title>")[2].partition("<")[0])
        program.stdin.write("\n")
        program.stdin.close()
        assert program.wait(30) == 0
    return addresses, log.read_text().splitlines(), titles


@pytest.mark.parametrize(
    "command", [(), ("-m", "IPython", "--no-banner", "--simple-prompt")], ids=["python", "ipython"]
)
def test_a_script_opens_the_pages_of_its_runs_in_a_browser(tmp_path: Path, command: tuple[str, ...]) -> None:
    addresses, opened, titles = visited(tmp_path, *command, script=SCRIPT.format(view="run.view()"))
    assert titles == ["Say hello. · agentkit", "Say hello again. · agentkit"]
    assert addresses[0].partition("/runs/")[0] == addresses[1].partition("/runs/")[0]  # one server for both
    assert len(opened) == 2 and all(page.startswith("file://") for page in opened)
    assert not list((tmp_path / "home").glob("page-*"))  # the private file with the token is gone


def test_the_page_of_the_example_in_the_documentation_is_still_there_when_the_browser_asks_for_it(
    tmp_path: Path,
) -> None:
    before, _, example = DOCS.read_text("utf-8").partition("\n    run = Agent(")
    example = example.partition("\n\n")[0].partition(".start(")[2].replace("\n    ", "\n")
    model = "from agentkit import Agent\nfrom agentkit.models.scripted import Scripted\n"
    script = f'{model}run = Agent(Scripted(["Tea."]), journal="memory").start({example}'
    assert before and "run.view()" in script
    _, _, titles = visited(tmp_path, script=script)
    assert titles == ["Order tea. · agentkit"]


def test_nobody_is_shown_a_run_where_nobody_watches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTKIT_NONINTERACTIVE", "1")
    run = Agent("offline", journal="memory").start("Say hello.", paused=True)
    with pytest.raises(UsageError, match=r"AGENTKIT_NONINTERACTIVE is set.*; use run\.entries"):
        run.view()


def test_without_the_extra_the_error_says_what_to_install(tmp_path: Path) -> None:
    script = """
import sys
sys.modules["starlette"] = None
from agentkit import Agent
from agentkit.errors import UsageError
try:
    Agent("offline", journal="memory").start("Say hello.", paused=True).view()
except UsageError as error:
    print(error)
"""
    env = {**os.environ, "AGENTKIT_NONINTERACTIVE": "0"}
    done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=60)
    assert done.stdout.startswith("there is no notebook here to show the run in, and a server needs packages"), done
    assert "pip install 'jupyter-agentkit[serve]'" in done.stdout
