"""What engines read out of prose: plans, verdicts, scores, claims, questions; and how they put values into prompts.

Rule 1: a marker counts at a line's start only (spaces, bullets, quotes and emphasis may stand before it) and as a whole
word, so that `UNSATISFACTORY` and `UNVERIFIED:` are never taken for their opposite.
Rule 2: whatever a model writes, these functions give a value or None; they never raise, and their work is linear.
Rule 3: braces in what a user, a model or a tool wrote mean nothing: only the names of a prompt are filled in, once.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from agentkit.core.messages import Chat, Reply, system

_LEAD = r"^[ \t]*+(?:[>*_\#`\-•\[\(\"'][>*_\#`\-•\[\(\"' \t]*+)?+"
_TAIL = r"[ \t]*+[*_`\]]{0,3}+[ \t]*+[:：](?:[*_`\]]{1,3}+(?=\s|\Z))?+[ \t]*+"
_ITEM = re.compile(
    r"^[ \t]*+(?:[>*_\#`][>*_\#` \t]*+)?+(?:step[ \t]+)?+(\d{1,4})[ \t]*+[*_]{0,3}+[.):][*_]{0,3}+[ \t]++(?=\S)(.*)$",
    re.I,
)
_VERDICT = re.compile(
    _LEAD
    + r"(?:(?:final[ \t]+)?verdict"
    + _TAIL
    + r"[*_`]*+)?+(UN|NOT[ \t]+)?SATISFACTORY(?![A-Za-z])(?:[^\n]*(UNSATISFACTORY))?",
    re.I | re.M,
)
_FAILED = re.compile(
    r"\s*+[>*_`\[ ]*+(?:FAILED(?!\w)|[Ff]ailed(?=[*_`\]]*+[ \t]*+[:：]))[*_`\]]*+[ \t]*+[:：.-]?[*_]*+"
)
_NUMBER = r"([-+]?(?:\d++(?:[.,]\d++)?|\.\d++)|nan|[-+]?inf(?:inity)?)(?![\w.]*\d)"
_SCALE = r"(?:[ \t]*(/|out of|%)[ \t]*(\d+)?)?"
_SCORED = re.compile(
    _LEAD
    + r"(?:(?:final|overall)[ \t]+)?+(?:score|rating|grade)\b[^\n:=：]{0,60}[:=：][ \t*_`\[(<~]*+"
    + _NUMBER
    + _SCALE,
    re.I | re.M,
)
_LABELLED = re.compile(
    r"\b(?:score|rating|grade)\b(?:[^\n:=]{0,60}[:=]|[ \t]+(?:is|of)\b)?[ \t*_`]*" + _NUMBER + _SCALE,
    re.I,
)
_FRACTION = re.compile(r"(?<![\w./])" + _NUMBER + r"[ \t]*(/|out[ \t]+of)[ \t]*(\d+)", re.I)
_COLON = re.compile(r"[:=][ \t*_`]*" + _NUMBER + r"[ \t*_`.]*(%)?[ \t]*()$", re.I | re.M)
_BARE = re.compile(
    r"^[ \t]*+(?:-[ \t]++)?+(?:[>*_\#`•\[(][>*_\#`•\[( \t]*+)?+" + _NUMBER + r"[ \t*_`.]*(%)?()", re.I | re.M
)
_MOST = 200_000

ROOM, PART, BEFORE = 40_000, 30_000, 6_000
"""Characters of all values of a prompt together (a request carries 50,000 of one message), of what one value lists, and of a
conversation that a judge is told."""

LAST = 20
"""Messages of a conversation that a judge is told: the last ones."""

CUT = "[Truncated] {count:,} more characters are not shown."


def said(reply: Reply) -> str:
    """Give all that a reply said, as it was written; what a person put in its place counts alike."""
    return (reply.raw or reply.text)[:_MOST]


def answered(reply: Reply) -> str:
    """Give what a reply gives as its answer, and all that it said where it gives none."""
    return (reply.answer or reply.text or reply.raw).strip()


def fill(prompt: str, **values: Any) -> str:
    """Put values where a prompt names them in braces; all other braces stay as they are.

    Values that are too long for one message are cut, so that what the prompt asks for is never what is missing.
    """
    texts = dict(zip(values, fitted([str(value) for value in values.values()], ROOM), strict=True))
    return re.sub(r"\{(\w+)\}", lambda name: texts.get(name[1], name[0]), prompt)


def fitted(texts: Sequence[str], room: int = PART) -> Sequence[str]:
    """Cut the longest of some texts, all to one length, so that together they have no more than about `room` characters."""
    left = room
    for n, length in enumerate(sorted(map(len, texts))):
        each = left // (len(texts) - n)
        if length > each:
            return [
                text if len(text) <= each else f"{text[:each]}\n{CUT.format(count=len(text) - each)}" for text in texts
            ]
        left -= length
    return texts


def question(chat: Chat) -> str:
    """Give the last thing that a user said."""
    return next((node.last.text for node in chat.nodes() if node.last and node.last.role == "user"), "")


def asked(chat: Chat) -> str:
    """Give the question, and below it the instructions and the last messages before it, for whoever does not see the chat."""
    told = [message for message in chat if message.role != "tool"]
    while told and told[-1].role != "user":
        told.pop()
    if all(message.role == "user" for message in told):
        return question(chat)
    lately = [message for n, message in enumerate(told[:-1], -len(told)) if message.role == "system" or n >= -LAST - 1]
    before = fitted([f"{message.role}: {message.text}" for message in lately], BEFORE)
    return "\n".join([f"{question(chat)}\n\nWhat was said before that:", *before])


def led(chat: Chat, text: str) -> Chat:
    """Put a system message behind those that a chat begins with."""
    messages = list(chat)
    at = next((i for i, message in enumerate(messages) if message.role != "system"), len(messages))
    return Chat.of([*messages[:at], system(text), *messages[at:]])


def catalogue(tools: Iterable[Any]) -> str:
    """List tools, one per line, with the names of their arguments."""
    lines = [f"- {tool.name}({', '.join(_fields(tool))}): {tool.description}" for tool in tools]
    return "\n".join(lines) or "(none)"


def after(marker: str, text: str) -> str | None:
    """Give what follows a marker and a colon at a line's start, the last time it stands there; None where it does not."""
    found = list(_mark(marker).finditer(text[:_MOST]))
    return closed(found[-1][1], found[-1][2], text[found[-1].end() :].strip()) if found else None


