"""A steering queue: what a program puts into it reaches the model with its next request."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from agentkit import Agent, Call, Reply, tool
from agentkit.models import Scripted
from agentkit.models.base import Abilities


class Queue:
    """A queue as other programs have it."""

    def __init__(self, *texts: Any) -> None:
        self.texts = list(texts)
        self.error: Exception | None = None

    def pop_all(self) -> list[Any]:
        if self.error:
            raise self.error
        texts, self.texts = self.texts, []
        return texts


def agent(queue: Queue, **options: Any) -> Agent:
    @tool(effect="pure")
    def look() -> str:
        """Look."""
        queue.texts += ["", "  \n", "Also the back.", "And be quick."]
        return "seen"

    model = Scripted([Reply("", (Call("look", {}, "c"),)), "done", "done"], abilities=Abilities(tools=True))
    return Agent(model, [look], steering=queue, journal="memory", **options)


def test_messages_are_sent_with_the_next_request_and_blank_ones_are_ignored() -> None:
    steered = agent(Queue("Hurry."))
    run = steered.run("q").run
    first, second = (str(request["messages"]) for request in steered.model.requests[:2])
    assert "[USER INTERRUPT] Hurry." in first
    assert "1. Also the back.\\n2. And be quick." in second
    told = [event.data["text"] for event in run.events() if event.kind == "injected"]
    assert told == ["Hurry.", "Also the back.", "And be quick."]


def test_a_message_that_comes_with_the_answer_is_answered_first() -> None:
    queue = Queue()
    model = Scripted(["a", "b"])
    steered = Agent(model, steering=queue, journal="memory")
    run = steered.start("q", paused=True)
    queue.texts.append("One more thing.")
    assert run.drive().answer == "b"


@pytest.mark.parametrize("broken", [ValueError("it is closed"), None])
def test_a_queue_that_fails_is_logged_and_the_run_goes_on(broken: Any, caplog: pytest.LogCaptureFixture) -> None:
    queue = Queue() if broken else Queue(3)
    queue.error = broken
    with caplog.at_level(logging.WARNING, "agentkit"):
        assert Agent(Scripted(["done"]), steering=queue, journal="memory").run("q").answer == "done"
    assert "the steering queue of run" in caplog.text


def test_what_has_no_pop_all_is_refused() -> None:
    with pytest.raises(ValueError, match="steering"):
        Agent(Scripted(["done"]), steering=["hurry"])  # type: ignore[arg-type]
