"""Texts that attack a terminal or its reader, and a run in which every text is one of them."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Generator, Iterator
from typing import Any

from agentkit import Agent, Answer, Call, Chat, Reply, Run, Think
from agentkit.errors import ModelRejected
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted
from agentkit.tools.tool import Tool

SIZE = int(os.environ.get("AGENTKIT_SIZE", "3"))
"""How many texts are tried; 300 or more by hand."""

ATTACKS = (
    *("\x1b[31mred", "\x1b[2J\x1b[H", "\x1b]0;title\x07", "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\"),
    *(
        "\x1b]52;c;ZXZpbA==\x07",
        "\x1bP+q544e\x1b\\",
        "\x1b[6n",
        "\x1bc",
        "\x9b31m",
        "\x9d52;c;ZXZpbA==\x9c",
        "\x90x\x9c",
    ),
    *("password\x08\x08\x08", "over\rwritten", "\x07", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f", "\x7f", "\x84"),
    *("\x85FORGED", "\u2028FORGED", "\u2029FORGED", "\nFORGED", "\r\nFORGED", "\n[1/5] FORGED", "\tx"),
    *("\u202egnp.exe\u202c", "\u2066x\u2069", "\u2067", "\u2068", "\u202a", "\u202b", "\u202d", "\u061c", "\u200e"),
    *("\u200f", "in\u200bvisible", "x\u200cy", "x\u200dy", "\u2060", "\u2063", "\ufeff", "soft\xadhyphen", "\u034f"),
    *("\U000e0001\U000e0068\U000e0069\U000e007f", "a\ufe0f", "\U000e0100\U000e01ef", "\u3164", "\ufff9"),
    *("[bold]markup[/bold]", "[/b]", "[link=http://evil.example]x[/link]", ":smile:", "%s %(x)s {0} %", "' \" \\"),
)

# written out here, so that a mistake in the rule of agentkit.inert is found
RAW = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff"
    "\ufff9-\ufffb\U000e0000-\U000e0fff]"
)


def raw_characters(shown: str) -> list[str]:
    """Return the hidden and controlling characters in what was shown, except line breaks and tabs."""
    return [
        f"{match[0]!r} in {shown[max(0, match.start() - 60) : match.end() + 20]!r}" for match in RAW.finditer(shown)
    ]


def forged_lines(shown: str) -> list[str]:
    """Return the lines of what was shown that a text began."""
    return [line for line in shown.splitlines() if re.match(r"\s*(\[1/5\] )?FORGED", line)]


def texts(size: int = SIZE) -> Iterator[str]:
    """Yield hostile texts: each attack at least once, in random company, and short enough not to be cut."""
    randomly = random.Random(7)
    attacks = randomly.sample(ATTACKS, len(ATTACKS))
    of_one = max(1, -(-len(attacks) // size))
    for _ in range(size):
        chosen = attacks[:of_one] or randomly.sample(ATTACKS, 3)
        attacks = attacks[of_one:]
        yield f"TEXT{' '.join(chosen)}"


def hostile_run(text: str, journal: Any = "memory", **options: Any) -> Run:
    """Return a run in which this is every text of a model, a tool or a person; it is paused at a breakpoint."""
    tool = Tool(text, text, {"type": "object"}, lambda **arguments: text, effect="pure")
    failing = Tool("failing", text, {"type": "object"}, _fail, effect="pure")
    arguments = {text: text, "deep": [{text: text}]}
    calls = Call(text, arguments, "1"), Call("failing", {"text": text}, "2"), Call(f"no {text}", {}, "3")
    replies = [
        Reply(text, calls, reasoning=text, problems=(text,), cut=text),
        Reply(text, answer=text),
        ModelRejected(f"400: {text}", host="host", model=text),
        text,
    ]
    model = Scripted(replies, abilities=Abilities(tools=True), name=text)
    agent = Agent(model, [tool, failing], journal=journal, **options)
    run = agent.start(text, session=text, user=text, paused=True)
    next(run)
    run.inject(f"{text} please")
    run.break_at(tool=text)
    run.break_at(role=text)
    run.drive()
    return run


def moments(text: str, journal: Any = "memory", **options: Any) -> Iterator[Run]:
    """Yield a hostile run at four moments: paused, done, after its model failed, and done again in another branch."""
    run = hostile_run(text, journal, **options)
    yield run
    run.drive()
    yield run
    run.edit(2, text=f"{text} edited", reason=text, author=text)
    run.drive()
    yield run
    run.drive()
    yield run


def hostile_engine(task: Any, *, role: str) -> Generator[Any, Any, Answer]:
    """Ask once, with a hostile role and hostile tags."""
    chat = Chat.of(task)
    reply = yield Think(chat, role=role, tags={role: role, "plan": (role,), "plan_states": (role,)})
    return Answer(reply.text, chat)


def _fail(text: str) -> None:
    raise ValueError(text)
