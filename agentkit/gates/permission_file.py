"""The permissions of the person: the file `permissions.toml` in the folder of agentkit's own data.

It is read when a run starts or is opened. "Always" in an approval adds a rule at its end; the rest is the person's to
edit. A file with a mistake is refused as a whole, with the line and the nearest word.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from agentkit.config import home
from agentkit.core import outside
from agentkit.core.private_files import write_private
from agentkit.errors import UsageError
from agentkit.gates.permissions import PERSON, Rule, Table
from agentkit.journal.lock import lock_until_closed

HEAD = """\
# Which calls agents may make, on this account. A rule with `deny` counts before all others; otherwise the first rule
# that fits decides. `agentkit permissions` lists the rules, and `agentkit permissions test` tries them.
"""


def path() -> Path:
    """Return the path of the file, which may not exist."""
    return home() / "permissions.toml"


def read(file: Path | None = None) -> Table:
    """Return the table in the file, empty if there is no file. Raises `UsageError`, which names the line."""
    file = file or path()
    try:
        text = outside.read_file(file).decode("utf-8")
    except (FileNotFoundError, NotADirectoryError):
        return Table(PERSON)
    except (OSError, ValueError) as error:
        raise _refused(file, "", str(error)) from None
    return parse(text, file)


def parse(text: str, file: Path) -> Table:
    """Return the table in the text of a file. Raises `UsageError`."""
    import tomllib

    try:
        data = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise _refused(file, "", str(error)) from None
    try:
        return Table.of(data, PERSON)
    except UsageError as error:
        raise _refused(file, f", line {_line_of_mistake(text, str(error))}", str(error)) from None


def add(rule: Rule, file: Path | None = None) -> None:
    """Add a rule before all others, unless it is the first already; the file is replaced as a whole.

    Raises `UsageError` if the file has a mistake, or cannot be written.
    """
    file = file or path()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            lock_until_closed(lock)
            known = read(file)
            if known.rules[:1] != (rule,):
                before = file.read_text(encoding="utf-8") if file.exists() else HEAD
                write_private(file, _with_rule(before, rule, known, file))
        finally:
            os.close(lock)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error}; the rule was not saved") from None


def _with_rule(text: str, rule: Rule, known: Table, file: Path) -> str:
    """Return the text of a file with one more rule before the others, and before the comment above the first one."""
    lines = text.splitlines(keepends=True)
    at = next((number for number, line in enumerate(lines) if line.strip() == "[[rules]]"), len(lines))
    while 0 < at < len(lines) and lines[at - 1].startswith("#"):
        at -= 1
    above, below = "".join(lines[:at]).rstrip(), "".join(lines[at:])
    new = f"{above}\n\n{_toml(rule)}{below and chr(10)}{below}"
    try:
        is_added = parse(new, file) == replace(known, rules=(rule, *known.rules))
    except UsageError:
        is_added = False
    if not is_added:
        raise UsageError(f"no rule can be added to {file} as it is written; write each rule as a [[rules]] table")
    return new


def _toml(rule: Rule) -> str:
    lines = ["[[rules]]"]
    for key, value in rule.to_json().items():
        written = (
            f"{{ {', '.join(f'{_text(name)} = {_text(pattern)}' for name, pattern in value.items())} }}"
            if isinstance(value, Mapping)
            else _text(value)
        )
        lines.append(f"{key} = {written}")
    return "\n".join(lines) + "\n"


def _text(text: str) -> str:
    """Return a text as a basic string of TOML, which is written like one of JSON."""
    return json.dumps(text)


def _refused(file: Path, line: str, problem: str) -> UsageError:
    end = "" if problem.endswith((".", "?")) else "."
    return UsageError(f"{file}{line}: {problem}{end} Nothing in this file is used, and no run starts; correct it")


def _line_of_mistake(text: str, problem: str) -> int:
    """Return the number of the line that brings the mistake: without it and the lines after it, there is none."""
    import tomllib

    lines = text.splitlines()
    for number in range(1, len(lines) + 1):
        try:
            data = tomllib.loads("\n".join(lines[:number]))
        except ValueError:
            continue  # in the middle of a value
        try:
            Table.of(data, PERSON)
        except UsageError as error:
            if str(error) == problem:
                return number
    return len(lines)
