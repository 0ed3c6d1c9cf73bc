"""Functions that read the text of a model (plans, verdicts, scores, claims, questions) and that fill in prompts.

Rule 1: a marker counts at the start of a line (after spaces, bullets, numbers, quotes and emphasis) and as a whole
word, so that `UNSATISFACTORY` and `UNVERIFIED:` are never taken for their opposite. An answer or a label may also
follow a marker within a line, but only if the marker begins no line.
Rule 2: whatever a model writes, these functions return a value or None; they never raise, and take linear time.
Rule 3: braces in the text of a person, a model or a tool mean nothing: only the names in a prompt are filled in, once.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from agentkit.core import finish_reasons
from agentkit.core.messages import Call, Chat, Reply, system
from agentkit.core.steps import Tools
from agentkit.tools import loose_json
from agentkit.tools.call_parsing import call_from_text

_DECORATION = r"(?:[>*_\#`\-•\[\(\"'][>*_\#`\-•\[\(\"' \t]*+)?+"
_LEAD = rf"^[ \t]*+{_DECORATION}(?:\d{{1,3}}[.)][ \t]*+{_DECORATION})?+"
_TAIL = r"[ \t]*+[*_`\]]{0,3}+[ \t]*+[:：](?:[*_`\]]{1,3}+(?=\s|\Z))?+[ \t]*+"
_ITEM = re.compile(
    r"^[ \t]*+(?:[>*_\#`][>*_\#` \t]*+)?+(?:step[ \t]+)?+(\d{1,4})[ \t]*+[*_]{0,3}+[.):][*_]{0,3}+[ \t]++(?=\S)(.*)$",
    re.I,
)
_BULLET = re.compile(r"^[ \t]*+[-*+•–][ \t]++(?=\S)()(.*)$")
_BOLD = re.compile(r"^()((?:\*\*|__)(?=\S)[^\n]*(?:\*\*|__).*)$")
_EMPHASIS = re.compile(r"([*_]{1,3})(?=\S)(.+?)(?<=\S)\1(?!\w)")
_PART = re.compile(
    r"^[ \t]*+(?:[>*_\#`]{1,6}+[ \t]*+)?+(?:Thought|Action(?:[ _]Input)?+|Observation)"
    r"[ \t]{0,4}+[*_`]{0,3}+[ \t]{0,4}+[:：]",
    re.I | re.M,
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
"""The maximum number of characters of all values in a prompt together (a request carries 50,000 characters of a
message), of the texts that one value lists, and of the conversation that a judge is shown."""

LAST = 20
"""How many of the last messages of a conversation a judge is shown."""

CUT = "[Truncated] {count:,} more characters are not shown."


# -- prompts -----------------------------------------------------------------------------------------------------------


def prompts_from(defaults: Mapping[str, str], overrides: Mapping[str, str] | None) -> dict[str, str]:
    """Return an engine's prompts, some of them replaced by those of the caller."""
    return {**defaults, **(overrides or {})}


def fill(prompt: str, **values: Any) -> str:
    """Return a prompt with values in place of the names in braces; all other braces are left alone.

    Values that are too long for one message are cut, so that the instructions of the prompt are never cut off.
    """
    texts = dict(zip(values, shorten([str(value) for value in values.values()], VALUES), strict=True))
    return re.sub(r"\{(\w+)\}", lambda name: texts.get(name[1], name[0]), prompt)


def shorten(texts: Sequence[str], limit: int = LISTED) -> Sequence[str]:
    """Return texts, the longest cut to the same length, so that together they have at most about `limit` characters."""
    left = limit
    for n, length in enumerate(sorted(map(len, texts))):
        share = left // (len(texts) - n)
        if length > share:
            return [
                text if len(text) <= share else f"{text[:share]}\n{CUT.format(count=len(text) - share)}"
                for text in texts
            ]
        left -= length
    return texts


def question_of(chat: Chat) -> str:
    """Return the text of the last user message."""
    return next((node.last.text for node in chat.nodes() if node.last and node.last.role == "user"), "")


