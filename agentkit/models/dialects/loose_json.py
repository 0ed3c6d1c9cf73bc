"""Find JSON objects in what a model wrote: strictly first, then with what models often get wrong, and never by guessing.

Rule 1: an object without an end was cut off; it is not completed.
Rule 2: what is mended keeps every letter and digit that was written, and is said.
Rule 3: the work grows with the length of the text, and no faster.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

_MOST_MENDED = 100_000
_MOST_REPAIRED = 2_000
_DEEPEST = 100
_MOST_TRIES = 32

CUT_OFF = "cut off in the middle"
NO_OBJECT = "not a JSON object"
TOO_DEEP = "nested too deeply"
_STRICT = json.JSONDecoder()
_WITH_LINES = json.JSONDecoder(strict=False)
_TOKEN = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*+") | (?P<single>'(?:[^'\\]|\\.)*+')
      | (?P<comment>/\*(?:[^*]|\*(?!/))*+\*/ | //[^\n]*+ | \#[^\n]*+) | (?P<endless>["'] | /\*)
      | (?P<open>[{\[]) | (?P<close>[}\]]) | (?P<comma>,) | (?P<key>[^\W\d]\w*+(?=\s*+:)) | (?P<word>\w++)
      | (?P<other>[^"'{}\[\],/\#\w]++ | /)""",
    re.VERBOSE | re.DOTALL,
)
_NESTING = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]]', re.DOTALL)
_PYTHON = {"True": "true", "False": "false", "None": "null"}
_LETTERS = re.compile(r"\w+")


class Found(NamedTuple):
    """A value, where it ends in the text, what was mended to read it, and why it could not be read (value None then)."""

    value: Any
    end: int
    mended: str = ""
    problem: str = ""


def strict(text: str, at: int = 0) -> Found:
    """Read the JSON value that begins exactly at `at`."""
    try:
        found = Found(*_STRICT.raw_decode(text, at))
    except RecursionError:
        return Found(None, at, problem=TOO_DEEP)
    except ValueError as error:
        return Found(None, at, problem=f"no valid JSON: {error}"[:200])
    return Found(None, at, problem=TOO_DEEP) if _is_deep(text, at, found.end) else found


def object_at(text: str, at: int = 0) -> Found:
    """Read the JSON object that begins exactly at `at`, mended where that takes no guessing."""
    found = strict(text, at)
    if isinstance(found.value, dict) or text[at : at + 1] != "{":
        return found if isinstance(found.value, dict) else Found(None, at, problem=found.problem or NO_OBJECT)
    if found.problem == TOO_DEEP:
        return found
    if (end := end_of(text, at)) and not _is_deep(text, at, end):
        return Found(_WITH_LINES.decode(text[at:end]), end, "raw line breaks inside a text were accepted")
    if len(text) - at > _MOST_MENDED:
        return found
    plain, end = _plainer(text, at)
    if not end:
        return Found(None, at, problem=CUT_OFF)
    try:
        return Found(json.loads(plain, strict=False), end, "the arguments were read as a Python dict or as loose JSON")
    except (ValueError, RecursionError):
        return _repaired(text[at:end], end) or found


def objects(text: str) -> list[tuple[int, Found]]:
    """Give the JSON objects of a text with the places where they begin, one after the other, none inside another."""
    found: list[tuple[int, Found]] = []
    at = 0
    for _ in range(_MOST_TRIES):
        at = text.find("{", at)
        if at < 0:
            break
        one = strict(text, at)
        if not isinstance(one.value, dict) and not found:
            one = object_at(text, at)
        if isinstance(one.value, dict):
            found.append((at, one))
            at = one.end
        else:
            at += 1
    return found


def end_of(text: str, at: int) -> int:
    """Give where the JSON object ends that begins at `at`, line breaks in its texts allowed; 0 when it is none."""
    try:
        return _WITH_LINES.raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return 0


def is_cut_off(text: str, at: int = 0) -> bool:
    """Say whether the object that begins at `at` has no end."""
    return len(text) - at <= _MOST_MENDED and not _plainer(text, at)[1]


def _is_deep(text: str, start: int, end: int) -> bool:
    """Say whether a JSON text is nested deeper than anything that is meant."""
    if text.count("{", start, end) + text.count("[", start, end) <= _DEEPEST:
        return False
    depth = 0
    for token in _NESTING.finditer(text, start, end):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
        if depth > _DEEPEST:
            return True
    return False


def _plainer(text: str, at: int) -> tuple[str, int]:
    """Spell a Python dict, comments, bare keys and trailing commas as JSON; give that and the end, 0 when there is none."""
    out: list[str] = []
    depth = 0
    for token in _TOKEN.finditer(text, at):
        kind, word = token.lastgroup, token[0]
        if kind == "endless":
            break
        if kind == "open":
            depth += 1
            if depth > _DEEPEST:
                break
        elif kind == "close":
            depth -= 1
            while out and (out[-1] == "," or out[-1].isspace()):
                out.pop()
        elif kind == "comment":
            continue
        elif kind == "single":
            word = '"' + re.sub(r"\\.|\"", _requote, word[1:-1], flags=re.DOTALL) + '"'
        elif kind == "key":
            word = f'"{word}"'
        out.append(_PYTHON.get(word, word))
        if not depth:
            return "".join(out), token.end()
    return "", 0


def _requote(match: re.Match[str]) -> str:
    return {"\\'": "'", '"': '\\"'}.get(match[0], match[0])


def _repaired(span: str, end: int) -> Found | None:
    """Let a library repair an object; None unless it kept every letter and digit, and added none."""
    if len(span) > _MOST_REPAIRED:
        return None
    import json_repair

    try:
        value = json_repair.loads(span, skip_json_loads=True)
        written = json.dumps(value, ensure_ascii=False)
    except Exception:
        return None
    if not isinstance(value, dict) or not value or _LETTERS.findall(span) != _LETTERS.findall(written):
        return None
    return Found(value, end, "the JSON was repaired; its letters and digits are as written")
