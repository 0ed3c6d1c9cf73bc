"""Skills: folders with instructions that a model reads when a task needs them.

A skill is a folder with a file SKILL.md: its name and description in a front matter of YAML, then its instructions in
Markdown (https://agentskills.io/specification). The model is shown the names and descriptions, loads the instructions
of one skill, and reads other files of its folder. Nothing here runs a script; that takes a shell, with what it allows.

Instructions of a skill are followed, so use folders whose files you trust, and that no tool writes into. YAML is read
by PyYAML, which comes with `pip install "jupyter-agentkit[skills]"`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import Any

from agentkit.core.checked_arguments import checked
from agentkit.errors import ToolError, Unknown, UsageError
from agentkit.inert import for_terminal
from agentkit.sandbox.paths import Folder
from agentkit.tools.tool import Tool, tool
from agentkit.tools.toolbox import ToolBox

SKILL_FILE = "SKILL.md"
MAX_NAME = 64
MAX_DESCRIPTION = 1_024
MAX_SKILLS = 100
MAX_BYTES = 500_000
"""The size of the largest file of a skill that is read."""
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Skill:
    """A skill: its name, what it is for, and its instructions."""

    name: str
    description: str
    instructions: str


class Skills(ToolBox):
    """The skills in the folders below a folder: the model loads the instructions of one when it needs them.

    Raises `UsageError` for a skill that cannot be read, naming its file.
    """

    @checked
    def __init__(self, folder: str | os.PathLike[str] = "skills") -> None:
        super().__init__(name="skills")
        self.folder = Folder(folder)
        names = [entry.name for entry in self.folder.entries() if entry.kind == "folder"]
        found = [skill for name in names if (skill := self._skill(name)) is not None]
        if not found:
            raise UsageError(f"no folder in {str(self.folder.path)!r} has a file {SKILL_FILE}")
        if len(found) > MAX_SKILLS:
            raise UsageError(f"there are {len(found)} skills in {str(self.folder.path)!r}, more than {MAX_SKILLS}")
        self.skills = {skill.name: skill for skill in found}

    def _skill(self, name: str) -> Skill | None:
        """Return the skill in a folder; None if it has no file SKILL.md."""
        if SKILL_FILE not in {entry.name for entry in self.folder.entries(name)}:
            return None
        path = f"{name}/{SKILL_FILE}"
        try:
            return _read_skill(self.folder.read(path, limit=MAX_BYTES).decode("utf-8"), name)
        except (UsageError, ToolError, UnicodeDecodeError) as error:
            raise UsageError(f"the skill {path} cannot be read: {error}") from None

    def discover_tools(self) -> list[Tool]:
        """Return the tools; the description of the one that loads a skill lists them."""
        own = self.load_skill
        listed = [f"- {skill.name}: {skill.description}" for skill in self.skills.values()]
        described = "\n".join([own.description, "", "The skills are:", *listed])
        return [
            tool(name=own.name, description=described, effect="pure", artifact=False)(own.function),
            self.read_skill_file,
        ]

    @tool(effect="pure", artifact=False)
    def load_skill(self, name: str) -> str:
        """Return the instructions of a skill. Load it before you do a task that its description fits.

        Args:
            name: The name of the skill.
        """
        skill = self._named(name)
        others = [for_terminal(place.partition("/")[2]) for place in self._files(name)]
        files = [f"[Other files of this skill: {', '.join(others[:100])}]"] if others else []
        return "\n".join([skill.instructions, *files])

    @tool(effect="pure", artifact=False)
    def read_skill_file(self, name: str, path: str) -> str:
        """Read a text file in the folder of a skill.

        Args:
            name: The name of the skill.
            path: The file, relative to the folder of the skill.
        """
        self._named(name)
        try:
            return Folder(self.folder.path / name).read(path, limit=MAX_BYTES).decode("utf-8")
        except UnicodeDecodeError:
            raise ToolError(f"{path!r:.200} is not a text file in UTF-8") from None

    def _named(self, name: str) -> Skill:
        if name not in self.skills:
            raise ToolError(str(Unknown("skill", name[:MAX_NAME], self.skills)))
        return self.skills[name]

    def _files(self, name: str) -> list[str]:
        found = [place for place, _ in self.folder.files(name, limit=0)]
        return [place for place in found if place != f"{name}/{SKILL_FILE}"]


def _read_skill(text: str, folder: str) -> Skill:
    """Return the skill that a file SKILL.md describes. Raises `UsageError` if it does not."""
    lines = text.removeprefix("\ufeff").splitlines()
    if not lines or lines[0].rstrip() != "---" or "---" not in [line.rstrip() for line in lines[1:]]:
        raise UsageError("it does not begin with a front matter: a line ---, its keys, and a line ---")
    end = next(number for number, line in enumerate(lines) if number and line.rstrip() == "---")
    fields = _front_matter("\n".join(lines[1:end]))
    name, description = fields.get("name"), fields.get("description")
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        given = f"{name!r:.100}" if isinstance(name, str) else f"a {type(name).__name__}"  # a list may be endless
        raise UsageError(f"its name must be of a-z, 0-9 and single hyphens, at most {MAX_NAME}, not {given}")
    if name != folder:
        raise UsageError(f"its name is {name!r}, and that of its folder {folder!r}; they must be the same")
    if not isinstance(description, str) or not 0 < len(description.strip()) <= MAX_DESCRIPTION:
        raise UsageError(f"its description must be a text of at most {MAX_DESCRIPTION} characters")
    return Skill(name, " ".join(description.split()), "\n".join(lines[end + 1 :]).strip())


def _front_matter(text: str) -> dict[Any, Any]:
    try:
        import yaml
    except ImportError:
        raise UsageError('skills need PyYAML: pip install "jupyter-agentkit[skills]"') from None
    try:
        fields = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise UsageError(f"its front matter is not YAML: {' '.join(str(error).split())[:300]}") from None
    if not isinstance(fields, dict):
        raise UsageError("its front matter has no keys")
    return fields