def request_of(chat: Chat) -> str:
    """Return the question with the instructions and messages before it, for a model that does not see the chat."""
    messages = [message for message in chat if message.role != "tool"]
    while messages and messages[-1].role != "user":
        messages.pop()
    if all(message.role == "user" for message in messages):
        return question_of(chat)
    numbered = enumerate(messages[:-1], -len(messages))
    recent = [message for n, message in numbered if message.role == "system" or n >= -LAST - 1]
    before = shorten([f"{message.role}: {message.text}" for message in recent], CONTEXT)
    return "\n".join([f"{question_of(chat)}\n\nThe conversation before that:", *before])


def with_instructions(chat: Chat, text: str) -> Chat:
    """Return a chat with another system message after those that it begins with."""
    messages = list(chat)
    at = next((i for i, message in enumerate(messages) if message.role != "system"), len(messages))
    return Chat.of([*messages[:at], system(text), *messages[at:]])


def list_tools(tools: Iterable[Any]) -> str:
    """Return a list of tools, one per line, with the names of their arguments."""
    lines = [f"- {tool.name}({', '.join(_argument_names(tool))}): {tool.description}" for tool in tools]
    return "\n".join(lines) or "(none)"


# -- replies -----------------------------------------------------------------------------------------------------------


def text_of(reply: Reply) -> str:
    """Return the full text of a reply as the model wrote it, or as a person edited it."""
    return (reply.raw or reply.text)[:_MOST]


def answer_of(reply: Reply) -> str:
    """Return the answer in a reply, or its full text if it has no answer."""
    return (reply.answer or reply.text or reply.raw).strip()


def after(marker: str, text: str) -> str | None:
    """Return the text after the last occurrence of a marker and a colon at the start of a line, or None."""
    matches = list(_mark(marker).finditer(text[:_MOST]))
    return close_emphasis(matches[-1][1], matches[-1][2], text[matches[-1].end() :].strip()) if matches else None


def answer_after(text: str, *markers: str) -> str:
    """Return the answer after one of these markers, up to a line that begins another part of a reply; "" if none.

    Only if no line begins with a marker, one within a line counts, as it is written in the prompt and outside quotes.
    """
    answer = next((found for marker in markers if (found := after(marker, text))), "")
    for marker in markers if not answer else ():
        inside = re.compile(rf"(?<![\w\"'`“‘]){_pattern_of(marker)}[*_`]{{0,3}}[ \t]*[:：][*_`]{{0,3}}")
        *_, last = [None, *inside.finditer(text[:_MOST])]
        answer = answer or (text[last.end() :].strip() if last else "")
    return before_part(answer)


def before_part(answer: str) -> str:
    """Return an answer up to a line that begins with Thought, Action or Observation; all of it if that leaves none."""
    part = _PART.search(answer)
    return (answer[: part.start()].strip() if part else "") or answer


def before(marker: str, text: str) -> str:
    """Return the text before the first occurrence of a marker and a colon at the start of a line, or all of it."""
    match = _mark(marker).search(text)
    return text[: match.start()] if match else text


@functools.cache
def _mark(marker: str) -> re.Pattern[str]:
    return re.compile(f"({_LEAD}){_pattern_of(marker)}({_TAIL})", re.I | re.M)


def _pattern_of(marker: str) -> str:
    """Return the pattern of a marker, whose words may be joined by a space, an underscore or a hyphen."""
    return re.escape(marker).replace(r"\ ", "[ _-]")


def close_emphasis(lead: str, tail: str, text: str) -> str:
    """Return a text without the end of an emphasis that began before its marker and did not end right after it."""
    opened = lead[len(lead.rstrip("*_`")) :]
    if not opened or opened in tail:
        return text
    sign, inside = re.escape(opened), 0
    for match in re.finditer(rf"(?<!\S){sign}(?=\S)|((?:\A|(?<=\S)){sign}(?![\w({sign[-1]}]))", text):
        inside += -1 if match[1] else 1
        if inside < 0:  # the text closes more emphasis than it opened
            return (text[: match.start()] + text[match.end() :]).strip()
    return text.removeprefix(opened) if inside else text


