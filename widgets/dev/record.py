"""Record what the kernel sends for runs in each state, for the dev page: `python widgets/dev/record.py`.

Each file in recorded/ contains the messages that a view was sent, and `answers`: the results of its queries by command.
"""

from __future__ import annotations

import json
import re
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from view.conftest import Viewed, calling, paused  # noqa: E402
from view.test_pictures import branching, planning, trying  # noqa: E402

from agentkit import Agent, Call, Reply, Run, Usage, tool  # noqa: E402
from agentkit.models.base import Abilities  # noqa: E402
from agentkit.models.scripted import Scripted  # noqa: E402
from agentkit.view.feed import PAGE, TAIL  # noqa: E402

FOLDER = Path(__file__).parent / "recorded"


@tool(effect="pure")
def weather(city: str, days: int = 1) -> list[dict[str, Any]]:
    """Return the forecast for a city."""
    return [
        {"day": day, "city": city, "sky": "clear" if day % 2 else "rain", "high": 18 + day, "low": 9 + day}
        for day in range(days)
    ]


@tool(effect="irreversible")
def book_train(origin: str, destination: str, seats: int = 1) -> str:
    """Book seats on a train."""
    if destination == "Atlantis":
        raise LookupError("no train goes to Atlantis")
    return f"Booked {seats} seat(s) from {origin} to {destination}, coach 7."


def script() -> list[Reply]:
    """Return the replies of a model that plans a trip in five thoughts."""
    used = [
        Usage(input=640 + 260 * turn, output=48 + 5 * turn, cached=512 if turn else 0, cost=0.0021 + 0.0004 * turn)
        for turn in range(5)
    ]
    first = calling("weather", "I should look at the weather before I suggest a day. Bern first.", city="Bern", days=3)
    both = Reply(
        "Rain on the first day. Let me compare two more cities at once.",
        (Call("weather", {"city": "Basel", "days": 2}, "b"), Call("weather", {"city": "Chur", "days": 2}, "c")),
        reasoning="The user wants a dry day. Bern is wet today; alternatives within two hours are Basel and Chur.",
    )
    lost = calling(
        "book_train", "Chur looks best. I will try the scenic line first.", origin="Bern", destination="Atlantis"
    )
    booked = calling(
        "book_train", "That line does not exist; the regular one does.", origin="Bern", destination="Chur", seats=2
    )
    last = Reply("Take the train to Chur on day 1: clear, 19 °C. Two seats are booked in coach 7.")
    return [
        Reply(r.text, r.calls, reasoning=r.reasoning, usage=u)
        for r, u in zip([first, both, lost, booked, last], used, strict=True)
    ]


def trip(*more: Reply, **options: Any) -> Run:
    model = Scripted([*script(), *more], abilities=Abilities(tools=True))
    agent = Agent(model, [weather, book_train], journal="memory", approve=["book_train"], **options)
    return agent.start("Plan a dry day out from Bern this week, and book the train.", paused=True)


def record(name: str, run: Run, act: Callable[[Viewed], None]) -> None:
    """Act on a run that a screen shows, and write what the screen was sent to a file."""
    viewed = Viewed(run)
    try:
        act(viewed)
        time.sleep(0.3)
        viewed.feed.hello()
        seen = len(viewed.screen.messages)
        viewed.until(lambda: any(message["t"] == "reset" for message in viewed.screen.messages[seen:]))
        answers = questions(viewed)
    finally:
        viewed.feed.close()
    said = [message for message in viewed.screen.messages if message["t"] in ("reset", "events")]
    reset = max(number for number, message in enumerate(said) if message["t"] == "reset")
    FOLDER.mkdir(exist_ok=True)
    data = {"messages": said[reset:], "answers": answers}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace(str(ROOT), "")
    text = re.sub(r'"which":"[0-9a-f]+"', '"which":"a"', text)  # it differs from one recording to the next
    (FOLDER / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def questions(viewed: Viewed) -> dict[str, Any]:
    thoughts = [card["id"] for card in viewed.screen.cards if card["kind"] == "think"]
    places = viewed.screen.head["where"]
    answers: dict[str, Any] = {"branches": viewed.execute("branches")}
    answers["forecast"] = viewed.execute("forecast", entry=viewed.screen.cards[min(1, viewed.screen.total - 1)]["id"])
    if thoughts:
        answers["request"] = viewed.execute("request", entry=thoughts[-1])
    answers["source"] = viewed.execute("source", file=places[0]["file"] if places else "")
    for place in places[:1]:
        if any(name == "chat" for name, *_ in place["locals"]):
            which = {"frame": 0, "function": place["function"], "name": "chat", "path": [], "first": 0}
            answers["value"] = viewed.execute("value", **which, order=None)
    if len(answers["branches"]) > 1:
        answers["compare"] = viewed.execute("compare", branch=1)
    if viewed.screen.total > TAIL:
        answers["page"] = viewed.execute("page", before=viewed.screen.total, count=PAGE)
    for card in viewed.screen.cards:
        if card["original"]:
            answers["original"] = viewed.execute("original", entry=card["id"])
    actions = [card["id"] for card in viewed.screen.cards if card["kind"] == "act"]
    if actions:
        answers["at"] = viewed.execute("at", entry=actions[-1])
    return answers


def edited(viewed: Viewed) -> None:
    """Approve both bookings, finish the run, then edit an observation and continue."""
    decided(viewed)
    observation = next(card for card in viewed.screen.cards if card["kind"] == "act")
    change = {"text": observation["text"].replace("rain", "snow")}
    viewed.execute("edit", entry=observation["id"], base=0, change=change, reason="what if it snows?")
    viewed.settle("step")


def play(viewed: Viewed) -> None:
    viewed.settle("play")


def decided(viewed: Viewed) -> None:
    viewed.settle("play")
    while viewed.screen.head["status"] == "waiting":
        viewed.execute(
            "approve", which=next(step["which"] for step in viewed.screen.head["pending"] if "which" in step)
        )
        viewed.settle("play")


BELL = threading.Event()


@tool(effect="pure")
def slow(seconds: int) -> str:
    """Wait for the bell."""
    BELL.wait(20)
    return "rung"


def running(viewed: Viewed) -> None:
    viewed.execute("play")
    viewed.until(lambda: viewed.screen.head["status"] == "running" and len(viewed.screen.cards) > 1)


def main() -> None:
    record("paused", trip(), lambda viewed: viewed.settle("step", "step"))
    record("waiting", trip(), play)
    record("done", trip(), decided)
    record("edited", trip(*script()[1:2]), edited)
    record(
        "failed",
        paused(calling("weather", city="Bern"), LookupError("the model is gone"), tools=[weather]),
        lambda v: v.settle("play"),
    )
    record("running", paused(calling("slow", "This takes a while.", seconds=20), "done", tools=[slow]), running)
    BELL.set()
    record("plan", paused("1 2 3", "seen", "fallen", "well", engine=planning), play)
    record(
        "episodes",
        paused("a", "bad", "look first", "b", "good", "keep at it", engine=trying),
        lambda viewed: viewed.settle("play"),
    )
    record("tree", paused("left", "3 of 10", "right", "8 of 10", "further", engine=branching), play)
    long = paused(
        *[calling("slow", f"Bell {n}.", seconds=n) for n in range(200)], "done", tools=[slow], max_iterations=500
    )
    record("long", long, play)


main()
