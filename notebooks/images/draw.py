"""Draw the pictures of the lessons: `python notebooks/images/draw.py` writes one SVG file for each.

A picture has a light background of its own, so that it is readable in light and in dark themes.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

COLUMN, ROW, WIDTH, HEIGHT, MARGIN = 176, 92, 132, 46, 20
FILLS = {"model": ("#dbeafe", 22), "tool": ("#fde68a", 0), "text": ("#ffffff", 8)}
LEGEND = (("model", "a model call"), ("tool", "a tool call"), ("text", "a text"))


@dataclass
class Box:
    """A box at a column and a row: its label (up to two lines), and its kind: "model", "tool" or "text"."""

    column: float
    row: float
    label: str
    kind: str = "model"

    @property
    def x(self) -> float:
        """The horizontal position of its centre."""
        return MARGIN + self.column * COLUMN + WIDTH / 2

    @property
    def y(self) -> float:
        """The vertical position of its centre."""
        return MARGIN + self.row * ROW + HEIGHT / 2


@dataclass
class Arrow:
    """An arrow between two boxes, with a label. With a `bend`, it passes that many pixels below (or above) them."""

    start: str
    end: str
    label: str = ""
    bend: int = 0


def draw(title: str, boxes: dict[str, Box], arrows: list[Arrow]) -> str:
    """Return a picture as SVG."""
    width = max(box.x for box in boxes.values()) + WIDTH / 2 + MARGIN
    lowest = max(box.y for box in boxes.values()) + HEIGHT / 2
    bends = [max(boxes[a.start].y, boxes[a.end].y) + HEIGHT / 2 + a.bend for a in arrows if a.bend > 0]
    height = max([lowest, *bends]) + 54
    kinds = {box.kind for box in boxes.values()}
    kinds = kinds if len(kinds) > 1 else set()  # one shape needs no legend
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" height="{height:g}" font-family="system-ui, sans-serif" font-size="13">',
            f"<title>{escape(title)}</title>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" '
            'orient="auto"><path d="M0 0L8 4L0 8z" fill="#374151"/></marker></defs>',
            f'<rect width="{width:g}" height="{height:g}" rx="10" fill="#f8fafc"/>',
            *(line(arrow, boxes) for arrow in arrows),
            *(rectangle(box) for box in boxes.values()),
            *(caption(arrow, boxes) for arrow in arrows if arrow.label),
            *legend([(kind, text) for kind, text in LEGEND if kind in kinds], height - 26),
            "</svg>\n",
        ]
    )


def rectangle(box: Box) -> str:
    """Return a box with its label."""
    fill, radius = FILLS[box.kind]
    lines = box.label.split("\n")
    first = box.y + 5 - 8 * (len(lines) - 1)
    texts = (f'<tspan x="{box.x:g}" y="{first + 16 * n:g}">{escape(line)}</tspan>' for n, line in enumerate(lines))
    return (
        f'<rect x="{box.x - WIDTH / 2:g}" y="{box.y - HEIGHT / 2:g}" width="{WIDTH}" height="{HEIGHT}" rx="{radius}" '
        f'fill="{fill}" stroke="#374151"/><text text-anchor="middle" fill="#111827">{"".join(texts)}</text>'
    )


def line(arrow: Arrow, boxes: dict[str, Box]) -> str:
    """Return the line of an arrow."""
    start, end = boxes[arrow.start], boxes[arrow.end]
    if arrow.bend:
        side = HEIGHT / 2 if arrow.bend > 0 else -HEIGHT / 2
        arrival = end.x + (36 if end.x < start.x else -36)  # beside the middle, where another arrow may leave
        path = f"M{start.x:g} {start.y + side:g}V{turn(arrow, boxes):g}H{arrival:g}V{end.y + side:g}"
    elif start.column == end.column:
        side = HEIGHT / 2 if end.row > start.row else -HEIGHT / 2
        path = f"M{start.x:g} {start.y + side:g}V{end.y - side:g}"
    else:
        side = WIDTH / 2 if end.column > start.column else -WIDTH / 2
        path = f"M{start.x + side:g} {start.y:g}L{end.x - side:g} {end.y:g}"
    return f'<path d="{path}" fill="none" stroke="#374151" stroke-width="1.5" marker-end="url(#tip)"/>'


def turn(arrow: Arrow, boxes: dict[str, Box]) -> float:
    """Return the height of the horizontal part of an arrow with a bend."""
    heights = boxes[arrow.start].y, boxes[arrow.end].y
    outer = max(heights) + HEIGHT / 2 if arrow.bend > 0 else min(heights) - HEIGHT / 2
    return outer + arrow.bend


def caption(arrow: Arrow, boxes: dict[str, Box]) -> str:
    """Return the label of an arrow, in the middle of its line."""
    start, end = boxes[arrow.start], boxes[arrow.end]
    x, y = (start.x + end.x) / 2, (start.y + end.y) / 2 + 4
    y = turn(arrow, boxes) + 4 if arrow.bend else y - 8 if start.row == end.row else y
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="middle" font-size="12" fill="#1f2937" stroke="#f8fafc" '
        f'stroke-width="4" paint-order="stroke">{escape(arrow.label)}</text>'
    )


def legend(kinds: list[tuple[str, str]], y: float) -> list[str]:
    """Return the meanings of the shapes, in one row."""
    return [
        f'<rect x="{MARGIN + 116 * n}" y="{y:g}" width="20" height="13" rx="{min(FILLS[kind][1], 6)}" '
        f'fill="{FILLS[kind][0]}" stroke="#374151"/><text x="{MARGIN + 26 + 116 * n}" y="{y + 11:g}" font-size="12" '
        f'fill="#1f2937">{text}</text>'
        for n, (kind, text) in enumerate(kinds)
    ]


PICTURES = {
    "00_quickstart": draw(
        "The loop of an agent: the model thinks, a tool acts, the model reads the observation and thinks again",
        {
            "q": Box(0, 0, "question", "text"),
            "m": Box(1, 0, "think"),
            "t": Box(2.4, 0, "act", "tool"),
            "a": Box(1, 1.2, "answer", "text"),
        },
        [Arrow("q", "m"), Arrow("m", "t", "a call"), Arrow("t", "m", "observation", 34), Arrow("m", "a")],
    ),
    "01_react_by_hand": draw(
        "The engine yields a step, you perform it and send the result, until the engine returns an answer",
        {
            "e": Box(0, 0, "engine\n(a generator)", "text"),
            "y": Box(1.6, 0, "you: model,\ntool or person", "text"),
            "a": Box(0, 1.2, "answer", "text"),
        },
        [Arrow("e", "y", "yields"), Arrow("y", "e", "sends the result", 30), Arrow("e", "a")],
    ),
    "02_invented_observations": draw(
        "With a stop sequence, a tool makes the observation; without it, the model invents one and answers from it",
        {
            "m": Box(0, 0.6, "thought\nand action"),
            "t": Box(1.5, 0, "act", "tool"),
            "o": Box(2.8, 0, "observation", "text"),
            "i": Box(1.5, 1.2, "invented\nobservation"),
            "w": Box(2.8, 1.2, "an answer\nfrom nothing", "text"),
        },
        [Arrow("m", "t", "stopped"), Arrow("t", "o"), Arrow("m", "i", "not stopped"), Arrow("i", "w")],
    ),
    "03_what_the_model_sees": draw(
        "The requests of a run grow: each holds all that was in the one before, and a call and its result more",
        {
            "s1": Box(0, 0, "system: the rules\nand the tools", "text"),
            "u1": Box(0, 1, "user:\nthe question", "text"),
            "s2": Box(1.3, 0, "the rules", "text"),
            "u2": Box(1.3, 1, "the question", "text"),
            "a2": Box(1.3, 2, "assistant: a call\nuser: its result", "text"),
            "s3": Box(2.6, 0, "the rules", "text"),
            "u3": Box(2.6, 1, "the question", "text"),
            "a3": Box(2.6, 2, "a call\nits result", "text"),
            "b3": Box(2.6, 3, "a call\nits result", "text"),
        },
        [Arrow("s1", "s2"), Arrow("s2", "s3"), Arrow("u1", "u2"), Arrow("u2", "u3"), Arrow("a2", "a3")],
    ),
    "04_find_the_bug": draw(
        "Four suspects: the prompt, the model, the tool, and the loop that passes everything on",
        {
            "p": Box(0, 0, "prompt", "text"),
            "m": Box(1.2, 0, "model"),
            "l": Box(2.5, 0, "the loop", "text"),
            "t": Box(3.8, 0, "tool", "tool"),
            "a": Box(2.5, 1.3, "a plausible\nwrong answer", "text"),
        },
        [
            *(Arrow("p", "m", ""), Arrow("m", "l", "a call"), Arrow("l", "t", "a call"), Arrow("l", "a")),
            *(Arrow("t", "l", "observation", 30), Arrow("l", "m", "the chat", 30)),
        ],
    ),
    "05_connect_a_model": draw(
        "A request goes over the wire to a host, or to a tape that plays back what the host once replied",
        {
            "r": Box(0, 0.6, "the run", "text"),
            "c": Box(1.2, 0.6, "OpenAI(…)"),
            "h": Box(2.7, 0, "a host", "text"),
            "t": Box(2.7, 1.2, "a tape", "text"),
        },
        [Arrow("r", "c", "think"), Arrow("c", "h", "record"), Arrow("c", "t", "replay")],
    ),
    "06_chain_of_thought": draw(
        "Chain of thought: the question goes to the model once; its reply holds the steps and the answer",
        {
            "q": Box(0, 0, "question", "text"),
            "m": Box(1, 0, "think\nstep by step"),
            "s": Box(2, 0, "step 1, step 2 …", "text"),
            "a": Box(3, 0, "answer", "text"),
        },
        [Arrow("q", "m"), Arrow("m", "s"), Arrow("s", "a")],
    ),
    "07_self_ask": draw(
        "Self-Ask: the model asks itself a simpler question, a tool answers it, and so on until the final answer",
        {
            "q": Box(0, 0, "question", "text"),
            "m": Box(1, 0, "what do I need\nto know first?"),
            "t": Box(2.4, 0, "look it up", "tool"),
            "a": Box(1, 1.4, "final answer", "text"),
        },
        [Arrow("q", "m"), Arrow("m", "t", "follow up"), Arrow("t", "m", "intermediate answer", 34), Arrow("m", "a")],
    ),
    "08_plan_and_execute": draw(
        "Plan and execute: one call makes a plan, a small ReAct loop carries out each step, one call sums up",
        {
            "q": Box(0, 0, "question", "text"),
            "p": Box(1, 0, "plan"),
            "1": Box(2, 0, "step 1"),
            "2": Box(3, 0, "step 2"),
            "s": Box(4, 0, "summary"),
            "a": Box(5, 0, "answer", "text"),
            "t1": Box(2, 1, "tools", "tool"),
            "t2": Box(3, 1, "tools", "tool"),
        },
        [
            *(Arrow("q", "p"), Arrow("p", "1"), Arrow("1", "2"), Arrow("2", "s"), Arrow("s", "a")),
            *(Arrow("1", "t1"), Arrow("2", "t2")),
        ],
    ),
    "09_reflexion": draw(
        "Reflexion: an attempt is judged; if it is not good enough, the next attempt reads what was learned",
        {
            "q": Box(0, 0, "question", "text"),
            "a": Box(1, 0, "attempt\n(a ReAct loop)"),
            "j": Box(2.2, 0, "judge"),
            "r": Box(2.2, 1.2, "reflect"),
            "l": Box(1, 1.2, "lessons", "text"),
            "f": Box(3.6, 0, "answer", "text"),
        },
        [
            *(Arrow("q", "a"), Arrow("a", "j"), Arrow("j", "f", "good"), Arrow("j", "r", "not good enough")),
            *(Arrow("r", "l"), Arrow("l", "a")),
        ],
    ),
    "10_critic": draw(
        "CRITIC: a draft, its claims, a tool that checks each claim, a revision, and again",
        {
            "q": Box(0, 0, "question", "text"),
            "d": Box(1, 0, "draft"),
            "c": Box(2, 0, "list the claims"),
            "v": Box(3.2, 0, "check each claim", "tool"),
            "r": Box(3.2, 1.2, "revise"),
            "a": Box(2, 1.2, "answer", "text"),
        },
        [
            *(Arrow("q", "d"), Arrow("d", "c"), Arrow("c", "v", "claims"), Arrow("v", "r")),
            *(Arrow("r", "c", "and again"), Arrow("c", "a", "nothing left")),
        ],
    ),
    "11_tree_of_thoughts": draw(
        "Tree of thoughts: several next steps are proposed and scored; the search goes on from the best",
        {
            "q": Box(0, 1, "4 9 10 13", "text"),
            "1": Box(1.1, 0, "4 + 9 = 13\nscore 2"),
            "2": Box(1.1, 1, "10 − 4 = 6\nscore 8"),
            "3": Box(1.1, 2, "9 × 10 = 90\nscore 1"),
            "21": Box(2.4, 0, "13 − 9 = 4\nscore 9"),
            "22": Box(2.4, 1, "6 + 9 = 15\nscore 2"),
            "23": Box(2.4, 2, "13 + 9 = 22\nscore 1"),
            "a": Box(3.6, 0, "4 × 6 = 24"),
        },
        [
            *(Arrow("q", "1"), Arrow("q", "2"), Arrow("q", "3")),
            *(Arrow("2", "21"), Arrow("2", "22"), Arrow("2", "23"), Arrow("21", "a")),
        ],
    ),
    "12_dag": draw(
        "DAG: three steps that do not need each other run side by side; the fourth waits for all three",
        {
            "p": Box(0, 1, "plan"),
            "1": Box(1.1, 0, "1. ask Anna's"),
            "2": Box(1.1, 1, "2. ask Bella's"),
            "3": Box(1.1, 2, "3. ask Carl's"),
            "4": Box(2.3, 1, "4. compare"),
            "j": Box(3.3, 1, "is that enough?"),
            "a": Box(4.4, 1, "answer", "text"),
        },
        [
            *(Arrow("p", "1"), Arrow("p", "2"), Arrow("p", "3"), Arrow("1", "4"), Arrow("2", "4"), Arrow("3", "4")),
            *(Arrow("4", "j"), Arrow("j", "a", "yes"), Arrow("j", "p", "no: another plan", 116)),
        ],
    ),
    "13_self_refine": draw(
        "Self-Refine: the model writes a draft, reads it as a critic, and rewrites it until nothing is left to improve",
        {
            "q": Box(0, 0, "task", "text"),
            "d": Box(1, 0, "draft"),
            "f": Box(2, 0, "feedback"),
            "r": Box(3.3, 0, "rewrite"),
            "a": Box(2, 1.4, "answer", "text"),
        },
        [
            *(Arrow("q", "d"), Arrow("d", "f"), Arrow("f", "a", "done")),
            *(Arrow("f", "r", "weak"), Arrow("r", "f", "next draft", 34)),
        ],
    ),
    "14_rewoo": draw(
        "ReWOO: one call plans all look-ups, the tools run without the model, and one call answers",
        {
            "q": Box(0, 0.5, "question", "text"),
            "p": Box(1, 0.5, "plan all\nlook-ups"),
            "1": Box(2, 0, "#E1 = price[soup]", "tool"),
            "2": Box(2, 1, "#E2 = price[tea]", "tool"),
            "3": Box(3.1, 0.5, "#E3 = calculate", "tool"),
            "s": Box(4.1, 0.5, "solve"),
            "a": Box(5.1, 0.5, "answer", "text"),
        },
        [
            *(Arrow("q", "p"), Arrow("p", "1"), Arrow("p", "2"), Arrow("1", "3"), Arrow("2", "3")),
            *(Arrow("3", "s"), Arrow("s", "a")),
        ],
    ),
    "15_all_loops": draw(
        "Which loop: no tools, then chain of thought; otherwise by what is known before the first look-up",
        {
            "q": Box(0, 1, "the task", "text"),
            "n": Box(1.3, 0, "no tools needed", "text"),
            "s": Box(1.3, 1, "look-ups depend\non what is found", "text"),
            "p": Box(1.3, 2, "look-ups known\nin advance", "text"),
            "c": Box(1.3, 3, "the answer must\nbe improved", "text"),
            "n1": Box(2.8, 0, "chain of thought,\ntree of thoughts", "text"),
            "s1": Box(2.8, 1, "ReAct, Self-Ask", "text"),
            "p1": Box(2.8, 2, "ReWOO, DAG,\nplan and execute", "text"),
            "c1": Box(2.8, 3, "CRITIC, Reflexion,\nSelf-Refine", "text"),
        },
        [
            *(Arrow("q", "n"), Arrow("q", "s"), Arrow("q", "p"), Arrow("q", "c")),
            *(Arrow("n", "n1"), Arrow("s", "s1"), Arrow("p", "p1"), Arrow("c", "c1")),
        ],
    ),
    "auto": draw(
        "Automatic choice: one call chooses ReAct for a simple task, and a plan as a graph for one with several parts",
        {
            "q": Box(0, 0.6, "question", "text"),
            "c": Box(1.1, 0.6, "choose"),
            "r": Box(2.4, 0, "ReAct"),
            "d": Box(2.4, 1.2, "plan as\na graph"),
            "a": Box(3.5, 0.6, "answer", "text"),
        },
        [Arrow("q", "c"), Arrow("c", "r", "simple"), Arrow("c", "d", "several"), Arrow("r", "a"), Arrow("d", "a")],
    ),
    "16_write_your_own": draw(
        "Who does what: the engine yields a step, arounds change it, and only then a model or a tool performs it",
        {
            "e": Box(0, 0.6, "engine\n(your loop)", "text"),
            "w": Box(1.3, 0.6, "around\n(five lines)", "text"),
            "m": Box(2.7, 0, "model"),
            "t": Box(2.7, 1.2, "tool", "tool"),
        },
        [
            *(Arrow("e", "w", "step"), Arrow("w", "m", "Think"), Arrow("w", "t", "Act")),
            Arrow("w", "e", "result", 56),
        ],
    ),
    "17_the_world_does_not_go_back": draw(
        "A run can be taken back to an earlier step, but the world cannot: the card stays charged",
        {
            "1": Box(0, 0.7, "thought"),
            "2": Box(1.3, 0.7, "pay(50)", "tool"),
            "3": Box(2.6, 0.7, "answer", "text"),
            "w": Box(1.3, 1.9, "the card is\ncharged", "text"),
            "b": Box(2.6, 1.9, "and stays\ncharged", "text"),
        },
        [Arrow("1", "2"), Arrow("2", "3"), Arrow("2", "w"), Arrow("w", "b"), Arrow("3", "1", "rewind", -24)],
    ),
    "18_agent_magic": draw(
        "One line starts a run; other lines step through it, edit it, or fork it; a variable always holds it",
        {
            "q": Box(0, 0, "%agent\na question", "text"),
            "r": Box(1.4, 0, "agent_run", "text"),
            "s": Box(2.8, 0, "step, edit,\nundo, play", "text"),
            "f": Box(1.4, 1.2, "another run", "text"),
        },
        [Arrow("q", "r", "starts"), Arrow("s", "r", "%agent"), Arrow("r", "f", "fork")],
    ),
    "19_luck_or_skill": draw(
        "The same thought is asked for again and again: most replies call one tool, others call another or answer",
        {
            "q": Box(0, 1, "the same\nrequest", "text"),
            "m": Box(1.1, 1, "think"),
            "p": Box(2.6, 0, "price", "tool"),
            "s": Box(2.6, 1, "search", "tool"),
            "a": Box(2.6, 2, "an answer", "text"),
        },
        [Arrow("q", "m"), Arrow("m", "p", "7 times"), Arrow("m", "s", "4 times"), Arrow("m", "a", "once")],
    ),
    "20_export": draw(
        "A run is exported to a notebook, a page, text or data; the notebook and the data can be loaded again",
        {
            "r": Box(0, 1, "a run", "text"),
            "n": Box(1.6, 0, "notebook", "text"),
            "j": Box(1.6, 1, "JSON", "text"),
            "h": Box(1.6, 2, "HTML, Markdown,\na table", "text"),
            "b": Box(3.1, 0.5, "the run again,\nall branches", "text"),
        },
        [*(Arrow("r", "n"), Arrow("r", "j"), Arrow("r", "h")), Arrow("n", "b", "load"), Arrow("j", "b")],
    ),
    "21_is_it_better_or_luck": draw(
        "On eight messages, the new prompt looks better, which may be luck; sixty messages, three times each, tell",
        {
            "8": Box(0, 0, "8 messages", "text"),
            "60": Box(0, 1, "60 messages", "text"),
            "e": Box(1.7, 0, "old 5 right,\nnew 7 right", "text"),
            "s": Box(1.7, 1, "intervals and\ndifferences", "text"),
            "l": Box(3.2, 0, "better,\nor luck?", "text"),
            "b": Box(3.2, 1, "one sentence\nfor your boss", "text"),
        },
        [Arrow("8", "e", "once"), Arrow("60", "s", "3 times"), Arrow("e", "l"), Arrow("s", "b")],
    ),
}


if __name__ == "__main__":
    for name, picture in PICTURES.items():
        Path(__file__).with_name(f"{name}.svg").write_text(picture, encoding="utf-8")
