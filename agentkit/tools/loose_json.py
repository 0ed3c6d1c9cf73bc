"""Find JSON objects in what a model wrote: strictly at first, then with the usual mistakes of models, never by
guessing.

Rule 1: an object without an end was cut off; it is not completed.
Rule 2: what is mended keeps every letter and digit as written, and is reported.
Rule 3: the work grows linearly with the text.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

CUT_OFF = "cut off in the middle"
NO_OBJECT = "not a JSON object"
TOO_DEEP = "nested too deeply"

_MAX_MENDED = 100_000  # characters
_MAX_REPAIRED = 2_000
_MAX_DEPTH = 100
_MAX_TRIES = 32

_STRICT = json.JSONDecoder()
_WITH_LINE_BREAKS = json.JSONDecoder(strict=False)
_TOKEN = re.compile(
    r"""(?P<text>"(?:[^"\\]|\\.)*+") | (?P<single>'(?:[^'\\]|\\.)*+')
      | (?P<comment>/\*(?:[^*]|\*(?!/))*+\*/ | //[^\n]*+ | \#[^\n]*+) | (?P<endless>["'] | /\*)
      | (?P<open>[{\[]) | (?P<close>[}\]]) | (?P<comma>,) | (?P<key>[^\W\d]\w*+(?=\s*+:)) | (?P<word>\w++)
      | (?P<other>[^"'{}\[\],/\#\w]++ | /)""",
    re.VERBOSE | re.DOTALL,
)
_BRACKET_OR_TEXT = re.compile(r'"(?:[^"\\]|\\.)*+"|[{}\[\]]', re.DOTALL)
_PYTHON_WORDS = {"True": "true", "False": "false", "None": "null"}
_START_OF_OBJECT = re.compile(r"""\{\s*+(?:["']|\w++\s*+:)""")
"""The beginning of an object, and not a brace in prose or code."""

_WORD = re.compile(r"\w+")
_CONTROL = re.compile(r"[\x00-\x1f]")
_NUMBER_AT_END = re.compile(r"[-+.\d][-+.\deE]*\s*\Z")


class Parsed(NamedTuple):
    """A value, its end in the text, what was mended to read it, and the reason if it could not be read (value None)."""

    value: Any
    end: int
    mended: str = ""
    problem: str = ""


def strict(text: str, at: int = 0) -> Parsed:
    """Read the JSON value that begins exactly at `at`."""
    try:
        parsed = Parsed(*_STRICT.raw_decode(text, at))
    except RecursionError:
        return Parsed(None, at, problem=TOO_DEEP)
    except ValueError as error:
        return Parsed(None, at, problem=f"not valid JSON: {error}"[:200])
    return Parsed(None, at, problem=TOO_DEEP) if _is_too_deep(text, at, parsed.end) else parsed


def object_at(text: str, at: int = 0) -> Parsed:
    """Read the JSON object that begins exactly at `at`, mended if that takes no guessing."""
    if text[at : at + 1] == "{":
        return value_at(text, at)
    return Parsed(None, at, problem=strict(text, at).problem or NO_OBJECT)


def value_at(text: str, at: int = 0) -> Parsed:
    """Read the JSON object or list that begins exactly at `at`, mended if that takes no guessing."""
    parsed = strict(text, at)
    if isinstance(parsed.value, dict | list) or parsed.problem == TOO_DEEP:
        return parsed
    if (end := end_of(text, at)) and not _is_too_deep(text, at, end):
        return Parsed(_WITH_LINE_BREAKS.decode(text[at:end]), end, "raw line breaks inside a text were accepted")
    if len(text) - at > _MAX_MENDED:
        return parsed
    normal, end = _normalized(text, at)
    if not end:
        return Parsed(None, at, problem=CUT_OFF)
    try:
        return Parsed(json.loads(normal, strict=False), end, "it was read as a Python dict or as loose JSON")
    except (ValueError, RecursionError):
        return _repaired(text[at:end], end) or parsed._replace(end=end)


def completed(text: str, at: int = 0) -> Parsed:
    """Read the JSON object or list that begins at `at` and has no end, as far as it goes, and make up the end.

    A text or a number that was begun is kept as it is; a key or a word that was begun is left out.
    """
    from pydantic_core import from_json

    if len(text) - at > _MAX_MENDED:
        return Parsed(None, at, problem=CUT_OFF)
    if _is_too_deep(text, at, len(text)):
        return Parsed(None, at, problem=TOO_DEEP)
    normal, _ = _normalized_as_far_as_possible(text, at)
    for begun in (normal, _NUMBER_AT_END.sub("", normal)):
        try:
            value = from_json(begun, allow_partial="trailing-strings")
        except (ValueError, TypeError):  # TypeError: pydantic takes no text with half a character in it
            continue
        if isinstance(value, dict | list) and not _lacks_a_comma(begun):
            return Parsed(value, len(text), "its end was missing and was added")
    return Parsed(None, at, problem=CUT_OFF)


def _lacks_a_comma(begun: str) -> bool:
    """Return whether something else is in the place of a comma, which pydantic takes for the end."""
    try:
        _STRICT.raw_decode(begun)
    except json.JSONDecodeError as error:
        return error.msg.startswith("Expecting ',' delimiter") and bool(begun[error.pos :].strip())
    return False


def objects(text: str) -> list[tuple[int, Parsed]]:
    """Return the JSON objects of a text with their positions, in order, none inside another, not even inside one that
    is broken or was cut off; only the first is mended.
    """
    found: list[tuple[int, Parsed]] = []
    at = 0
    for _ in range(_MAX_TRIES):
        at = text.find("{", at)
        if at < 0:
            break
        parsed = strict(text, at)
        if not isinstance(parsed.value, dict) and not found:
            parsed = object_at(text, at)
        if isinstance(parsed.value, dict):
            found.append((at, parsed))
            at = parsed.end
        elif _START_OF_OBJECT.match(text, at):
            end = _end_of_broken(text, at)
            if not end:
                break
            at = end
        else:
            at += 1
    return found


def _end_of_broken(text: str, at: int) -> int:
    """Return the end of an object that cannot be read, or 0 if it has none."""
    return _normalized(text, at)[1] if len(text) - at <= _MAX_MENDED else 0


def end_of(text: str, at: int) -> int:
    """Return the end of the JSON object that begins at `at`, with line breaks allowed in its texts; 0
    if it has none.
    """
    try:
        return _WITH_LINE_BREAKS.raw_decode(text, at)[1]
    except (ValueError, RecursionError):
        return 0


def text_at(text: str, at: int = 0) -> str:
    """Return the JSON text that begins at `at`, with line breaks allowed; empty if it is not a text."""
    try:
        value = _WITH_LINE_BREAKS.raw_decode(text, at)[0]
    except (ValueError, RecursionError):
        return ""
    return value if isinstance(value, str) else ""


def is_cut_off(text: str, at: int = 0) -> bool:
    """Return whether the object that begins at `at` has no end."""
    return len(text) - at <= _MAX_MENDED and not _normalized(text, at)[1]


def _is_too_deep(text: str, start: int, end: int) -> bool:
    if text.count("{", start, end) + text.count("[", start, end) <= _MAX_DEPTH:
        return False
    depth = 0
    for token in _BRACKET_OR_TEXT.finditer(text, start, end):
        depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token[0], 0)
        if depth > _MAX_DEPTH:
            return True
    return False


def _normalized(text: str, at: int) -> tuple[str, int]:
    """Write a Python dict, comments, bare keys and trailing commas as JSON; return that and its end, 0
    if it has none.
    """
    normal, end = _normalized_as_far_as_possible(text, at)
    return (normal, end) if end else ("", 0)


def _normalized_as_far_as_possible(text: str, at: int) -> tuple[str, int]:
    """Write an object or a list as JSON, up to its end, or (end 0) as far as it goes."""
    out: list[str] = []
    depth = 0
    for token in _TOKEN.finditer(text, at):
        kind, word = token.lastgroup, token[0]
        if kind == "endless":
            out.append("" if word == "/*" else '"' + _CONTROL.sub(_escaped, text[token.end() :]))
            break
        if kind == "open":
            depth += 1
            if depth > _MAX_DEPTH:
                break
        elif kind == "close":
            depth -= 1
            while out and (out[-1] == "," or out[-1].isspace()):
                out.pop()
        elif kind == "comment":
            continue
        elif kind == "single":
            word = '"' + re.sub(r"\\.|\"", _requoted, word[1:-1], flags=re.DOTALL) + '"'
        elif kind == "key":
            word = f'"{word}"'
        elif kind == "word" and out and out[-1].endswith("."):
            is_fraction = out[-1] == "." and len(out) > 1 and out[-2].isdecimal()
            if not is_fraction:
                out[-1] = out[-1][:-1] + "0."  # .25 becomes 0.25
        out.append(_PYTHON_WORDS.get(word, word))
        if not depth:
            return "".join(out), token.end()
    return "".join(out), 0


def _escaped(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


def _requoted(match: re.Match[str]) -> str:
    return {"\\'": "'", '"': '\\"'}.get(match[0], match[0])


def _repaired(span: str, end: int) -> Parsed | None:
    """Let a library repair an object or a list; None unless it kept every letter and digit, and added none."""
    if len(span) > _MAX_REPAIRED:
        return None
    import json_repair

    try:
        value = json_repair.loads(span, skip_json_loads=True)
        written = json.dumps(value, ensure_ascii=False)
    except Exception:
        return None
    adds_a_text = written.count('""') > span.count('""') + span.count("''")  # in the place of a missing value
    is_unchanged = _WORD.findall(span) == _WORD.findall(written) and not adds_a_text
    if not is_unchanged or not value or not isinstance(value, dict if span[0] == "{" else list):
        return None
    return Parsed(value, end, "the JSON was repaired; its letters and digits are as written")
