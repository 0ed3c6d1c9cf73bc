"""What engines read from the text of a model (plans, verdicts, scores, claims, questions), and how they fill in prompts.

Rule 1: a marker counts only at the start of a line (after spaces, bullets, quotes and emphasis) and as a whole word, so that
`UNSATISFACTORY` and `UNVERIFIED:` are never taken for their opposite.
Rule 2: whatever a model writes, these functions return a value or None; they never raise, and take linear time.
Rule 3: braces in what a person, a model or a tool wrote mean nothing: only the names in a prompt are filled in, once.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
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

VALUES, LISTED, CONTEXT = 40_000, 30_000, 6_000
"""The most characters of all values in a prompt together (a request carries 50,000 of one message), of the texts that one
value lists, and of the conversation that a judge is shown."""

LAST = 20
"""How many of the last messages of a conversation a judge is shown."""

CUT = "[Truncated] {count:,} more characters are not shown."


# -- prompts -----------------------------------------------------------------------------------------------------------


def prompts_from(own: Mapping[str, str], given: Mapping[str, str] | None) -> dict[str, str]:
    """Return an engine's prompts, with those that were given instead."""
    return {**own, **(given or {})}


def fill(prompt: str, **values: Any) -> str:
    """Fill in the names that a prompt has in braces; all other braces stay as they are.

    Values that are too long for one message are cut, so that what the prompt asks for is never what is missing.
    """
    texts = dict(zip(values, shorten([str(value) for value in values.values()], VALUES), strict=True))
    return re.sub(r"\{(\w+)\}", lambda name: texts.get(name[1], name[0]), prompt)


def shorten(texts: Sequence[str], limit: int = LISTED) -> Sequence[str]:
    """Cut the longest of some texts, all to one length, so that together they have about `limit` characters at most."""
    left = limit
    for n, length in enumerate(sorted(map(len, texts))):
        each = left // (len(texts) - n)
        if length > each:
            return [
                text if len(text) <= each else f"{text[:each]}\n{CUT.format(count=len(text) - each)}" for text in texts
            ]
        left -= length
    return texts


def question_of(chat: Chat) -> str:
    """Return the last thing that a user said."""
    return next((node.last.text for node in chat.nodes() if node.last and node.last.role == "user"), "")


def request_of(chat: Chat) -> str:
    """Return the question, with the instructions and the last messages before it, for somebody who does not see the chat."""
    messages = [message for message in chat if message.role != "tool"]
    while messages and messages[-1].role != "user":
        messages.pop()
    if all(message.role == "user" for message in messages):
        return question_of(chat)
    numbered = enumerate(messages[:-1], -len(messages))
    recent = [message for n, message in numbered if message.role == "system" or n >= -LAST - 1]
    before = shorten([f"{message.role}: {message.text}" for message in recent], CONTEXT)
    return "\n".join([f"{question_of(chat)}\n\nWhat was said before:", *before])


def with_instructions(chat: Chat, text: str) -> Chat:
    """Add a system message after those that a chat begins with."""
    messages = list(chat)
    at = next((i for i, message in enumerate(messages) if message.role != "system"), len(messages))
    return Chat.of([*messages[:at], system(text), *messages[at:]])


def list_tools(tools: Iterable[Any]) -> str:
    """List tools, one per line, with the names of their arguments."""
    lines = [f"- {tool.name}({', '.join(_argument_names(tool))}): {tool.description}" for tool in tools]
    return "\n".join(lines) or "(none)"


# -- replies -----------------------------------------------------------------------------------------------------------


def text_of(reply: Reply) -> str:
    """Return all that a reply says, as it was written; what a person has put in its place counts the same."""
    return (reply.raw or reply.text)[:_MOST]


def answer_of(reply: Reply) -> str:
    """Return the answer that a reply gives, or all that it says if it gives none."""
    return (reply.answer or reply.text or reply.raw).strip()


def after(marker: str, text: str) -> str | None:
    """Return what follows the last occurrence of a marker and a colon at the start of a line; None if there is none."""
    found = list(_mark(marker).finditer(text[:_MOST]))
    return close_emphasis(found[-1][1], found[-1][2], text[found[-1].end() :].strip()) if found else None


def before(marker: str, text: str) -> str:
    """Return a text up to the first occurrence of a marker and a colon at the start of a line."""
    found = _mark(marker).search(text)
    return text[: found.start()] if found else text


