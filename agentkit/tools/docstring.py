"""Read a docstring: what the function does, and what each parameter is (Google, NumPy and Sphinx styles)."""

from __future__ import annotations

import inspect
import re

_PARAMETERS = re.compile(
    r"(args|arguments|parameters|params|keyword args|keyword arguments|other parameters)\s*+:?$", re.IGNORECASE
)
_OTHER_SECTION = re.compile(
    r"(returns?|yields?|raises?|examples?|notes?|see also|references|warnings?|todo)\s*+:?$", re.IGNORECASE
)
_UNDERLINE = re.compile(r"-{3,}$")
_GOOGLE_PARAMETER = re.compile(r"\*{0,2}(\w++)\s*+(?:\([^)]*\))?\s*+:\s*+(.*)$")
_NUMPY_PARAMETER = re.compile(r"\*{0,2}(\w++(?:\s*+,\s*+\w++)*+)\s*+(?::.*)?$")
_SPHINX_FIELD = re.compile(r":(\w++)\s*+([^:]*+):\s*+(.*)$")
_SPHINX_PARAMETERS = {"param", "parameter", "arg", "argument", "key", "keyword"}


def parse(text: str | None) -> tuple[str, dict[str, str]]:
    """Return the description of the function, and the descriptions of its parameters by name."""
    lines = inspect.cleandoc(text or "").splitlines()
    parameters: dict[str, list[str]] = {}
    description: list[str] = []
    at = 0
    while at < len(lines):
        is_numpy = _is_underlined(lines, at)
        if _PARAMETERS.match(lines[at]) and (is_numpy or lines[at].endswith(":")):
            at = _read_section(lines, at + 1 + is_numpy, parameters, is_numpy)
        elif _OTHER_SECTION.match(lines[at]) and (is_numpy or lines[at].endswith(":")):
            at = _end_of_section(lines, at + 1 + is_numpy, is_numpy)
        elif field := _SPHINX_FIELD.match(lines[at]):
            at = _read_field(lines, at, field, parameters)
        else:
            description.append(lines[at])
            at += 1
    return "\n".join(description).strip(), {name: " ".join(parts).strip() for name, parts in parameters.items()}


def _is_underlined(lines: list[str], at: int) -> bool:
    return at + 1 < len(lines) and bool(_UNDERLINE.match(lines[at + 1].strip()))


def _is_heading(lines: list[str], at: int) -> bool:
    is_section = _PARAMETERS.match(lines[at]) or _OTHER_SECTION.match(lines[at])
    return bool(is_section) and (lines[at].endswith(":") or _is_underlined(lines, at))


def _end_of_section(lines: list[str], at: int, is_numpy: bool) -> int:
    """Return the line after a section: the next heading or, in Google style, the next line that is not indented."""
    while at < len(lines) and not _is_heading(lines, at) and (is_numpy or not lines[at].strip() or lines[at][0] == " "):
        at += 1
    return at


def _read_section(lines: list[str], at: int, parameters: dict[str, list[str]], is_numpy: bool) -> int:
    """Add the parameters of a section to `parameters`, and return the line after the section."""
    end = _end_of_section(lines, at, is_numpy)
    body = [line for line in lines[at:end] if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in body), default=0)
    parts: list[str] = []
    for line in body:
        is_entry = line[margin] != " "
        if is_entry and is_numpy and (entry := _NUMPY_PARAMETER.match(line[margin:])):
            parts = []
            parameters.update(dict.fromkeys((name.strip() for name in entry[1].split(",")), parts))
        elif is_entry and not is_numpy and (entry := _GOOGLE_PARAMETER.match(line[margin:])):
            parts = parameters[entry[1]] = [entry[2]]
        else:
            parts.append(line.strip())
    return end


def _read_field(lines: list[str], at: int, field: re.Match[str], parameters: dict[str, list[str]]) -> int:
    """Add a field such as `:param name: …` with its indented lines to `parameters`, and return the line after it.

    Fields that are not about a parameter are skipped.
    """
    parts = [field[3]]
    at += 1
    while at < len(lines) and lines[at].startswith(" "):
        parts.append(lines[at].strip())
        at += 1
    kind, target = field[1], field[2].split()
    if kind in _SPHINX_PARAMETERS and target:
        parameters[target[-1].lstrip("*")] = parts
    return at
