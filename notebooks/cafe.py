"""The café of the lesson "Find the bug".

Two of its agents have one fault each. To get something out of the lesson, find them by stepping before you read on.
"""

from __future__ import annotations

import hashlib

from agentkit import Act, Agent, Answer, Chat, Think, tool

MENU = {"iced tea": 4.80, "tea": 3.20, "cake": 4.50, "soup": 6.80}


# -- the first case ----------------------------------------------------------------------------------------------------


@tool(name="price", effect="pure")
def price_by_search(item: str) -> float:
    """Look up the price of an item on the menu."""
    for name, amount in MENU.items():
        if item in name:
            return amount
    raise LookupError(f"{item!r} is not on the menu; there is {', '.join(MENU)}")


def first_case() -> Agent:
    """Return the agent of the first case."""
    return Agent("offline", tools=[price_by_search, "math"], journal="memory")


# -- the second case ---------------------------------------------------------------------------------------------------


@tool(effect="pure")
def price(item: str) -> float:
    """Look up the price of an item on the menu."""
    return MENU[item]


def careful(task, *, tools=(), max_iterations=10):
    """ReAct, one call at a time, with notes of what each tool has said."""
    chat = Chat.of(task)
    notes = {}
    for _ in range(max_iterations):
        thought = yield Think(chat, tools, answers=True)
        chat += thought
        if not thought.calls:
            return Answer(thought.answer, chat)
        call = thought.calls[0]
        observation = yield Act(call)
        note = notes.setdefault(call.name, observation)
        chat += note
    return Answer("I ran out of turns.", chat)


def second_case() -> Agent:
    """Return the agent of the second case."""
    return Agent("offline", tools=[price, "math"], engine=careful, journal="memory")


def is_guilty(suspect: object) -> bool:
    """Return whether a suspect is the one of the second case. Only a digest of the name is kept: it spoils nothing."""
    return hashlib.sha256(str(suspect).strip().lower().encode()).hexdigest().startswith("254637f7")
