"""What a person reads instead of technical names: lanes, roles and tags in words, and branches by what differs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentkit.core.text import counted, one_line
from agentkit.journal.entries import Entry
from agentkit.trace.line import Tree, lanes_between

_TITLES = {
    "analyze": "Analysis",
    "answer": "Answer",
    "check_completion": "Checked whether the answer is complete",
    "choose": "Choice of an engine",
    "compact": "Summary of earlier messages",
    "critique": "Critique",
    "draft": "Draft",
    "evaluate": "Evaluation",
    "feedback": "Feedback",
    "follow_up": "Follow-up question",
    "guard": "Judged the task or the answer",
    "nudge": "Asked again: the reply was empty",
    "plan": "Plan",
    "propose": "Proposal",
    "reflect": "Lesson",
    "reformat": "Asked again: the reply could not be read",
    "revise": "Revision",
    "self_check": "Checked its own progress",
    "solve": "Solution",
    "structured_thought": "Thought, as data",
    "synthesize": "Synthesis",
    "thought": "",
    "work": "Work on a step",
}
"""The roles of this package's own thoughts; "" stands for a thought without a special role."""

_TAGS = {
    "cost": "at most {} model calls",
    "episode": "episode {}",
    "plan_step": "step {} of the plan",
    "plan_lane": "step {} of the plan",
    "round": "round {}",
    "score": "score {}",
    "node": "node {}",
    "calls": "after {} calls",
    "original": "{} messages",
    "kept": "{} kept",
}
_CONTENTS = {"think": "thought", "act": "observation", "ask": "answer", "conclude": "conclusion"}


def role_title(role: str) -> str:
    """Return the title of a thought with a role; "" if it has none, and the role itself if an engine made it up."""
    return _TITLES.get(role, role)


def lane_text(lane: str, parts: Mapping[str, int]) -> str:
    """Return where a lane is, as in "in parallel, 2 of 3"; "" for the run's own.

    `parts` is how many lanes begin with a path, as far as that is known.
    """
    numbers = []
    for place, number in lanes_between(lane, ""):
        total = parts.get(f"{place}.")
        numbers.append(f"{number + 1} of {total}" if total else str(number + 1))
    return f"in parallel, {' › '.join(numbers)}" if numbers else ""


def tag_texts(tags: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return the tags of a step in words, each with its name and value for a tooltip."""
    return [{"text": _tag_text(name, value), "title": _tag_title(name, value)} for name, value in tags.items()]


def _tag_text(name: str, value: Any) -> str:
    if isinstance(value, dict | list | tuple):
        return name
    if name == "ok" and isinstance(value, bool):
        return "succeeded" if value else "failed"
    if name == "warning":
        return name
    return one_line(_TAGS[name].format(value) if name in _TAGS else f"{name} {value}", 40)


def _tag_title(name: str, value: Any) -> str:
    return f"{name}: {value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)}"


def branch_name(tree: Tree, entry: Entry, here: Entry | None, number: int, siblings: list[int]) -> str:
    """Return what makes a branch different from the current one, as in "observation of step 3 edited".

    `entry` is its first entry that differs, at position `number`, and `here` the current branch's entry there, if any;
    `siblings` are the entries at the place of `entry`.
    """
    if here is None:
        name = f"continues after step {number - 1}" if number > 1 else "continues after the task"
    elif entry.original:
        reason = f" ({one_line(entry.reason, 60)})" if entry.reason else ""
        name = f"{_changed_content(tree, entry)} of step {number} edited{reason}"
    elif here.original and tree.slot(here.id) == entry.id:
        name = f"{_changed_content(tree, here)} of step {number} before the edit"
    elif entry.id in siblings and len(siblings) > 1:
        name = f"attempt {siblings.index(entry.id) + 1} at step {number}"
    else:
        name = f"another step {number}"
    return name if here is None or entry.run == here.run else f"{name}, in another run"


def _changed_content(tree: Tree, edited: Entry) -> str:
    """Return what an edit has changed: of a thought, it may be only the calls."""
    before = tree.entries.get(edited.original)
    if edited.kind == "think" and before is not None and before.result.calls != edited.result.calls:
        return "call" if len(edited.result.calls) == 1 else "calls"
    return _CONTENTS.get(edited.kind, edited.kind)


def steps_text(entries: list[Entry]) -> str:
    """Return the number of steps on a line, without its task."""
    return counted(sum(entry.kind != "begin" for entry in entries), "step")