TASK = ("task", "description", "step", "title", "text", "name")
"""The keys under which models write what a step of a plan is, in a plan of JSON objects."""

ROWS = ("steps", "plan", "tasks", "claims")
"""The keys under which models put a list."""


def list_of(text: str) -> tuple[tuple[str, Any], ...]:
    """Return the items of the list in a text, with their numbers; empty if there is no list.

    The list may be JSON (objects or texts), numbered or bulleted, or have lines that begin in bold. Items are texts,
    with the indented lines that belong to each, or dicts.
    """
    rows = json_list(text)
    if rows and isinstance(rows[0], dict):
        return tuple((str(row.get("id") or number), row) for number, row in enumerate(rows, 1))
    texts = tuple(("", item.strip()) for item in rows)
    items = _lines_of_list(text, _ITEM) or texts or _lines_of_list(text, _BULLET) or _lines_of_list(text, _BOLD)
    return tuple((number or str(position), item) for position, (number, item) in enumerate(items, 1))


def list_items(text: str) -> tuple[str, ...]:
    """Return the items of the list in a text as texts; empty if there is no list."""
    return tuple(item if isinstance(item, str) else task_of(item) for _, item in list_of(text))


def task_of(row: Mapping[str, Any]) -> str:
    """Return what a JSON object says is to be done, or ""."""
    return next((str(row[name]).strip() for name in TASK if row.get(name)), "")


def json_list(text: str) -> list[Any]:
    """Return the first JSON list in a text, if it contains only objects or only texts; otherwise an empty list."""
    for start in sorted(at for at in (text.find("["), text.find("{")) if at >= 0):
        data = loose_json.value_at(text[:_MOST], start).value
        rows = next((data[key] for key in ROWS if key in data), None) if isinstance(data, dict) else data
        if isinstance(rows, list) and any(all(isinstance(row, kind) and row for row in rows) for kind in (dict, str)):
            return rows
    return []


def _lines_of_list(text: str, kind: re.Pattern[str]) -> tuple[tuple[str, str], ...]:
    """Return the items whose first lines match a pattern; a list within an item belongs to that item."""
    items: list[tuple[str | None, str]] = []
    deepest, fenced = 0, False
    for line in text[:_MOST].splitlines():
        fenced ^= line.lstrip().startswith("```")
        item, indent = None if fenced else kind.match(line), _indent(line)
        if item and (not items or indent <= deepest):
            deepest = deepest if items else indent + 2
            items.append((item[1], _without_emphasis(item[2].strip())))
        elif items and line[:1] in " \t" and line.strip() and not fenced:
            items[-1] = (items[-1][0], f"{items[-1][1]}\n{line.strip()}")
        elif line.strip() and items and not fenced:
            items.append((None, ""))  # prose between items: indented lines below it belong to no item
    return tuple((number, item) for number, item in items if number is not None and item.strip("\n"))


def _without_emphasis(item: str) -> str:
    """Return an item of a list without the emphasis that it begins with, and without an end of emphasis."""
    begun = _EMPHASIS.match(item)
    item = begun[2] + item[begun.end() :] if begun else item
    sign = item[len(item.rstrip("*_")) :]
    return item.removesuffix(sign).strip() if sign and item.count(sign) == 1 else item.lstrip("*_ ").strip()


