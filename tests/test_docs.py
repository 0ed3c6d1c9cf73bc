"""What the README, CONTRIBUTING and docs/ show is true.

Every block of Python runs and prints what it says (`#> ...`), links within the repository lead somewhere, the log is as
shown, and the command lines are understood.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_examples import CodeExample, EvalExample, find_examples
from typer.testing import CliRunner

from agentkit.cli import app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
EXAMPLES = list(find_examples(ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docs"))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.path.name}:{example.start_line}")
def test_an_example_runs_and_prints_what_it_shows(example: CodeExample, eval_example: EvalExample) -> None:
    eval_example.set_config(line_length=132)
    problem = ""
    try:
        eval_example.run_print_check(example)
    except Exception as error:  # on Python 3.11, pytest cannot show the traceback that pytest-examples makes
        problem = f"{type(error).__name__}: {error}"
    if problem:
        pytest.fail(f"{example}: {problem}", pytrace=False)


def test_the_readme_has_an_example() -> None:
    assert any(example.path.name == "README.md" for example in EXAMPLES)


def places(page: Path) -> set[str]:
    """Return the anchors that a code host makes from the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", page.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_a_link_to_another_file_leads_there_on_a_code_host(page: Path) -> None:
    broken = []
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text()):
        path, _, place = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists() or (place and place not in places(target)):
            broken.append(link)
    assert broken == []


def command_lines() -> list[str]:
    """Return the command lines of agentkit in the pages, in indented blocks and between backticks, without pipes."""
    shown = [
        re.split(r"  +#| [|<>] ", line)[0].replace('"$(agentkit runs --json', "ID")
        for page in PAGES
        for line in re.findall(r"(?:^    |`)(agentkit [^`\n]*)", page.read_text(), re.MULTILINE)
    ]
    return sorted(set(shown))


@pytest.mark.parametrize("line", command_lines())
def test_a_command_line_is_understood(line: str) -> None:
    first, *others = shlex.split(line)[1:]
    arguments = ["--help", first, *others] if first.startswith("--") else [first, "--help", *others]
    assert CliRunner().invoke(app, arguments).exit_code == 0


def test_the_log_is_as_shown() -> None:
    page = (ROOT / "docs" / "events.md").read_text()
    shown = re.findall(r"^    ((?:DEBUG|INFO):.*)$", page, re.MULTILINE)
    program = """
import logging
logging.basicConfig(level="DEBUG")
from agentkit import Agent
Agent("offline", ["math"], journal="memory").run("What is 17 * 23?")
"""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert shown and finished.stderr.splitlines() == shown
