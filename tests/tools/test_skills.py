"""Skills: their names are in the prompt, their instructions and files are read on demand, and nothing is run."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentkit import Agent, Call, Reply
from agentkit.errors import ToolError, UsageError
from agentkit.models import Scripted
from agentkit.tools.builtin.skills import Skills


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    skill = tmp_path / "skills" / "write-letters"
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text(
        "---\nname: write-letters\ndescription: >-\n  Write letters\n  in the house style.\nlicense: MIT\n---\n# Letters\nBe brief.\n"
    )
    (skill / "style.md").write_text("No adjectives.")
    (skill / "scripts" / "send.py").write_text("raise SystemExit('this must not be run')")
    (skill / "out").symlink_to(tmp_path)
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "skills" / "other").mkdir()
    return tmp_path / "skills"


def test_the_names_and_descriptions_are_in_the_prompt_and_the_rest_is_loaded_on_demand(folder: Path) -> None:
    model = Scripted([Reply("", (Call("load_skill", {"name": "write-letters"}),)), "done"])
    run = Agent(model, [Skills(folder)], journal="memory").run("Write a letter.").run
    prompt = str(model.requests[0])
    assert "- write-letters: Write letters in the house style." in prompt and "Be brief" not in prompt
    text = next(entry.result.text for entry in run.entries if entry.kind == "act")
    assert text == "# Letters\nBe brief.\n[Other files of this skill: scripts/send.py, style.md]"


def test_files_are_read_only_from_the_folder_of_the_skill(folder: Path) -> None:
    box = Skills(folder)
    assert box.read_skill_file("write-letters", "style.md") == "No adjectives."
    assert "must not be run" in box.read_skill_file("write-letters", "scripts/send.py")
    for path in (
        "../../secret.txt",
        "out/secret.txt",
        "../other",
        str(folder.parent / "secret.txt"),
        "/etc/passwd",
        "..",
    ):
        with pytest.raises(ToolError, match="Access denied"):
            box.read_skill_file("write-letters", path)
    for name in ("write-letter", "..", "other", "", "../skills/write-letters"):
        with pytest.raises(ToolError, match="unknown skill"):
            box.read_skill_file(name, "style.md")
        with pytest.raises(ToolError, match="unknown skill"):
            box.load_skill(name)
    assert all(tool.effect == "pure" for tool in box)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("# No front matter", "does not begin with a front matter"),
        ("---\nname: x\n", "does not begin with a front matter"),
        ("---\n- a\n---\n", "has no keys"),
        ("---\nname: [x\n---\n", "is not YAML"),
        ("---\nname: !!python/object/apply:os.system ['touch was-run']\n---\n", "is not YAML"),
        ("---\nname: other\ndescription: d\n---\n", "must be the same"),
        ("---\nname: Write Letters\ndescription: d\n---\n", "must be of a-z"),
        ("---\nname: write-letters\n---\n", "description must be a text"),
        ("---\nname: write-letters\ndescription: " + "x" * 2000 + "\n---\n", "at most 1024"),
        ("x" * 600_000, "has more than"),
    ],
)
def test_a_skill_that_cannot_be_read_is_refused_by_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, error: str
) -> None:
    monkeypatch.chdir(folder)
    (folder / "write-letters" / "SKILL.md").write_text(text)
    with pytest.raises(UsageError, match=r"the skill write-letters/SKILL.md cannot be read") as raised:
        Skills(folder)
    assert error in str(raised.value) and not (folder / "was-run").exists()


def test_a_folder_without_skills_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has a file SKILL.md"):
        Skills(tmp_path)


def test_a_name_that_would_take_for_ever_to_show_is_refused_at_once(folder: Path) -> None:
    lines = ["a0: &a0 [x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30))]
    text = "\n".join(["---", *lines, "name: *a29", "description: d", "---", "Do it."])
    (folder / "write-letters" / "SKILL.md").write_text(text)
    with pytest.raises(UsageError, match=r"its name must be .*, not a list"):
        Skills(folder)
