"""Read a docstring: what the function does, and what each parameter is (Google, NumPy and Sphinx styles)."""

from __future__ import annotations

import inspect
import re

_SECTION = re.compile(
    r"(args|arguments|parameters|params|keyword args|keyword arguments|other parameters)\s*:?$", re.IGNORECASE
)
_OTHER = re.compile(
    r"(returns?|yields?|raises?|examples?|notes?|see also|references|warnings?|todo)\s*:?$", re.IGNORECASE
)
_RULE = re.compile(r"-{3,}$")
_GOOGLE = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?\s*:\s*(.*)$")
_NUMPY = re.compile(r"\*{0,2}(\w+(?:\s*,\s*\w+)*)\s*(?::.*)?$")
_FIELD = re.compile(r":(\w+)\s*([^:]*):\s*(.*)$")
_PARAM_FIELDS = {"param", "parameter", "arg", "argument", "key", "keyword"}


def read(text: str | None) -> tuple[str, dict[str, str]]:
    """Give the description, and what is said of each parameter by name."""
    lines = inspect.cleandoc(text or "").splitlines()
    said: dict[str, list[str]] = {}
    about: list[str] = []
    at = 0
    while at < len(lines):
        numpy = at + 1 < len(lines) and bool(_RULE.match(lines[at + 1].strip()))
        if _SECTION.match(lines[at]) and (numpy or lines[at].endswith(":")):
            at = _entries(lines, at + 1 + numpy, said, numpy)
        elif _OTHER.match(lines[at]) and (numpy or lines[at].endswith(":")):
            at = _end_of(lines, at + 1 + numpy, numpy)
        elif (found := _FIELD.match(lines[at])) and found[1]:
            at = _field(lines, at, found, said)
        else:
            about.append(lines[at])
            at += 1
    return "\n".join(about).strip(), {name: " ".join(words).strip() for name, words in said.items()}


def _is_heading(lines: list[str], at: int) -> bool:
    line = lines[at]
    named = _SECTION.match(line) or _OTHER.match(line)
    return bool(named) and (line.endswith(":") or (at + 1 < len(lines) and bool(_RULE.match(lines[at + 1].strip()))))


def _end_of(lines: list[str], at: int, numpy: bool) -> int:
    """Find where a section ends: at the next heading or, in Google style, at the next line that is not indented."""
    while at < len(lines) and not _is_heading(lines, at) and (numpy or not lines[at].strip() or lines[at][0] == " "):
        at += 1
    return at


def _entries(lines: list[str], at: int, said: dict[str, list[str]], numpy: bool) -> int:
    """Read the parameters of a section into `said`; give the line after it."""
    end = _end_of(lines, at, numpy)
    body = [line for line in lines[at:end] if line.strip()]
    margin = min((len(line) - len(line.lstrip()) for line in body), default=0)
    words: list[str] = []
    for line in body:
        begins = line[margin] != " "
        if begins and numpy and (found := _NUMPY.match(line[margin:])):
            words = []
            said.update(dict.fromkeys((name.strip() for name in found[1].split(",")), words))
        elif begins and not numpy and (found := _GOOGLE.match(line[margin:])):
            words = said[found[1]] = [found[2]]
        else:
            words.append(line.strip())
    return end


def _field(lines: list[str], at: int, found: re.Match[str], said: dict[str, list[str]]) -> int:
    """Read one `:param name: …` with its indented lines; other fields are passed over."""
    words = [found[3]]
    at += 1
    while at < len(lines) and lines[at].startswith(" "):
        words.append(lines[at].strip())
        at += 1
    name = found[2].split()[-1].lstrip("*") if found[2].split() else ""
    if found[1] in _PARAM_FIELDS and name:
        said[name] = words
    return at