@functools.cache
def _mark(marker: str) -> re.Pattern[str]:
    return re.compile(f"({_LEAD}){_spelled(marker)}({_TAIL})", re.I | re.M)


def _spelled(marker: str) -> str:
    """Give the pattern of a marker, whose words may be joined in several ways."""
    return re.escape(marker).replace(r"\ ", "[ _-]")


def closed(lead: str, tail: str, text: str) -> str:
    """Take off the emphasis that was opened before a marker, and not closed behind it, where it closes in the text."""
    opened = lead[len(lead.rstrip("*_`")) :]
    if not opened or opened in tail:
        return text
    sign, inside = re.escape(opened), 0
    for found in re.finditer(rf"(?<!\S){sign}(?=\S)|((?:\A|(?<=\S)){sign}(?![\w({sign[-1]}]))", text):
        inside += -1 if found[1] else 1
        if inside < 0:  # more closes than the text has opened
            return (text[: found.start()] + text[found.end() :]).strip()
    return text.removeprefix(opened) if inside else text


def numbered(text: str) -> tuple[str, ...]:
    """Give the items of a numbered list, with the indented lines that belong to each; nothing where there is no list."""
    return tuple(item for _, item in items(text))


def items(text: str) -> tuple[tuple[str, str], ...]:
    """Give the items of a numbered list with their numbers; a list within an item belongs to that item."""
    found: list[tuple[str, str]] = []
    deepest, fenced = 0, False
    for line in text[:_MOST].splitlines():
        fenced ^= line.lstrip().startswith("```")
        item, indent = _ITEM.match(line), _indent(line)
        if item and (not found or indent <= deepest):
            deepest = deepest if found else indent + 2
            found.append((item[1], item[2].strip().strip("*_").strip()))
        elif found and line[:1] in " \t" and line.strip() and not fenced:
            found[-1] = (found[-1][0], f"{found[-1][1]}\n{line.strip()}")
        elif line.strip() and found and not fenced:
            found.append(("", ""))  # prose between: what is indented below it belongs to no item
    return tuple((number, item) for number, item in found if number and item.strip("\n"))


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


