"""Context files: AGENTS.md and others are read when a run starts, and are part of its recording."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import agentkit
from agentkit import Agent
from agentkit.agent.context import MAX_CHARACTERS, read, section_of
from agentkit.cli import app
from agentkit.errors import Unknown, UsageError
from agentkit.journal.check import Checker
from agentkit.models import Scripted

NOTES = """\
Be brief.

# Build & test

Run make.

## Only the fast tests

    # this is code, not a heading
    make check

```sh
# neither is this
```

# Style

Plain English.
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the root of a project with an AGENTS.md, in whose folder src/app the test runs."""
    root = tmp_path / "project"
    (root / "src" / "app").mkdir(parents=True)
    (root / ".git").mkdir()
    (root / "AGENTS.md").write_text(NOTES)
    (tmp_path / "AGENTS.md").write_text("not of this project")
    monkeypatch.chdir(root / "src" / "app")
    return root


def told(agent: Agent) -> list[str]:
    """Return the system messages that the model of a run is sent."""
    run = agent.start("q", paused=True)
    return [message.text for message in run.pending[0].step.chat if message.role == "system"]  # type: ignore[union-attr]


def test_agents_md_is_read_from_the_root_of_the_project_down_to_the_working_folder(project: Path) -> None:
    (project / "src" / "app" / "AGENTS.md").write_text("Be kind.")
    files = read(True)
    assert [(file.name, file.text.partition("\n")[0]) for file in files] == [
        ("../../AGENTS.md", "Be brief."),
        ("AGENTS.md", "Be kind."),
    ]


def test_without_a_project_only_the_working_folder_is_looked_into(tmp_path: Path) -> None:
    (tmp_path / "AGENTS.md").write_text("outer")
    (tmp_path / "inner").mkdir()
    with pytest.raises(UsageError, match=r"there is no context file 'AGENTS.md' in .*inner"):
        read(True, tmp_path / "inner")
    assert [file.text for file in read(True, tmp_path)] == ["outer"]


@pytest.mark.parametrize("title", ["Build & test", "build & TEST", "build-test"])
def test_a_section_is_taken_with_its_subsections_and_code_has_no_headings(project: Path, title: str) -> None:
    (file,) = read(f"AGENTS.md#{title}")
    assert file.text.startswith("# Build & test\n") and file.text.endswith("# neither is this\n```")
    assert file.section == title


def test_a_subsection_ends_where_its_section_does() -> None:
    assert section_of("# A\n## B\nb\n# C\nc", "B") == "## B\nb"
    assert section_of("Title\n=====\ntext\n\nOther\n-----\n", "other") == "Other\n-----"
    assert section_of("# A", "B") is None


def test_an_unknown_section_is_refused_with_the_nearest_one(project: Path) -> None:
    with pytest.raises(Unknown, match=r"Style"):
        read("AGENTS.md#Stile")


def test_the_model_is_told_what_a_file_says_and_where_it_is_from(project: Path) -> None:
    agent = Agent(Scripted(["done"]), instructions="Answer.", context=["AGENTS.md#Style"], journal="memory")
    first, notes = told(agent)
    assert first == "Answer." and "from the file ../../AGENTS.md, section 'Style':\n\n# Style" in notes
    assert told(Agent(Scripted(["done"]), context=False, journal="memory")) == []


def test_what_was_read_is_shown_in_the_trace(project: Path) -> None:
    run = Agent(Scripted(["done"]), context="AGENTS.md#Style", journal="memory").run("q").run
    assert "Context      ../../AGENTS.md#Style, 23 characters" in repr(run)
    assert run.task["context"][0]["digest"] == read("AGENTS.md#Style")[0].record["digest"]


def test_a_run_that_is_resumed_replayed_or_forked_reads_nothing_again(project: Path) -> None:
    agent = Agent(Scripted(["done", "done"]), context=True)
    run = agent.start("q", paused=True)
    run.close()
    (project / "AGENTS.md").unlink()
    resumed = agent.resume(run.id)
    assert "Be brief." in resumed.pending[0].step.chat[0].text  # type: ignore[union-attr]
    assert resumed.drive().answer == "done"
    assert "Context      ../../AGENTS.md" in repr(agentkit.look(run.id))
    assert "Be brief." in resumed.fork(resumed.entries[0]).pending[0].step.chat[0].text  # type: ignore[union-attr]
    with pytest.raises(UsageError, match="a fork cannot change context"):
        resumed.fork(1, context="x.md")
    with pytest.raises(UsageError, match="there is no context file"):
        agent.start("q")


def test_a_secret_in_a_file_is_masked(project: Path) -> None:
    (project / "AGENTS.md").write_text("Use the key sk-proj-" + "a1B2" * 12)
    (notes,) = told(Agent(Scripted(["done"]), context=True, journal="memory"))
    assert "a1B2" not in notes


def _huge(file: Path) -> None:
    with open(file, "wb") as opened:
        opened.truncate(50 << 20)


def _link_out(file: Path) -> None:
    secret = file.parents[1] / "secret.txt"
    secret.write_text("secret")
    file.symlink_to(secret)


def _folder_link_out(file: Path) -> None:
    file.symlink_to("loop-a")
    file.with_name("loop-a").symlink_to("AGENTS.md")


BROKEN: list[tuple[Any, str]] = [
    (_huge, r"has 50\.0 MB, and a context file has at most 1 MB"),
    (lambda file: file.write_bytes(b"\x7fELF\0\0\1"), "is not a text in UTF-8: it has bytes"),
    (lambda file: file.write_bytes(b"caf\xe9"), "is not a text in UTF-8"),
    (lambda file: file.mkdir(), "AGENTS.md is a folder"),
    (lambda file: os.mkfifo(file), "is not a file"),
    (lambda file: file.symlink_to("/dev/zero"), "leads to /dev/zero, outside of"),
    (lambda file: file.symlink_to("nowhere"), "cannot be read"),
    (_link_out, r"leads to .*secret\.txt, outside of .*project"),
    (_folder_link_out, "cannot be read"),
    (
        lambda file: file.write_text("# Long\n" + "x" * MAX_CHARACTERS),
        r"40,007 characters .* 'AGENTS.md#Testing' \(it has: Long\)",
    ),
]


@pytest.mark.parametrize(("make", "message"), BROKEN, ids=range(len(BROKEN)))
def test_a_file_that_cannot_be_used_is_a_clear_error_before_the_run_starts(
    project: Path, make: Any, message: str
) -> None:
    (project / "AGENTS.md").unlink()
    make(project / "AGENTS.md")
    with pytest.raises(UsageError, match=message):
        Agent(Scripted(["done"]), context=True).run("q")
    assert agentkit.runs() == []


def test_a_link_within_the_project_is_followed(project: Path) -> None:
    (project / "CLAUDE.md").symlink_to("AGENTS.md")
    assert read("CLAUDE.md")[0].text.startswith("Be brief.")


def test_a_file_can_be_named_by_its_path(project: Path) -> None:
    (project / "docs").mkdir()
    (project / "docs" / "style.md").write_text("# Words\nshort")
    assert read([Path("../../docs/style.md"), "../../docs/style.md#words"])[1].text == "# Words\nshort"
    with pytest.raises(UsageError, match=r"there is no context file 'docs/none\.md' at"):
        read("docs/none.md")
    with pytest.raises(UsageError, match="context"):
        Agent(Scripted(["done"]), context=3).run("q")  # type: ignore[arg-type]


def test_a_long_file_may_be_used_by_its_section(project: Path) -> None:
    (project / "AGENTS.md").write_text("# Long\n" + "x\n" * MAX_CHARACTERS + "# Short\nyes")
    assert read("AGENTS.md#short")[0].text == "# Short\nyes"


def test_a_recording_with_a_damaged_context_is_refused(project: Path) -> None:
    run = Agent(Scripted(["done"]), context=True, journal="memory").run("q").run
    run.entries[0].result["context"] = ["AGENTS.md"]
    assert "context" in Checker().problem(run.entries[0])


def test_the_command_line_takes_context_files(project: Path) -> None:
    done = CliRunner().invoke(app, ["run", "hello", "-m", "offline", "--context", "AGENTS.md#Style"])
    assert done.exit_code == 0
    (info,) = agentkit.runs()
    assert "Context      ../../AGENTS.md#Style" in repr(agentkit.look(info.run))