@functools.cache
def _mark(marker: str) -> re.Pattern[str]:
    return re.compile(f"({_LEAD}){_spelled(marker)}({_TAIL})", re.I | re.M)


def _spelled(marker: str) -> str:
    """Return the pattern of a marker, whose words may be joined in several ways."""
    return re.escape(marker).replace(r"\ ", "[ _-]")


def close_emphasis(lead: str, tail: str, text: str) -> str:
    """Remove from a text the end of the emphasis that began before its marker and did not end after the marker."""
    opened = lead[len(lead.rstrip("*_`")) :]
    if not opened or opened in tail:
        return text
    sign, inside = re.escape(opened), 0
    for found in re.finditer(rf"(?<!\S){sign}(?=\S)|((?:\A|(?<=\S)){sign}(?![\w({sign[-1]}]))", text):
        inside += -1 if found[1] else 1
        if inside < 0:  # more is closed than the text has opened
            return (text[: found.start()] + text[found.end() :]).strip()
    return text.removeprefix(opened) if inside else text


def numbered_list(text: str) -> tuple[tuple[str, str], ...]:
    """Return the items of a numbered list with their numbers; a list within an item belongs to that item."""
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
            found.append(("", ""))  # prose in between: what is indented below it belongs to no item
    return tuple((number, item) for number, item in found if number and item.strip("\n"))


def numbered_items(text: str) -> tuple[str, ...]:
    """Return the items of a numbered list, with the indented lines that belong to each; nothing if there is no list."""
    return tuple(item for _, item in numbered_list(text))


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


def step_result(text: str, interrupted: str = "") -> str:
    """Return the result of one step of a plan; it begins with "FAILED: " if the step failed or did not get to its end."""
    found = _FAILED.match(text)
    if not found and text.strip() and not interrupted:
        return text
    return f"FAILED: {(text[found.end() :] if found else text).strip() or 'it gave no answer'}"


def verdict_of(text: str) -> bool | None:
    """Read SATISFACTORY or UNSATISFACTORY at the start of a line; if both occur, the doubt wins; None if neither does."""
    found = [not (match[1] or match[2]) for match in _VERDICT.finditer(text)]
    return all(found) if found else None


def score_of(text: str, highest: float) -> float | None:
    """Read a score from 0 to `highest`: "8", "8/10", "Score: 8", "on a 0-10 scale: 8"; None if there is none, or for NaN.

    A fraction or a percentage is converted to the scale, and what lies outside of it is clamped. The last line that begins
    with a label counts; otherwise, in this order, a label within a line, a fraction, a number after a colon, and a bare
    number at the start of a line.
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


def labelled_blocks(text: str, first: tuple[str, ...], *others: str) -> list[dict[str, str]]:
    """Read blocks of labelled lines, each begun by one of `first`; a value ends at the next label or an empty line."""
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
                blocks[-1][label] = close_emphasis(found[1], found[3], found[4].strip())
        elif not line.strip():
            label = ""
        elif label and blocks and not line.lstrip().startswith("```"):
            blocks[-1][label] = f"{blocks[-1][label]}\n{line}".strip()
    return blocks


# -- tools -------------------------------------------------------------------------------------------------------------


def find_tool(name: str, tools: Iterable[Any]) -> Any:
    """Return the tool of a name as a model writes it, decorated or not; None if there is none."""
    plain = name.strip().strip("*_`\"'[]").partition("(")[0].strip().casefold()
    return next((tool for tool in tools if tool.name.casefold() == plain), None)


def arguments_for(tool: Any, text: str) -> dict[str, Any]:
    """Return the arguments that a text gives: its JSON object, else one text for `query`, `q`, `text`, or the only argument."""
    text = text.strip()
    bare = text.strip("`").removeprefix("json").strip()
    if bare.startswith("{"):
        try:
            data = json.loads(bare)
        except (ValueError, RecursionError):
            data = None
        if isinstance(data, dict):
            return data
    known = _argument_names(tool) if tool is not None else []
    sole = getattr(tool, "sole_text", None)
    name = next((name for name in ("query", "q", "text") if name in known), sole or "query")
    return {name: text.strip("`\"'")}


def _argument_names(tool: Any) -> list[str]:
    return list(getattr(tool, "parameters", {}).get("properties", {}))