def outcome(text: str, interrupted: str = "") -> str:
    """Give the result of one step of a plan; it begins with "FAILED: " where the step failed or did not come to its end."""
    found = _FAILED.match(text)
    if not found and text.strip() and not interrupted:
        return text
    return f"FAILED: {(text[found.end() :] if found else text).strip() or 'it gave no answer'}"


def verdict(text: str) -> bool | None:
    """Read SATISFACTORY or UNSATISFACTORY at a line's start; where both stand, the doubt wins; None where neither does."""
    found = [not (match[1] or match[2]) for match in _VERDICT.finditer(text)]
    return all(found) if found else None


def score(text: str, highest: float) -> float | None:
    """Read a score from 0 to `highest`: "8", "8/10", "Score: 8", "on a 0-10 scale: 8"; None where there is none, or NaN.

    A fraction or a percentage is brought to the scale, and what lies outside of it is clamped. The last line that
    begins with a label counts; else a score that is labelled within a line comes before a fraction, a fraction before what
    follows a colon, and that before a bare number at a line's start.
    """
    lines = [*_SCORED.finditer(text[:_MOST])]
    for pattern in (_LABELLED, _FRACTION, _COLON, _BARE):
        if found := lines[-1] if lines else next(pattern.finditer(text), None):
            value = float(found[1].replace(",", "."))
            if value != value:  # NaN: the model itself does not know
                return None
            if found[2] == "%":
                value *= highest / 100
            elif found[3] and float(found[3]) > 0:
                value *= highest / float(found[3])
            return max(0.0, min(highest, value))
    return None


def until(marker: str, text: str) -> str:
    """Give a text up to where a marker and a colon stand at a line's start."""
    found = _mark(marker).search(text)
    return text[: found.start()] if found else text


def fields(text: str, first: tuple[str, ...], *others: str) -> list[dict[str, str]]:
    """Read blocks of labelled lines, each begun by one of `first`; a value goes on until the next label or an empty line."""
    labels = "|".join(sorted(map(_spelled, (*first, *others)), key=len, reverse=True))
    mark = re.compile(rf"({_LEAD})({labels})(?:[ \t]+\d{{1,3}})?({_TAIL})(.*)$", re.I)
    begin = {label.lower() for label in first}
    blocks: list[dict[str, str]] = []
    label = ""
    for line in text[:_MOST].splitlines():
        if found := mark.match(line):
            label = re.sub("[_-]", " ", found[2].lower())
            if label in begin:
                blocks.append({})
            if blocks and label not in blocks[-1]:
                blocks[-1][label] = closed(found[1], found[3], found[4].strip())
        elif not line.strip():
            label = ""
        elif label and blocks and not line.lstrip().startswith("```"):
            blocks[-1][label] = f"{blocks[-1][label]}\n{line}".strip()
    return blocks


def arguments(tool: Any, text: str) -> dict[str, Any]:
    """Make arguments of a text: the JSON object that it is, else one text for `query`, `q`, `text`, or the sole argument."""
    text = text.strip()
    bare = text.strip("`").removeprefix("json").strip()
    if bare.startswith("{"):
        try:
            data = json.loads(bare)
        except (ValueError, RecursionError):
            data = None
        if isinstance(data, dict):
            return data
    known = _fields(tool) if tool is not None else []
    sole = getattr(tool, "sole_text", None)
    return {next((name for name in ("query", "q", "text") if name in known), sole or "query"): text.strip("`\"'")}


def named(name: str, tools: Iterable[Any]) -> Any:
    """Give the tool of a name as a model writes it, decorated or not; None where there is none."""
    plain = name.strip().strip("*_`\"'[]").partition("(")[0].strip().casefold()
    return next((tool for tool in tools if tool.name.casefold() == plain), None)


def _fields(tool: Any) -> list[str]:
    return list(getattr(tool, "parameters", {}).get("properties", {}))
