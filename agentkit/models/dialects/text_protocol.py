"""Read the text protocol: Thought, Action, Action Input, FINAL_ANSWER.

Rule 1: a marker counts at the start of a line (spaces and emphasis may surround it). Only in a reply that nothing else
can be read in, FINAL_ANSWER: counts anywhere outside quotes.
Rule 2: an invented observation and all that follows it are cut off before anything else is read.
Rule 3: in what remains, a final answer takes precedence over an action; it ends where another part of a reply begins.
"""

from __future__ import annotations

import re
from bisect import bisect
from dataclasses import replace
from itertools import pairwise, zip_longest
from typing import NamedTuple

from agentkit.core import finish_reasons
from agentkit.core.messages import Reply
from agentkit.core.steps import Tools
from agentkit.engines.parsing import answer_after, before_part, close_emphasis
from agentkit.models.dialects import thinking_tags
from agentkit.models.dialects.one_action_per_turn import EXTRA_ACTIONS, MAX_REFUSED, refused, some_names
from agentkit.models.dialects.reading import Reading, completed_without_calls
from agentkit.tools import loose_json
from agentkit.tools.call_parsing import call_from_text, find_tool, without_stray_fence
from agentkit.tools.name_matching import strip_decoration

_MARKER = re.compile(
    r"""^[ \t]*+(?:[-•+][ \t]++(?!.{0,9}Observation))?+(?:[>*_\#`]{1,6}+[ \t]*+)?+
        (?:(?P<final>FINAL_ANSWER|Final[ ]Answer)|(?P<input>(?:Action|Tool)[ _]Input)|(?P<action>Action|Tool)
          |(?P<thought>Thought)|(?P<observation>Observation))
        (?:[ ]?\d{1,3}+)?+[ \t]{0,4}+[*_`]{0,3}+[ \t]{0,4}+[:：](?:[*_`]{1,3}+(?=\s|\Z))?+""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_FINAL = re.compile(r"(final[ _]answer)", re.IGNORECASE)
_NAME_AND_ARGUMENTS = re.compile(
    r"[\s*`]*+([\w.-]{1,200}+)[*`]*+\s*+([\[({]|(?:Input|Arguments?|Args|Parameters)[ \t]*+:)(.*)",
    re.DOTALL | re.IGNORECASE,
)
_ON_ONE_LINE = re.compile(
    r"""(?:^|(?<=[\s,;|]))[*_`]{0,3}+Action[*_`]{0,3}+[ ]?[:：][ \t*_`]*+(?P<name>[^\n:：]{1,200}?)[\s,;|*_`]++
        Action[ _]Input[*_`]{0,3}+[ ]?[:：][*_`]{0,3}+""",
    re.VERBOSE | re.MULTILINE | re.IGNORECASE,
)
_FENCE = re.compile(r"^[ \t]*+```", re.MULTILINE)
_START_OF_INPUT = re.compile(r"\s*+(?:```\w*+\s*+)?+")
_MAX_INPUTS = (
    16  # JSON inputs that are searched for text that only looks like a marker; each may cost a pass over the text
)


ON_ONE_LINE = "the action was found within a line"
WITHOUT_INPUT = "the arguments were found after the name of the tool"
ANYWHERE = "the final answer was found within a line"


class Marker(NamedTuple):
    """A marker: what it announces, where it begins, and where that which it announces begins."""

    kind: str
    start: int
    end: int


class Action(NamedTuple):
    """An action and its input, and where the input ends (None: at the end of the text)."""

    action: Marker
    input: Marker
    end: int | None

    def name_in(self, text: str) -> str:
        """Return the first line after "Action:" that is not empty."""
        lines = text[self.action.end : self.input.start].splitlines()
        return next((line.strip() for line in lines if line.strip(" \t`")), "")

    def input_in(self, text: str) -> str:
        """Return what follows "Action Input:"."""
        return text[self.input.end : self.end]


def before_observation(text: str) -> tuple[str, str]:
    """Return a text up to the observation that the model made up, and the rest, which is cut off."""
    has_answered = False
    for marker in _MARKER.finditer(text):
        has_answered = has_answered or marker.lastgroup == "final"
        is_numbered = any(map(str.isdigit, marker[0]))  # a final answer may list observations of its own
        if marker.lastgroup == "observation" and not (has_answered and is_numbered):
            return text[: marker.start()], text[marker.start() :]
    return text, ""


def begins_with_marker(text: str) -> bool:
    """Return whether a text begins with a thought, an action or an answer, after blank lines and a fence."""
    return bool(_MARKER.match(_START_OF_INPUT.sub("", text, count=1)))


def read(text: str, tools: Tools, finish: str = "", *, shows_examples: bool = False) -> Reading:
    """Return the final answer, else the first action that has a name and an input; the actions after it are refused.

    `shows_examples`: the model can make real calls, so markers in a fence count only if the text begins with it.
    """
    markers = _markers(text)
    if shows_examples and "```" in text and not text.lstrip().startswith("```"):
        fences = [fence.start() for fence in _FENCE.finditer(text)]
        markers = [marker for marker in markers if not bisect(fences, marker.start) % 2]
    actions = _actions(markers)
    if final := next((marker for marker in markers if marker.kind == "final"), None):
        return _final_answer(text, final, actions, finish)
    if not actions:
        return Reading()
    first, *others = actions
    name = first.name_in(text)
    if not strip_decoration(name):
        return Reading()
    cut_off = first.end is None and not finish_reasons.is_whole(finish)
    call = call_from_text(name, first.input_in(text), tools, cut_off=cut_off)
    problems = (f"{EXTRA_ACTIONS} {_named(text, others)} was not run",) if others else ()
    extra = [call_from_text(other.name_in(text), other.input_in(text), tools) for other in others[:MAX_REFUSED]]
    return Reading(prose(text[: first.action.start]), (call, *refused(extra)), None, problems)


def read_action_on_one_line(text: str, tools: Tools, finish: str = "") -> Reading:
    """Return the first action of a known tool with markers within a line: `Thought: … Action: … Action Input: …`."""
    for found in _ON_ONE_LINE.finditer(text):
        if find_tool(found["name"], tools)[1] is None:
            continue
        following = _MARKER.search(text, found.end())
        end = following.start() if following else None
        cut_off = end is None and not finish_reasons.is_whole(finish)
        call = call_from_text(found["name"], text[found.end() : end], tools, cut_off=cut_off)
        return Reading(prose(text[: found.start()]), (replace(call, coerced=(ON_ONE_LINE, *call.coerced)),))
    return Reading()


def read_action_without_input(text: str, tools: Tools, finish: str = "") -> Reading:
    """Return the first action of a known tool whose arguments follow its name: `Action: search[Oslo]`, as in the paper.

    The arguments are in brackets, or an object, or follow another label than Action Input.
    """
    markers = _markers(text)
    for marker, following in zip_longest(markers, markers[1:]):
        rest = text[marker.end : following.start if following else None]
        written = _NAME_AND_ARGUMENTS.match(rest) if marker.kind == "action" else None
        if not written or find_tool(written[1], tools)[1] is None:
            continue
        arguments, cut_off = written[3], not finish_reasons.is_whole(finish) and following is None
        if closing := {"(": ")", "[": "]"}.get(written[2]):
            cut_off = closing not in arguments
            arguments = arguments.rpartition(closing)[0] or arguments * cut_off
        elif written[2] == "{":
            arguments = f"{{{arguments}"
        call = call_from_text(written[1], arguments, tools, cut_off=cut_off)
        return Reading(prose(text[: marker.start]), (replace(call, coerced=(WITHOUT_INPUT, *call.coerced)),))
    return Reading()


def read_answer_anywhere(text: str, finish: str = "") -> Reading:
    """Return the final answer that follows FINAL_ANSWER: within a line; nothing is read if there is none."""
    answer = answer_after(text, "FINAL_ANSWER", "FINAL ANSWER")
    if not answer:
        return Reading()
    thought = prose(_FINAL.split(text[: text.rindex(answer)])[0])
    return Reading(thought, (), answer, (ANYWHERE, *finish_reasons.problems(finish)))


def read_answer(reply: Reply, dialect: str) -> Reply:
    """Read a reply to a request without tools: the whole text is the answer, or what follows FINAL_ANSWER:."""
    text, thought = thinking_tags.split(reply.text)
    return completed_without_calls(reply, dialect, text, thought, read(text, ()))


def prose(text: str) -> str:
    """Return what a model thought aloud, without the labels and without a fence that is not closed."""
    text = _MARKER.sub(lambda marker: "" if marker.lastgroup == "thought" else marker[0], text).strip()
    if text.startswith("```") and text.count("```") % 2:
        text = text.partition("\n")[2].strip()
    return text.removesuffix("Action:").strip()


def _final_answer(text: str, final: Marker, actions: list[Action], finish: str) -> Reading:
    """Read the final answer, up to another part of a reply."""
    end = next((action.action.start for action in actions if action.action.start > final.start), None)
    lead, _, tail = _FINAL.split(text[final.start : final.end], maxsplit=1)
    answer = before_part(close_emphasis(lead, tail, text[final.end : end].strip()))
    if text.count("```", 0, final.start) % 2:
        answer = without_stray_fence(answer)
    problems = []
    if actions:
        problems.append(f"the final answer was given, so an action was not run: {_named(text, actions)}")
    problems += finish_reasons.problems(finish)
    start = min([final.start, *(action.action.start for action in actions[:1])])
    return Reading(prose(text[:start]), (), answer, tuple(problems))


def _markers(text: str) -> list[Marker]:
    """Return the markers of a text, except those inside a JSON input."""
    markers: list[Marker] = []
    end_of_input = inputs = 0
    for match in _MARKER.finditer(text):
        if match.start() < end_of_input:
            continue
        kind = match.lastgroup or ""
        markers.append(Marker(kind, match.start(), match.end()))
        if kind == "input" and inputs < _MAX_INPUTS:
            inputs += 1
            end_of_input = _end_of_object(text, match.end())
    return markers


def _end_of_object(text: str, at: int) -> int:
    """Return the end of the JSON object that begins at `at`, after spaces and a fence; 0 if there is none."""
    start = _START_OF_INPUT.match(text, at).end()  # type: ignore[union-attr]
    return loose_json.end_of(text, start) if text[start : start + 1] == "{" else 0


def _actions(markers: list[Marker]) -> list[Action]:
    """Return the actions that are followed by an input."""
    steps = [marker for marker in markers if marker.kind != "thought"]
    ends = {marker: after.start for marker, after in pairwise(markers)}
    return [
        Action(marker, after, ends.get(after))
        for marker, after in pairwise(steps)
        if (marker.kind, after.kind) == ("action", "input")
    ]


def _named(text: str, actions: list[Action]) -> str:
    return some_names([strip_decoration(action.name_in(text)) for action in actions])
