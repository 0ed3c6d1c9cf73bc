"""Read the text protocol: Thought, Action, Action Input, FINAL_ANSWER.

Rule 1: a marker counts at a line's start only (spaces and emphasis may stand around it).
Rule 2: what follows an invented observation is gone before anything else is read.
Rule 3: in what remains, a final answer comes before an action.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from agentkit.core.messages import Call
from agentkit.engines.parsing import closed
from agentkit.models import finish_reasons
from agentkit.models.dialects import loose_json
from agentkit.models.dialects.base import MOST_REFUSED, SECOND
from agentkit.models.dialects.call_parsing import from_text, refused, without_stray_fence
from agentkit.tools import names

if TYPE_CHECKING:
    from agentkit.tools.tool import Tool

_MARK = re.compile(
    r"""^[ \t]*+(?:[>*_\#`]{1,6}+[ \t]*+)?+
        (?:(?P<final>FINAL_ANSWER|Final[ ]Answer)|(?P<input>Action[ _]Input)|(?P<action>Action)
          |(?P<thought>Thought)|(?P<observation>Observation))
        (?:[ ]?\d{1,3}+)?+[ \t]{0,4}+[*_`]{0,3}+[ \t]{0,4}+[:：](?:[*_`]{1,3}+(?=\s|\Z))?+""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_MOST_INPUTS = 16  # looked into for markers that are no markers; each look may cost the length of the text
INVENTED = "an observation was made up; it and what followed it were cut"


class Reading(NamedTuple):
    """What a text says: calls to perform, or an answer, or neither where it follows no rule."""

    thought: str = ""
    calls: tuple[Call, ...] = ()
    answer: str | None = None
    problems: tuple[str, ...] = ()

    @property
    def readable(self) -> bool:
        return bool(self.calls) or self.answer is not None


class Mark(NamedTuple):
    """A marker: what it announces, where it begins, and where what it announces begins."""

    kind: str
    start: int
    end: int


Pair = tuple[Mark, Mark, int | None]
"""An action, its input, and where that input ends (None: at the end of the text)."""


def before_observation(text: str) -> tuple[str, str]:
    """Cut a text where it makes up an observation; give what was cut, too."""
    answered = False
    for match in _MARK.finditer(text):
        answered = answered or match.lastgroup == "final"
        if match.lastgroup == "observation" and not (
            answered and any(map(str.isdigit, match[0]))
        ):  # an answer may number its own
            return text[: match.start()], text[match.start() :]
    return text, ""


def read(text: str, tools: tuple[Tool, ...], finish: str = "") -> Reading:
    """Read a final answer, or else the first action that has both a name and an input; those after it are refused."""
    marks = _marks(text)
    pairs = _pairs(marks)
    if at := next((mark for mark in marks if mark.kind == "final"), None):
        return _final(text, at, pairs, finish)
    if not pairs:
        return Reading()
    asked, given, end = pairs[0]
    name = _first_line(text[asked.end : given.start])
    if not names.bare(name):
        return Reading()
    call = from_text(name, text[given.end : end], tools, cut_off=end is None and not finish_reasons.is_whole(finish))
    problems = (f"{SECOND} {_named(text, pairs[1:])} was not run",) if pairs[1:] else ()
    later = pairs[1 : MOST_REFUSED + 1]
    others = [from_text(_first_line(text[a.end : b.start]), text[b.end : stop], tools) for a, b, stop in later]
    return Reading(prose(text[: asked.start]), (call, *refused(others)), None, problems)


def _final(text: str, mark: Mark, pairs: list[Pair], finish: str) -> Reading:
    """Take the final answer, up to an action that follows it."""
    after = next((asked.start for asked, _, _ in pairs if asked.start > mark.start), None)
    lead, _, tail = re.split(r"(?i)(final[ _]answer)", text[mark.start : mark.end], maxsplit=1)
    answer = closed(lead, tail, text[mark.end : after].strip())
    if text.count("```", 0, mark.start) % 2:
        answer = without_stray_fence(answer)
    problems = [f"the final answer was given, so an action was not run: {_named(text, pairs)}"] if pairs else []
    problems += finish_reasons.problems(finish)
    first = min([mark.start, *(asked.start for asked, _, _ in pairs[:1])])
    return Reading(prose(text[:first]), (), answer, tuple(problems))


def prose(text: str) -> str:
    """Take the labels and an opened fence out of what a model thought aloud."""
    text = _MARK.sub(lambda match: "" if match.lastgroup == "thought" else match[0], text).strip()
    if text.startswith("```") and text.count("```") % 2:
        text = text.partition("\n")[2].strip()
    return text.removesuffix("Action:").strip()


def _marks(text: str) -> list[Mark]:
    """List the markers of a text, without those inside a JSON input."""
    marks: list[Mark] = []
    inside = tries = 0
    for match in _MARK.finditer(text):
        if match.start() < inside:
            continue
        kind = match.lastgroup or ""
        marks.append(Mark(kind, match.start(), match.end()))
        if kind == "input" and tries < _MOST_INPUTS:
            tries += 1
            inside = _end_of_object(text, match.end())
    return marks


def _end_of_object(text: str, at: int) -> int:
    """Give the end of a JSON object that begins after `at` and some space; 0 when there is none."""
    start = re.compile(r"\s*+(?:```\w*+\s*+)?+").match(text, at).end()  # type: ignore[union-attr]
    return loose_json.end_of(text, start) if text[start : start + 1] == "{" else 0


def _pairs(marks: list[Mark]) -> list[Pair]:
    """Pair each action with the input that follows it, and say where that input ends."""
    steps = [mark for mark in marks if mark.kind != "thought"]
    ends = {mark: after.start for mark, after in pairwise(marks)}
    return [(a, b, ends.get(b)) for a, b in pairwise(steps) if (a.kind, b.kind) == ("action", "input")]


def _named(text: str, pairs: list[Pair]) -> str:
    found = [names.bare(_first_line(text[asked.end : given.start])) for asked, given, _ in pairs]
    return ", ".join(found[:5]) + (f" and {len(found) - 5} more" if len(found) > 5 else "")


def _first_line(text: str) -> str:
    """Give the first line that says something."""
    return next((line.strip() for line in text.splitlines() if line.strip(" \t`")), "")
