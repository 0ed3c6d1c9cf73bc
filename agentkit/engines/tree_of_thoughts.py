"""Tree of thoughts. Yao et al. 2023, "… Deliberate Problem Solving with Large Language Models", arXiv:2305.10601.

`bfs` and `dfs` are the two algorithms of the paper: both propose the next thoughts, have them scored, and go on from the
best, until a thought gives the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from agentkit.core.messages import Chat, assistant
from agentkit.core.schema import KeysOf
from agentkit.core.steps import All, Answer, Engine, Part, Think
from agentkit.engines.parsing import after, answer_of, fill, prompts_from, request_of, score_of, shorten, text_of

PROMPTS = {
    "propose": """\
Work towards an answer one step at a time.
The steps so far:
{steps}

Give only the next step, in a few sentences. Others are asked for the next step as well, so take an approach of your own.
If this step gives the answer, write it on a last line like this: ANSWER: the answer""",
    "evaluate": """\
How promising is this line of thought? Judge whether it is right so far and leads to an answer.
Finish with a line like this, with a number from 0 (hopeless) to 10 (sure to succeed):
Score: 5

The request: {request}

The steps so far:
{steps}""",
    "answer": """\
This is the best line of thought that was found:
{steps}

Give the answer now, from what is known so far, on a line like this: ANSWER: the answer""",
}
MANY = 1_000_000


@dataclass(slots=True)
class Branch:
    """A line of thought: the name of its last node ("2.1" is the first thought after the second), its steps, its score."""

    node: str = ""
    steps: tuple[str, ...] = ()
    score: float = 5.0

    @property
    def answer(self) -> str:
        """The answer that its last step gives, if it does."""
        return conclusion(self.steps[-1]) if self.steps else ""

    @property
    def ancestors(self) -> list[str]:
        """The names of the nodes on the way to its last node, and that node."""
        parts = self.node.split(".")
        return [".".join(parts[:n]) for n in range(1, len(parts) + 1)]

    def __str__(self) -> str:
        return "\n".join(f"{number}. {step}" for number, step in enumerate(shorten(self.steps), 1)) or "(none)"


@dataclass(slots=True)
class Tree:
    """The search: what is asked, with which prompts, how wide and deep; and what the next step tells about it, as tags."""

    chat: Chat
    prompts: Mapping[str, str]
    n_branches: int
    beam_width: int
    max_depth: int
    min_score: float
    tags: dict[str, Any] = field(default_factory=dict)


def tree_of_thoughts(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    n_branches: Annotated[int, Ge(1), Le(1000)] = 3,
    beam_width: Annotated[int, Ge(1)] = 2,
    max_depth: Annotated[int, Ge(1)] = 4,
    search: Literal["bfs", "dfs"] = "bfs",
    min_score: Annotated[float, Ge(0), Le(10)] = 4.0,
    prompts: Annotated[Mapping[str, str] | None, KeysOf(PROMPTS)] = None,
) -> Engine:
    """Propose several next thoughts at once, score them at once, and go on from the best, until one gives the answer.

    "bfs" keeps the `beam_width` best of each level; "dfs" follows the best first and turns back where no thought scores
    `min_score` of 10, or at `max_depth`. Thoughts with equal scores keep the order of their proposals. Tools are not used.
    """
    tree = Tree(Chat.of(task), prompts_from(PROMPTS, prompts), n_branches, beam_width, max_depth, min_score)
    tree.tags = {"cost": cost(n_branches, beam_width, max_depth, search)}
    best = yield from (bfs if search == "bfs" else dfs)(tree)
    tags = {**tree.tags, "chosen": best.ancestors}
    answer = best.answer
    if not answer:
        ask = tree.chat + fill(tree.prompts["answer"], steps=best)
        reply = yield Think(ask, role="answer", tags=tags, choice="none")
        answer = conclusion(text_of(reply)) or answer_of(reply) or (best.steps or ("",))[-1] or "No answer was found."
    return Answer(answer, tree.chat + assistant(answer), tags=tags)


def bfs(tree: Tree) -> Part:
    """Breadth first: keep the best thoughts of each level. Return the branch with the answer, or the best one."""
    level = best = [Branch()]
    for _ in range(tree.max_depth):
        thoughts = yield from propose(tree, level)
        if found := answered(thoughts):
            return found
        ranked = yield from evaluate(tree, thoughts)
        level = best = ranked[: tree.beam_width]
        note(tree, ranked, level)
    return best[0]


def dfs(tree: Tree) -> Part:
    """Depth first: follow the best thought, and turn back where none is good enough. Return as `bfs` does."""
    stack, best = [Branch()], Branch()
    while stack:
        thoughts = yield from propose(tree, [stack.pop()])
        if found := answered(thoughts):
            return found
        ranked = yield from evaluate(tree, thoughts)
        best = max(ranked[0], best, key=lambda branch: (len(branch.steps), branch.score))
        promising = [branch for branch in ranked if branch.score >= tree.min_score]
        note(tree, ranked, promising)
        if len(ranked[0].steps) < tree.max_depth:
            stack += reversed(promising)
    return best


def propose(tree: Tree, branches: list[Branch]) -> Part:
    """Ask for the next thoughts of all branches at once; return the branches that they make."""
    places = [(b, f"{b.node}.{k}".lstrip(".")) for b in branches for k in range(1, tree.n_branches + 1)]
    asked = [(tree.chat + fill(tree.prompts["propose"], steps=branch), branch.node, node) for branch, node in places]
    thinks = [
        Think(ask, (), "propose", {**tree.tags, "node": node, "parent": above}, "none") for ask, above, node in asked
    ]
    replies = yield All(tuple(thinks), role="propose", tags=tree.tags)
    thoughts = zip(places, replies, strict=True)
    return [Branch(node, (*b.steps, text_of(reply).strip()), b.score) for (b, node), reply in thoughts]


def evaluate(tree: Tree, thoughts: list[Branch]) -> Part:
    """Have all thoughts scored at once, and return them with their scores, the best first; one without a score gets 5."""
    request = request_of(tree.chat)
    asked = [Chat.of(fill(tree.prompts["evaluate"], request=request, steps=branch)) for branch in thoughts]
    tags = [{"node": branch.node, "parent": branch.node.rpartition(".")[0]} for branch in thoughts]
    thinks = [Think(ask, (), "evaluate", tag, "none", False) for ask, tag in zip(asked, tags, strict=True)]
    replies = yield All(tuple(thinks), role="evaluate")
    scores = [score_of(text_of(reply), 10.0) for reply in replies]
    scored = zip(thoughts, scores, strict=True)
    branches = [Branch(b.node, b.steps, 5.0 if score is None else score) for b, score in scored]
    return sorted(branches, key=lambda branch: -branch.score)


def answered(thoughts: list[Branch]) -> Branch | None:
    """Return the first branch that gives the answer."""
    return next((branch for branch in thoughts if branch.answer), None)


def conclusion(text: str) -> str:
    """Return the answer that a text ends in, if it does."""
    return after("ANSWER", text) or after("FINAL ANSWER", text) or ""


def note(tree: Tree, ranked: list[Branch], kept: list[Branch]) -> None:
    """Note, for the steps that follow, how the thoughts were scored and which were given up."""
    alive = {branch.node for branch in kept}
    pruned = [branch.node for branch in ranked if branch.node not in alive]
    tree.tags = {"scores": {branch.node: branch.score for branch in ranked}, "pruned": pruned}


def cost(n_branches: int = 3, beam_width: int = 2, max_depth: int = 4, search: str = "bfs") -> int:
    """Count the model calls of a run that finds no answer on the way: two for each thought, and one for the answer.

    Counting stops above a million.
    """
    width, thoughts, level = 1, 0, 0
    while level < max_depth and thoughts < MANY:
        thoughts, level = thoughts + width * n_branches, level + 1
        width = width * n_branches if search == "dfs" else min(beam_width, width * n_branches)
    return 2 * thoughts + 1


tree_of_thoughts.cost = cost  # type: ignore[attr-defined]
