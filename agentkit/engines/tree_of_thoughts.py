"""Tree of thoughts. Yao et al. 2023, "… Deliberate Problem Solving with Large Language Models", arXiv:2305.10601."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from agentkit.core.messages import Chat, assistant
from agentkit.core.steps import All, Answer, Conclude, Engine, Part, Think
from agentkit.engines.parsing import after, answered, asked, fill, fitted, said, score

PROMPTS = {
    "propose": """\
Work towards an answer one step at a time.
The steps so far:
{steps}

Give the next step only, in a few sentences. Several others are asked for it as well: take a way of your own.
If this step gives the answer, write it on a last line of the form: ANSWER: the answer""",
    "evaluate": """\
How promising is a line of thought? Judge whether it is right so far and leads to an answer.
Finish with a line of this form, with a number from 0 (hopeless) to 10 (sure to succeed):
Score: 5

What was asked: {request}

The steps so far:
{steps}""",
    "answer": """\
This is the best line of thought that was found:
{steps}

Give the answer now, from what is known so far, on a line of the form: ANSWER: the answer""",
}
MANY = 1_000_000


@dataclass(slots=True)
class Branch:
    """A line of thought: the name of its last node ("2.1" is the first thought after the second), its steps, its score."""

    node: str = ""
    steps: tuple[str, ...] = ()
    score: float = 5.0

    def __str__(self) -> str:
        return "\n".join(f"{number}. {step}" for number, step in enumerate(fitted(self.steps), 1)) or "(none)"


def tree_of_thoughts(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    n_branches: int = 3,
    beam_width: int = 2,
    max_depth: int = 4,
    search: Literal["beam", "dfs"] = "beam",
    min_score: float = 4.0,
    prompts: Mapping[str, str] | None = None,
) -> Engine:
    """Propose several next thoughts at once, score them at once, and go on from the best, until one gives the answer.

    "beam" keeps the `beam_width` best of each level; "dfs" follows the best first and turns back where no thought
    scores `min_score` of 10, or at `max_depth`. Equal scores keep the order of their proposals. Tools are not used.
    """
    say, chat = {**PROMPTS, **(prompts or {})}, Chat.of(task)
    frontier, best, answer = [Branch()], Branch(), ""
    tags: dict[str, Any] = {"cost": cost(n_branches, beam_width, max_depth, search)}
    while frontier:
        at, frontier = (frontier, []) if search == "beam" else (frontier[-1:], frontier[:-1])
        thoughts = yield from propose(chat, at, n_branches, say, tags)
        answer, best = next(
            ((done, branch) for branch in thoughts if (done := concluded(branch.steps[-1]))), ("", best)
        )
        if answer:
            break
        ranked = sorted((yield from evaluate(chat, thoughts, say)), key=lambda branch: -branch.score)
        best = max(ranked[0], best, key=lambda branch: (len(branch.steps), branch.score))
        kept = ranked[:beam_width] if search == "beam" else [branch for branch in ranked if branch.score >= min_score]
        tags = marks(ranked, kept)
        if len(ranked[0].steps) < max_depth:
            frontier += kept if search == "beam" else reversed(kept)
    tags = {**tags, "chosen": ancestors(best.node)}
    if not answer:
        last = yield Think(chat + fill(say["answer"], steps=best), role="answer", tags=tags, choice="none")
        answer = concluded(said(last)) or answered(last) or best.steps[-1] or "No answer was found."
    while more := (yield Conclude(answer, tags=tags)):  # something was injected: answer that first
        chat += (assistant(answer), more)
        answer = answered((yield Think(chat, role="answer", choice="none")))
    return Answer(answer, chat + assistant(answer))


def propose(chat: Chat, at: list[Branch], n: int, say: dict[str, str], tags: dict[str, Any]) -> Part:
    """Ask for the next thoughts of all branches at once."""
    parents = [(branch, f"{branch.node}.{k}".lstrip(".")) for branch in at for k in range(1, n + 1)]
    parts = [
        Think(
            chat + fill(say["propose"], steps=branch),
            (),
            "propose",
            {**tags, "node": node, "parent": branch.node},
            "none",
        )
        for branch, node in parents
    ]
    replies = yield All(tuple(parts), role="propose", tags=tags)
    pairs = zip(parents, replies, strict=True)
    return [Branch(node, (*b.steps, said(reply).strip()), b.score) for (b, node), reply in pairs]


def evaluate(chat: Chat, thoughts: list[Branch], say: dict[str, str]) -> Part:
    """Have all thoughts scored at once; one without a score counts 5 of 10."""
    words = [Chat.of(fill(say["evaluate"], request=asked(chat), steps=branch)) for branch in thoughts]
    tags = [{"node": branch.node, "parent": branch.node.rpartition(".")[0]} for branch in thoughts]
    parts = (Think(word, (), "evaluate", tag, "none", False) for word, tag in zip(words, tags, strict=True))
    replies = yield All(tuple(parts), role="evaluate")
    found = [score(said(reply), 10.0) for reply in replies]
    pairs = zip(thoughts, found, strict=True)
    return [Branch(b.node, b.steps, 5.0 if value is None else value) for b, value in pairs]


def concluded(thought: str) -> str:
    """Give the answer that a thought ends in, if it does."""
    return after("ANSWER", thought) or after("FINAL ANSWER", thought) or ""


def marks(ranked: list[Branch], kept: list[Branch]) -> dict[str, Any]:
    """Say in tags what was scored and what was given up."""
    alive = {branch.node for branch in kept}
    pruned = [branch.node for branch in ranked if branch.node not in alive]
    return {"scores": {branch.node: branch.score for branch in ranked}, "pruned": pruned}


def ancestors(node: str) -> list[str]:
    """Name the nodes on the way to a node, and the node."""
    parts = node.split(".")
    return [".".join(parts[:n]) for n in range(1, len(parts) + 1)]


def cost(n_branches: int = 3, beam_width: int = 2, max_depth: int = 4, search: str = "beam") -> int:
    """Count the model calls of a run that finds no answer on the way: two for each thought, and one for the answer.

    What is above a million is not counted on.
    """
    width, thoughts, level = 1, 0, 0
    while level < max_depth and thoughts < MANY:
        thoughts, level = thoughts + width * n_branches, level + 1
        width = width * n_branches if search == "dfs" else min(beam_width, width * n_branches)
    return 2 * thoughts + 1
