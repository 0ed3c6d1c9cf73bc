"""Asking a model the same several times from its card in the view, and the temperature of its requests."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from view.conftest import Viewed

from agentkit import Agent, Call, Reply, Usage, tool
from agentkit.models.base import Abilities, Request
from agentkit.models.scripted import Scripted

View = Callable[..., Viewed]
CALLED: list[str] = []


@tool(effect="irreversible")
def send(text: str) -> str:
    """Send a message to the world."""
    CALLED.append(text)
    return "sent"


def asks(text: str) -> Reply:
    return Reply("I send it.", (Call("send", {"text": text}, "c1"),))


def sent(view: View, *more: Any, **options: Any) -> tuple[Viewed, Scripted]:
    CALLED.clear()
    model = Scripted([asks("hi"), "Done.", *more], usage=Usage(100, 10, cost=0.001), **options)
    return view(Agent(model, [send], journal="memory").run("Say hi.").run), model


MORE = (asks("hi"), asks("hello"), "No.", asks("hi"))


def shown(viewed: Viewed, times: int | None = None) -> Any:
    return viewed.execute("samples", entry=viewed.run[1].id, times=times)


def test_the_calls_and_the_price_are_shown_and_nothing_is_asked(view: View) -> None:
    viewed, model = sent(view, *MORE)
    data = shown(viewed)
    assert (data["times"], data["replies"], data["calls"], data["outcomes"]) == (20, 0, 20, [])
    price = "about 2,000 tokens to read and 200 to write; about $0.02. No tool is called."
    assert data["price"] == f"20 calls of scripted: {price}"
    assert model.calls == 2 and CALLED == ["hi"]


def test_the_view_and_python_see_the_same_replies_whoever_asked(view: View) -> None:
    viewed, model = sent(view, *MORE)
    data = viewed.execute("resample", entry=viewed.run[1].id, times=3)
    assert [(o["text"], o["count"], o["happened"]) for o in data["outcomes"]] == [
        ("send(text='hi')", 1, True),
        ("send(text='hello')", 1, False),
        ("No.", 1, False),
    ]
    assert viewed.run.resample(1, times=3).counts == {o["text"]: o["count"] for o in data["outcomes"]}
    viewed.run.resample(1, times=4).go()
    assert shown(viewed, 4)["outcomes"][0]["count"] == 2 and shown(viewed, 4)["calls"] == 0
    assert model.calls == 6 and CALLED == ["hi"]
    viewed.until(lambda: viewed.screen.head["spent"]["model_calls"] == 6)


def test_more_replies_than_usual_are_all_counted(view: View) -> None:
    viewed, _ = sent(view, *["No."] * 30)
    viewed.run.resample(1, times=30).go()
    data = shown(viewed)
    assert (data["times"], data["replies"], data["calls"]) == (30, 30, 0)
    assert (shown(viewed, 5)["replies"], shown(viewed, 5)["recorded"]) == (5, 30)
    assert data["happened"] == "send(text='hi')"


def test_of_very_many_outcomes_the_most_frequent_are_sent(view: View) -> None:
    viewed, _ = sent(view, *map(str, range(60)), "7")
    data = viewed.execute("resample", entry=viewed.run[1].id, times=61)
    assert data["outcomes"][0]["text"] == "7" and (len(data["outcomes"]), data["more"]) == (50, 10)


def test_each_outcome_opens_a_run_and_performs_nothing(view: View) -> None:
    viewed, model = sent(view, *MORE)
    data = viewed.execute("resample", entry=viewed.run[1].id, times=3)
    viewed.execute("fork", entry=data["outcomes"][1]["entry"])
    (fork,) = viewed.screen.shown
    assert fork[1].result.calls[0].arguments == {"text": "hello"}
    assert model.calls == 5 and CALLED == ["hi"] and len(viewed.run) == 5


@pytest.mark.parametrize("who", ["the view", "Python"])
def test_the_view_shows_that_a_model_is_being_asked_and_stops_it(view: View, who: str) -> None:
    called, bell = threading.Event(), threading.Event()

    def late(request: Request) -> str:
        called.set()
        bell.wait(30)
        return "Late."

    viewed, model = sent(view, "No.", late, "No.")
    entry = viewed.run[1].id
    if who == "Python":
        threading.Thread(target=viewed.run.resample(1, times=4).go, daemon=True).start()
    else:
        viewed.dispatcher.take({"t": "cmd", "v": 1, "cid": "go", "cmd": "resample", "entry": entry, "times": 4})
    assert called.wait(10)
    question = shown(viewed)["question"]
    viewed.until(lambda: viewed.screen.head["asking"] == {question: 3})
    viewed.execute("stop_resample", entry=entry)
    viewed.until(lambda: viewed.screen.head["asking"] == {})
    assert shown(viewed)["replies"] == 1 and not viewed.run.resample(1).is_asking
    bell.set()
    if who == "the view":
        viewed.until(lambda: "go" in viewed.screen.answers)
        assert viewed.screen.answers["go"]["result"]["replies"] == 1
    assert model.calls == 4


def test_what_cannot_be_asked_is_refused_with_a_sentence(view: View) -> None:
    viewed, model = sent(view)
    with pytest.raises(LookupError, match="only a thought"):
        viewed.execute("samples", entry=viewed.run[2].id, times=3)
    for times in (0, -1):
        with pytest.raises(LookupError, match="times must be an integer of at least 1"):
            viewed.execute("resample", entry=viewed.run[1].id, times=times)
    assert model.calls == 2


def test_trials_to_the_end_are_priced_first_and_ask_before_a_tool_may_act(view: View) -> None:
    viewed, model = sent(view, asks("hi"), "Fine.", asks("bye"), "Bye.")
    entry = viewed.run[1].id
    data = viewed.execute("trials", entry=entry, times=2)
    assert (data["times"], data["ended"], data["left"], data["outcomes"]) == (2, 0, 2, [])
    assert data["price"].startswith("2 trials to the end, together about 4 calls of scripted: about 400 tokens")
    assert data["asks"] == (
        "2 runs may call send (irreversible), each as often as its model asks, beyond the calls whose results are on "
        "record. Without them, a trial that asks for one waits there."
    )
    with pytest.raises(LookupError, match="may call send"):
        viewed.execute("make_trials", entry=entry, times=2, approved=None)
    assert model.calls == 2 and CALLED == ["hi"]
    data = viewed.execute("make_trials", entry=entry, times=2, approved=False)
    assert sum(outcome["count"] for outcome in data["outcomes"]) == data["ended"] == 2 and CALLED == ["hi"]
    assert [outcome["text"].partition(":")[0] for outcome in data["outcomes"]][-1] == "waiting"
    assert viewed.execute("trials", entry=entry, times=None)["recorded"] == 2


def test_a_bar_of_trials_opens_the_run_that_ended_so(view: View) -> None:
    viewed = view(Agent(Scripted(["Heads.", "Tails.", "Tails."]), journal="memory").run("Toss.").run)
    entry = viewed.run[1].id
    data = viewed.execute("make_trials", entry=entry, times=2, approved=None)
    (bar,) = data["outcomes"]
    assert (bar["text"], bar["count"], round(bar["low"], 2), data["happened"]) == ("Tails.", 2, 0.34, "Heads.")
    viewed.execute("open_trial", entry=entry, trial=bar["trial"])
    (opened,) = viewed.screen.shown
    assert (opened.status, opened.answer, viewed.run.answer) == ("done", "Tails.", "Heads.")
    with pytest.raises(LookupError, match="there is no trial 99"):
        viewed.execute("open_trial", entry=entry, trial=99)


def test_trials_are_shown_as_python_has_scored_them_last(view: View) -> None:
    viewed = view(Agent(Scripted(["Heads.", "Tails.", "Heads."]), journal="memory").run("Toss.").run)
    entry = viewed.run[1].id

    def heads(result: Any, case: Any) -> bool:
        return bool(result.answer == "Heads.")

    viewed.run.resample(1, times=2, until="end", score=heads).go()
    data = viewed.execute("trials", entry=entry, times=2)
    assert {outcome["text"] for outcome in data["outcomes"]} == {"score 1: Heads.", "score 0: Tails."}
    assert data["score"].startswith("Score 0.500 [") and data["left"] == 0


def test_the_view_stops_trials_whoever_began_them(view: View) -> None:
    called, bell = threading.Event(), threading.Event()

    def late(request: Request) -> str:
        called.set()
        bell.wait(30)
        return "Late."

    viewed = view(Agent(Scripted(["Heads.", "Tails.", late]), journal="memory").run("Toss.").run)
    trials, entry = viewed.run.resample(1, times=4, until="end"), viewed.run[1].id
    thread = threading.Thread(target=trials.go, kwargs={"on": 1}, daemon=True)
    thread.start()
    assert called.wait(10)
    viewed.until(lambda: viewed.screen.head["asking"] == {trials.key: 3})
    viewed.execute("stop_trials", entry=entry)
    thread.join(20)
    viewed.until(lambda: viewed.screen.head["asking"] == {})
    bell.set()
    assert viewed.execute("trials", entry=entry, times=4)["ended"] == 1


def test_the_temperature_is_that_of_the_run_and_only_for_models_that_take_one(view: View) -> None:
    model = Scripted(["One.", "Two."], abilities=Abilities(temperature=True))
    viewed = view(Agent(model, journal="memory", settings={"temperature": 1}).start("Count.", paused=True))
    assert viewed.screen.head["pending"][0]["own_temperature"] == 1 and viewed.screen.head["temperature"] is None
    viewed.execute("temperature", value=0.3)
    assert viewed.run.temperature == 0.3
    viewed.run.temperature = 0.4
    viewed.until(lambda: viewed.screen.head["temperature"] == 0.4)
    viewed.settle("step")
    assert viewed.screen.cards[1]["temperature"] == 0.4 and shown(viewed)["own_temperature"] == 1
    viewed.execute("temperature", value=None)
    assert viewed.run.temperature is None
    with pytest.raises(LookupError, match="a temperature must be a number from 0 to 2"):
        viewed.execute("temperature", value=9)

    other, _ = sent(view)
    assert "own_temperature" not in shown(other) and "temperature" not in other.screen.cards[1]


def test_if_the_model_does_not_tell_its_own_temperature_it_is_unknown(view: View) -> None:
    model = Scripted(["One."], abilities=Abilities(temperature=True))
    viewed = view(Agent(model, journal="memory").start("Count.", paused=True))
    assert viewed.screen.head["pending"][0]["own_temperature"] is None
