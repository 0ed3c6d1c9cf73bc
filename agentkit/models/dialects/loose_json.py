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
_CONTROL = re.compile(r"[\x00-\x1f]")
_NUMBER = re.compile(r"[-+.\d][-+.\deE]*\s*\Z")


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
    if text[at : at + 1] == "{":
        return value_at(text, at)
    return Found(None, at, problem=strict(text, at).problem or NO_OBJECT)


def value_at(text: str, at: int = 0) -> Found:
    """Read the JSON object or list that begins exactly at `at`, mended where that takes no guessing."""
    found = strict(text, at)
    if isinstance(found.value, dict | list) or found.problem == TOO_DEEP:
        return found
    if (end := end_of(text, at)) and not _is_deep(text, at, end):
        return Found(_WITH_LINES.decode(text[at:end]), end, "raw line breaks inside a text were accepted")
    if len(text) - at > _MOST_MENDED:
        return found
    plain, end = _plainer(text, at)
    if not end:
        return Found(None, at, problem=CUT_OFF)
    try:
        return Found(json.loads(plain, strict=False), end, "it was read as a Python dict or as loose JSON")
    except (ValueError, RecursionError):
        return _repaired(text[at:end], end) or found._replace(end=end)


def completed(text: str, at: int = 0) -> Found:
    """Read the JSON object or list that begins at `at` and has no end, as far as it goes: the end is made up.

    A text and a number that were begun are kept as they are, a key or a word is left out.
    """
    from pydantic_core import from_json

    if len(text) - at > _MOST_MENDED or _is_deep(text, at, len(text)):
        return Found(None, at, problem=CUT_OFF if len(text) - at > _MOST_MENDED else TOO_DEEP)
    plain, _ = _spelled(text, at)
    for begun in (plain, _NUMBER.sub("", plain)):
        try:
            value = from_json(begun, allow_partial="trailing-strings")
        except (ValueError, TypeError):  # the second: half of a character is no text for pydantic
            continue
        if isinstance(value, dict | list) and not _lacks_a_comma(begun):
            return Found(value, len(text), "its end was missing and was added")
    return Found(None, at, problem=CUT_OFF)


def _lacks_a_comma(begun: str) -> bool:
    """Say whether something else stands where a comma should: pydantic takes that for the end."""
    try:
        _STRICT.raw_decode(begun)
    except json.JSONDecodeError as error:
        return error.msg.startswith("Expecting ',' delimiter") and bool(begun[error.pos :].strip())
    return False


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


def text_at(text: str, at: int = 0) -> str:
    """Read the JSON text that begins at `at`, line breaks in it allowed; empty when it is none."""
    try:
        found = _WITH_LINES.raw_decode(text, at)[0]
    except (ValueError, RecursionError):
        return ""
    return found if isinstance(found, str) else ""


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
    plain, end = _spelled(text, at)
    return (plain, end) if end else ("", 0)


def _spelled(text: str, at: int) -> tuple[str, int]:
    """Spell an object or a list as JSON, to its end, or (end 0) as far as it goes."""
    out: list[str] = []
    depth = 0
    for token in _TOKEN.finditer(text, at):
        kind, word = token.lastgroup, token[0]
        if kind == "endless":
            out.append("" if word == "/*" else '"' + _CONTROL.sub(_escaped, text[token.end() :]))
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
        elif (
            kind == "word"
            and out
            and out[-1].endswith(".")
            and not (out[-1] == "." and len(out) > 1 and out[-2].isdecimal())
        ):
            out[-1] = out[-1][:-1] + "0."  # .25 is 0.25
        out.append(_PYTHON.get(word, word))
        if not depth:
            return "".join(out), token.end()
    return "".join(out), 0


def _escaped(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


def _requote(match: re.Match[str]) -> str:
    return {"\\'": "'", '"': '\\"'}.get(match[0], match[0])


def _repaired(span: str, end: int) -> Found | None:
    """Let a library repair an object or a list; None unless it kept every letter and digit, and added none."""
    if len(span) > _MOST_REPAIRED:
        return None
    import json_repair

    try:
        value = json_repair.loads(span, skip_json_loads=True)
        written = json.dumps(value, ensure_ascii=False)
    except Exception:
        return None
    kept = _LETTERS.findall(span) == _LETTERS.findall(written)
    if not kept or not value or not isinstance(value, dict if span[0] == "{" else list):
        return None
    return Found(value, end, "the JSON was repaired; its letters and digits are as written")
