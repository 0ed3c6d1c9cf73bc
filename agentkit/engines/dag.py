"""A plan as a graph, carried out side by side. After Kim et al. 2023, "An LLM Compiler …", arXiv:2312.04511."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentkit.core.messages import Chat, assistant
from agentkit.core.steps import All, Answer, Conclude, Engine, Loop, Part, Think, nested, tagged
from agentkit.engines.parsing import after, catalogue, fill, fitted, outcome, question, said, score, until
from agentkit.engines.plan_graph import Node, read, trouble
from agentkit.engines.react import react

PROMPTS = {
    "plan": """\
Make a plan for this, of steps that can each be carried out alone. Write a numbered list and nothing else. Behind a step
write in brackets which steps it needs; those that need none of each other are done at the same time:
1. the first step
2. another step
3. a step that uses both results [after: 1, 2]
These tools will be there for the steps:
{tools}
{trouble}""",
    "step": """\
This is being worked on by a plan:
{plan}

What is known from the steps before:
{done}

Now carry out step {number} and nothing else: {step}
Answer with its result. If it cannot be done, answer with FAILED: and the reason.""",
    "analyze": """\
The steps of a plan have been taken. See whether what was asked is answered by them.

What was asked: {request}

{done}

Write three parts:
ACHIEVED: yes or no
CONFIDENCE: a number from 0 to 1
ANSWER: the answer as far as it can be given, or, if it cannot, what is missing""",
    "again": "A plan was carried out before this one, and it was not enough. Do not repeat what is known:\n{done}\n{why}",
}


def dag(
    task: Any,
    *,
    tools: tuple[Any, ...] = (),
    actor: Loop = react,
    max_steps: int = 20,
    max_parallel: int = 4,
    max_step_iterations: int = 10,
    step_timeout: float | None = None,
    max_replans: int = 3,
    min_confidence: float = 0.8,
    prompts: Mapping[str, str] | None = None,
) -> Engine:
    """Plan steps that need each other, do those side by side that can be, judge the outcome, and plan again if need be."""
    say, chat = {**PROMPTS, **(prompts or {})}, Chat.of(task)
    known, again, wrong, answer, achieved = "", "", "", "", False
    for _ in range(max_replans + 1):
        words = {"tools": catalogue(tools), "trouble": f"{again}\n{wrong}".strip()}
        made = yield Think(chat + fill(say["plan"], **words), role="plan", choice="none")
        plan = read(said(made))[:max_steps]
        if not plan:
            break  # no plan could be read: no steps, then
        if wrong := trouble(plan):
            answer, wrong = (
                answer or f"The plan cannot be carried out: {wrong}.",
                f"The last plan was of no use: {wrong}.",
            )
            continue
        results = yield from carried_out(
            plan, chat, tools, actor, max_parallel, max_step_iterations, step_timeout, say["step"]
        )
        known = "\n".join(part for part in (known, report(plan, results)) if part)
        tags = {"plan": tuple(map(str, plan)), "plan_states": states(plan, results, [])}
        words = {"request": question(chat), "done": known}
        judged = said(
            (yield Think(chat + fill(say["analyze"], **words), role="analyze", tags=tags, choice="none", hears=False))
        )
        answer = (
            until("CONFIDENCE", until("ACHIEVED", after("ANSWER", judged) or "")).strip() or judged.strip() or known
        )
        yes = (after("ACHIEVED", judged) or "").strip("*_` ").lower()
        sure = score((after("CONFIDENCE", judged) or "").partition("\n")[0], 1.0)
        achieved = not yes.startswith(("no", "false")) and (sure is None or sure >= min_confidence)
        if achieved:
            break
        again = fill(say["again"], done=known, why=answer)
    if not answer:
        answer, achieved = (yield from nested(actor, chat, tools=tools)).text, True
    while more := (yield Conclude(answer)):  # something was injected: answer that first
        chat += (assistant(answer), more)
        answer = (yield from nested(actor, chat, tools=tools)).text
    return Answer(answer, chat + assistant(answer), "" if achieved else "max_replans")


def carried_out(
    plan: tuple[Node, ...],
    chat: Chat,
    tools: tuple[Any, ...],
    actor: Loop,
    max_parallel: int,
    max_iterations: int,
    timeout: float | None,
    prompt: str,
) -> Part:
    """Do the steps of a plan, each by a loop of its own, side by side as far as that goes; give the results by name."""
    results: dict[str, str] = {}
    while ready := able(plan, results)[:max_parallel]:
        tags = {"plan": tuple(map(str, plan)), "plan_states": states(plan, results, ready)}
        lanes = []
        for node in ready:
            words = {"plan": "\n".join(map(str, plan)), "done": report(plan, results, node.after)}
            words |= {"number": node.name, "step": node.task}
            inner = nested(actor, chat + fill(prompt, **words), tools=tools, max_iterations=max_iterations)
            wishes = {name: wish for name, wish in (("timeout", timeout), ("model", node.model)) if wish}
            lanes.append(tagged(inner, **tags, plan_step=plan.index(node) + 1, **wishes))
        ended = yield All(tuple(lanes), role="steps", tags=tags)
        results |= {
            node.name: outcome(answer.text, answer.interrupted) for node, answer in zip(ready, ended, strict=True)
        }
        results = skipping(plan, results)
    return results


def able(plan: tuple[Node, ...], results: dict[str, str]) -> list[Node]:
    """Give the steps that can be done now."""
    return [node for node in plan if node.name not in results and all(need in results for need in node.after)]


def skipping(plan: tuple[Node, ...], results: dict[str, str]) -> dict[str, str]:
    """Give the results with those steps that can no longer be done, each of which says what that is due to."""
    while due := {node.name: lost for node in plan if node.name not in results and (lost := lacking(node, results))}:
        results = results | due
    return results


def lacking(node: Node, results: dict[str, str]) -> str:
    """Say which step, one that this one needs, failed or was skipped; nothing where all is well."""
    lost = [need for need in node.after if results.get(need, "").startswith(("FAILED: ", "SKIPPED: "))]
    word = "failed" if lost and results[lost[0]].startswith("FAILED: ") else "was skipped"
    return f"SKIPPED: it needs step {lost[0]}, which {word}" if lost else ""


def states(plan: tuple[Node, ...], results: dict[str, str], ready: list[Node]) -> dict[int, str]:
    """Say how each step stands, by its place in the plan."""
    words = {"FAILED": "failed", "SKIPPED": "skipped"}
    done = {node.name: words.get(results.get(node.name, "").partition(":")[0], "done") for node in plan}
    now = {node.name for node in ready}
    return {
        at: "doing" if n.name in now else done[n.name] if n.name in results else "todo" for at, n in enumerate(plan, 1)
    }


def report(plan: tuple[Node, ...], results: dict[str, str], names: tuple[str, ...] | None = None) -> str:
    """Write what came of the steps, or of those of these names."""
    shown = [node for node in plan if node.name in results and (names is None or node.name in names)]
    said = fitted([results[node.name] for node in shown])
    return (
        "\n".join(f"Step {node.name} ({node.task}): {text}" for node, text in zip(shown, said, strict=True))
        or "(nothing)"
    )
