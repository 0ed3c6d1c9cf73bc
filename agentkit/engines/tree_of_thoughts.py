"""Tree of thoughts. Yao et al. 2023, "… Deliberate Problem Solving with Large Language Models", arXiv:2305.10601.

`bfs` and `dfs` are the two algorithms of the paper: both propose the next thoughts, score them, and continue from the
best, until a thought contains the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from agentkit.core.messages import Chat, assistant
from agentkit.core.schema import KeysOf
from agentkit.core.steps import All, Answer, Engine, Part, Think, merged_tags, warned
from agentkit.engines.parsing import answer_after, answer_of, fill, prompts_from, request_of, score_of, shorten, text_of

PROMPTS = {
    "propose": """\
Work towards an answer one step at a time.
The steps so far:
{steps}

Give only the next step, in a few sentences. Others are also asked for the next step, so choose your own approach.
If this step gives the answer, write it on a last line like this: ANSWER: the answer""",
    "evaluate": """\
How promising is this line of thought? Judge whether it is right so far and will lead to an answer.
Finish with a line like this, with a number from 0 (hopeless) to 10 (sure to succeed):
Score: 5

The request: {request}

The steps so far:
{steps}""",
    "answer": """\
This is the best line of thought that was found:
{steps}

Give the answer now, based on what is known so far, on a line like this: ANSWER: the answer""",
}
NO_MARKER = "the reply has no line ANSWER:, so all of it is the answer"
NO_ANSWER = "the model gave no answer, so the last step of the best line of thought is the answer"
UNREAD = "the score of a thought could not be read, so it counted as 5 of 10"
MANY = 1_000_000


@dataclass(slots=True)
class Branch:
    """A line of thought: its last node ("2.1" is the first thought after the second), its steps, and its score."""

    node: str = ""
    steps: tuple[str, ...] = ()
    score: float = 5.0

    @property
    def answer(self) -> str:
        """The answer that its last step contains, or ""."""
        return conclusion(self.steps[-1]) if self.steps else ""

    @property
    def ancestors(self) -> list[str]:
        """The names of its nodes, from the root to its last node."""
        parts = self.node.split(".")
        return [".".join(parts[:n]) for n in range(1, len(parts) + 1)]

    def __str__(self) -> str:
        return "\n".join(f"{number}. {step}" for number, step in enumerate(shorten(self.steps), 1)) or "(none)"


@dataclass(slots=True)
class Tree:
    """The search: its task, prompts, width and depth, and the tags that the next step carries."""

    chat: Chat
    prompts: Mapping[str, str]
    n_branches: int
    beam_width: int
    max_depth: int
    min_score: float
    tags: dict[str, Any] = field(default_factory=dict)
    has_unread_score: bool = False


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
    """Propose thoughts in parallel, score them in parallel, and continue from the best, until one has the answer.

    "bfs" keeps the `beam_width` best thoughts of each level. "dfs" follows the best thought first, and turns back at
    `max_depth` or if no thought scores at least `min_score` of 10. Thoughts with equal scores keep the order in which
    they were proposed. Tools are not used.
    """
    tree = Tree(Chat.of(task), prompts_from(PROMPTS, prompts), n_branches, beam_width, max_depth, min_score)
    tree.tags = {"cost": cost(n_branches, beam_width, max_depth, search)}
    best = yield from (bfs if search == "bfs" else dfs)(tree)
    tags = {**tree.tags, "chosen": best.ancestors}
    answer = best.answer
    if not answer:
        ask = tree.chat + fill(tree.prompts["answer"], steps=best)
        reply = yield Think(ask, role="answer", tags=tags, choice="none")
        answer = conclusion(text_of(reply))
        tags = merged_tags(tags, warned("" if answer else NO_MARKER if answer_of(reply) else NO_ANSWER))
        answer = answer or answer_of(reply) or (best.steps or ("",))[-1] or "No answer was found."
    return Answer(answer, tree.chat + assistant(answer), tags=tags)


def bfs(tree: Tree) -> Part:
    """Breadth first: keep the best thoughts of each level. Return the branch with the answer, or the best one."""
    level = best = [Branch()]
    for _ in range(tree.max_depth):
        thoughts = yield from propose(tree, level)
        if solution := answered(thoughts):
            return solution
        ranked = yield from evaluate(tree, thoughts)
        level = best = ranked[: tree.beam_width]
        note(tree, ranked, level)
    return best[0]


def dfs(tree: Tree) -> Part:
    """Depth first: follow the best thought, and turn back if none is good enough. Return the same as `bfs`."""
    stack, best = [Branch()], Branch()
    while stack:
        thoughts = yield from propose(tree, [stack.pop()])
        if solution := answered(thoughts):
            return solution
        ranked = yield from evaluate(tree, thoughts)
        best = max(ranked[0], best, key=lambda branch: (len(branch.steps), branch.score))
        promising = [branch for branch in ranked if branch.score >= tree.min_score]
        note(tree, ranked, promising)
        if len(ranked[0].steps) < tree.max_depth:
            stack += reversed(promising)
    return best


def propose(tree: Tree, branches: list[Branch]) -> Part:
    """Ask for the next thoughts of all branches in parallel, and return the new branches."""
    children = [(b, f"{b.node}.{k}".lstrip(".")) for b in branches for k in range(1, tree.n_branches + 1)]
    asks = [(tree.chat + fill(tree.prompts["propose"], steps=branch), branch.node, node) for branch, node in children]
    thinks = [
        Think(ask, (), "propose", {**tree.tags, "node": node, "parent": parent}, "none") for ask, parent, node in asks
    ]
    replies = yield All(tuple(thinks), role="propose", tags=tree.tags)
    thoughts = zip(children, replies, strict=True)
    return [Branch(node, (*b.steps, text_of(reply).strip()), b.score) for (b, node), reply in thoughts]


def evaluate(tree: Tree, thoughts: list[Branch]) -> Part:
    """Score all thoughts in parallel, and return them, best first; a thought without a score gets 5."""
    request = request_of(tree.chat)
    asks = [Chat.of(fill(tree.prompts["evaluate"], request=request, steps=branch)) for branch in thoughts]
    tags = [{"node": branch.node, "parent": branch.node.rpartition(".")[0]} for branch in thoughts]
    thinks = [Think(ask, (), "evaluate", tag, "none", False) for ask, tag in zip(asks, tags, strict=True)]
    replies = yield All(tuple(thinks), role="evaluate")
    scores = [score_of(text_of(reply), 10.0) for reply in replies]
    tree.has_unread_score = tree.has_unread_score or None in scores
    scored = zip(thoughts, scores, strict=True)
    branches = [Branch(b.node, b.steps, 5.0 if score is None else score) for b, score in scored]
    return sorted(branches, key=lambda branch: -branch.score)


def answered(thoughts: list[Branch]) -> Branch | None:
    """Return the first branch that contains the answer, or None."""
    return next((branch for branch in thoughts if branch.answer), None)


def conclusion(text: str) -> str:
    """Return the answer at the end of a text, or ""."""
    return answer_after(text, "ANSWER", "FINAL ANSWER")


def note(tree: Tree, ranked: list[Branch], kept: list[Branch]) -> None:
    """Set the tags of the next steps: the scores of the thoughts, and which of them were given up."""
    alive = {branch.node for branch in kept}
    pruned = [branch.node for branch in ranked if branch.node not in alive]
    unread = warned(UNREAD if tree.has_unread_score else "")
    tree.tags = {"scores": {branch.node: branch.score for branch in ranked}, "pruned": pruned, **unread}


def cost(n_branches: int = 3, beam_width: int = 2, max_depth: int = 4, search: str = "bfs") -> int:
    """Return the model calls of a run that finds no answer before the end: two per thought, and one for the answer.

    Counting stops above a million.
    """
    width, thoughts, level = 1, 0, 0
    while level < max_depth and thoughts < MANY:
        thoughts, level = thoughts + width * n_branches, level + 1
        width = width * n_branches if search == "dfs" else min(beam_width, width * n_branches)
    return 2 * thoughts + 1


tree_of_thoughts.cost = cost  # type: ignore[attr-defined]
