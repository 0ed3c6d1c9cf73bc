"""Random lines typed into conversations: nothing breaks, nothing is paid twice unasked, and the journal agrees.

`AGENTKIT_SIZE` sets how many conversations are held.
"""

from __future__ import annotations

import io
import os
import random
from collections import Counter

import pytest
from hostile_text import ATTACKS, raw_characters

from agentkit import Agent, Call, Reply, Run, tool
from agentkit.core.messages import message_to_json
from agentkit.journal.memory import MemoryJournal
from agentkit.models.base import Abilities, Request
from agentkit.terminal.chat import Chat
from agentkit.terminal.commands import COMMANDS
from agentkit.terminal.presses import Presses
from agentkit.terminal.screen import Screen

SIZE = int(os.environ.get("AGENTKIT_SIZE", "3")) * 3
APPROVALS = ("y", "/approve", 'approve {"amount": 77}')


class Typed:
    """Lines as if a person typed them; Ctrl-C is None."""

    is_typed = True

    def __init__(self, lines: list[str | None], presses: Presses) -> None:
        self.lines = iter(lines)
        self.presses = presses

    def read(self, prompt: str, *, anew: bool = False, default: str = "") -> str:
        line = next(self.lines, "")
        if line is None:
            self.presses.press()
            raise KeyboardInterrupt
        if line == "" and self.lines.__length_hint__() == 0:
            raise EOFError
        return line


class Payer:
    """A model that pays what it is told to pay, once, and fails now and then."""

    name = "payer"
    abilities = Abilities(tools=True)

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def __call__(self, request: Request) -> Reply:
        if self.dice.random() < 0.1:
            raise ConnectionError(f"the line is down {self.dice.choice(ATTACKS)}")
        last = list(request.chat)[-1]
        word, _, amount = last.text.replace("[USER INTERRUPT]", "").strip().partition(" ")
        if last.role == "user" and word == "pay" and amount.isdigit():
            number = self.dice.randrange(10**6)
            return Reply(self.dice.choice(ATTACKS), (Call("pay", {"amount": int(amount)}, f"c{number}"),))
        return Reply(f"{self.dice.choice(ATTACKS)} {last.text}"[:300])


def line(dice: random.Random, amount: int) -> str | None:
    entry = dice.randrange(7)
    return dice.choice(
        [
            *(f"pay {amount}", f"pay {amount}", f"  pay {amount}", "hello", "", dice.choice(ATTACKS), None),
            *("/step", "/step 2", "/step over", "/play", "/pause", "/show", f"/show {entry}", "/help"),
            *(
                f"/edit {entry} text=x",
                f"/edit {entry}",
                f'/edit {entry} arguments={{"amount": {amount}}}',
                "/edit next z",
            ),
            *(f"/rewind {entry}", f"/retry {entry}", "/retry", "/undo", "/undo 2", "/redo", f"/fork {entry}", "/fork"),
            *(
                "n",
                "n no",
                "respond by hand",
                "reuse",
                "/reject",
                "/respond x",
                "/reuse",
                "/inject more",
                "/model payer",
            ),
            *(
                "/new",
                "/engine react",
                "/engine chain_of_thought",
                "/save",
                f"/{dice.choice(ATTACKS)}",
                "/approve {",
                "/step -1",
            ),
        ]
    )


@pytest.mark.parametrize("seed", range(SIZE))
def test_random_lines(seed: int) -> None:
    dice, paid = random.Random(seed), Counter[int]()

    @tool(effect="irreversible")
    def pay(amount: int) -> str:
        """Pay."""
        paid[amount] += 1
        return f"paid {amount}"

    approvals = APPROVALS if seed % 2 else ()
    typed: list[str | None] = [line(dice, 1000 + number) for number in range(60)]
    typed = [dice.choice(approvals) if approvals and dice.random() < 0.1 else each for each in typed]
    typed = [each for n, each in enumerate(typed) if each is not None or typed[n - 1] is not None]  # once, not twice
    agent = Agent(Payer(seed), [pay], journal=MemoryJournal(), permissions="ask" if seed % 3 == 0 else None)
    presses, shown = Presses(), io.StringIO()
    screen = Screen(shown)
    chat = Chat(agent, Typed(typed, presses), screen, screen, COMMANDS, presses)
    talked_about: list[Run] = []
    adopt = chat.adopt
    chat.adopt = lambda run: (talked_about.append(run), adopt(run))[1]  # type: ignore[method-assign]
    assert chat.talk() in (0, 130)
    assert chat.run is None and (talked_about or not paid)
    text = shown.getvalue()
    assert "Traceback" not in text and not raw_characters(text)
    given = sum(each in approvals for each in typed)
    assert all(times <= 1 + given for times in paid.values()), (paid, text)
    assert (seed % 2 or seed % 3) or not paid  # with permissions="ask", nothing is paid that nobody approved
    for run in {run.id: run for run in talked_about}.values():  # the last object of each: a message may go on with one
        again = agent.look(run.id)
        assert [str(e.result) for e in again.entries] == [str(e.result) for e in run.entries]
        assert again.saved_status == run.saved_status != "running"
        assert [message_to_json(m) for m in again.messages] == [message_to_json(m) for m in run.messages]