def _indent(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


def step_result(text: str, interrupted: str = "") -> str:
    """Return the result of one step of a plan; it begins with "FAILED: " if the step failed or did not finish."""
    match = _FAILED.match(text)
    if not match and text.strip() and not interrupted:
        return text
    return f"FAILED: {(text[match.end() :] if match else text).strip() or 'it gave no answer'}"


def verdict_of(text: str) -> bool | None:
    """Return True for SATISFACTORY at the start of a line, False for UNSATISFACTORY or for both, None for neither."""
    verdicts = [not (match[1] or match[2]) for match in _VERDICT.finditer(text)]
    return all(verdicts) if verdicts else None


def score_of(text: str, highest: float) -> float | None:
    """Return the score in a text, from 0 to `highest`: "8", "8/10", "Score: 8", "on a 0-10 scale: 8"; else None.

    A fraction or a percentage is converted to the scale, and a number outside of it is clamped; NaN counts as no score.
    The last line that begins with a label counts; otherwise, in this order, a label within a line, a fraction, a number
    after a colon, and a bare number at the start of a line.
    """
    lines = [*_SCORED.finditer(text[:_MOST])]
    for pattern in (_LABELLED, _FRACTION, _COLON, _BARE):
        if match := lines[-1] if lines else next(pattern.finditer(text), None):
            value = float(match[1].replace(",", "."))
            if value != value:  # NaN: the model itself does not know
                return None
            if match[2] == "%":
                value *= highest / 100
            elif match[3] and float(match[3]) > 0:
                value *= highest / float(match[3])
            return max(0.0, min(highest, value))
    return None


def labelled_blocks(
    text: str, first: tuple[str, ...], *others: str, wanted: tuple[str, ...] = ()
) -> list[dict[str, str]]:
    """Return blocks of labelled lines; one of `first` begins a block, and a value ends at a label or an empty line.

    Only blocks with a value for one of the `wanted` labels count. If there are none, labels within a line are read, and
    then a list of JSON objects that have the labels as keys.
    """
    wanted = wanted or tuple(label.lower() for label in first)
    labels = "|".join(sorted(map(_pattern_of, (*first, *others)), key=len, reverse=True))
    within = rf"(?<=[^\s|,;])[ \t|,;]++(?=[*_`]{{0,3}}(?:{labels})(?:[ \t]+\d{{1,3}})?{_TAIL})"
    found = _blocks(text, first, labels)
    if not _with_any(wanted, found):
        found = _blocks(re.sub(within, "\n", text[:_MOST], flags=re.I), first, labels)
    return _with_any(wanted, found) or _with_any(wanted, _rows(text))


def _with_any(labels: tuple[str, ...], blocks: list[dict[str, str]]) -> list[dict[str, str]]:
    return [block for block in blocks if any(block.get(label) for label in labels)]


def _rows(text: str) -> list[dict[str, str]]:
    """Return the JSON objects of a list, with the names of their fields written like labels."""
    rows = [row for row in json_list(text) if isinstance(row, dict)]
    return [{re.sub("[_-]", " ", str(name).lower()): _as_text(value) for name, value in row.items()} for row in rows]


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _blocks(text: str, first: tuple[str, ...], labels: str) -> list[dict[str, str]]:
    mark = re.compile(rf"({_LEAD})({labels})(?:[ \t]+\d{{1,3}})?({_TAIL})(.*)$", re.I)
    begin = {label.lower() for label in first}
    blocks: list[dict[str, str]] = []
    label = ""
    for line in text[:_MOST].splitlines():
        if match := mark.match(line):
            label = re.sub("[_-]", " ", match[2].lower())
            if label in begin:
                blocks.append({})
            if blocks and label not in blocks[-1]:
                blocks[-1][label] = close_emphasis(match[1], match[3], match[4].strip())
        elif not line.strip():
            label = ""
        elif label and blocks and not line.lstrip().startswith("```"):
            blocks[-1][label] = f"{blocks[-1][label]}\n{line}".strip()
    return blocks


# -- tools -------------------------------------------------------------------------------------------------------------


def call_of(name: str, text: str, tools: Tools, id: str, *, cut_off: bool = False) -> Call:
    """Return the call of a tool with the arguments in a text, which are read as those of any other call are.

    `cut_off`: the end of the text may be missing, so only a complete object is used.
    """
    return replace(call_from_text(name, text[:_MOST], tools, cut_off=cut_off), id=id)


def is_cut_off(reply: Reply) -> bool:
    """Return whether the end of a reply is missing, as far as its host says."""
    return not finish_reasons.is_whole(reply.finish)


def _argument_names(tool: Any) -> list[str]:
    return list(tool.parameters.get("properties", {}))
