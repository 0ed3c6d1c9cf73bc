"""The form of a prediction, in a real kernel whose notebook somebody watches; no browser."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from kernel.conftest import Kernel, started

pytestmark = pytest.mark.slow

LIVE = "application/vnd.jupyter.widget-view+json"
CLICK = """
def click(prediction, guess):
    field, row = prediction._form._box.children[1:]
    field.value = guess
    row.children[0].click()
"""


class Forms:
    """The outputs of a notebook by display id, as a front end keeps them, and what the cells printed."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.outputs: dict[str, dict[str, Any]] = {}
        kernel.listeners.append(self.take)

    def take(self, message: dict[str, Any]) -> None:
        if message["msg_type"] in ("display_data", "update_display_data"):
            content = message["content"]
            self.outputs[content["transient"].get("display_id")] = content["data"]

    @property
    def last(self) -> dict[str, Any]:
        return list(self.outputs.values())[-1]


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with started(tmp_path_factory.mktemp("home")) as running:
        running.run("from agentkit.classroom import predict, scores\n" + CLICK)
        yield running


def test_a_question_is_a_form_and_becomes_a_sentence_once_the_guess_is_committed(kernel: Kernel) -> None:
    forms = Forms(kernel)
    kernel.run("calls = predict('How many calls?', choices=(2, 3))")
    assert LIVE in forms.last
    kernel.run("click(calls, '3')")
    assert LIVE not in forms.last and "Your guess: 3" in forms.last["text/html"]
    assert kernel.run("calls.reveal(3)") == "How many calls?\n  Your guess: 3  (right)\n  In fact:    3"


def test_a_question_without_choices_has_a_text_field_and_refuses_an_empty_guess(kernel: Kernel) -> None:
    forms = Forms(kernel)
    kernel.run("text = predict('What <b>comes</b> next?')\nclick(text, ' ')")
    assert LIVE in forms.last
    assert "can&#x27;t be empty" in kernel.run("print(text._form._problem.value)")
    kernel.run("click(text, 'an Observation')")
    assert "What &lt;b&gt;comes&lt;/b&gt; next?" in forms.last["text/html"]
    assert "In fact:    4.5" in kernel.run("text.reveal(4.5)")


def test_a_form_that_nobody_used_says_so_when_the_fact_is_revealed(kernel: Kernel) -> None:
    forms = Forms(kernel)
    kernel.run("late = predict('Which engine?', choices=('react', 'dag'))\nlate.reveal('dag')")
    assert LIVE not in forms.last and "You made no guess." in forms.last["text/plain"]


def test_a_form_that_is_closed_leaves_nothing_in_the_page(kernel: Kernel) -> None:
    kernel.run("from comm import get_comm_manager\nbefore = set(get_comm_manager().comms)")
    kernel.run("one = predict('How many?', choices=(1, 2))\ntwo = predict('Why?')")
    assert int(kernel.run("print(len(get_comm_manager().comms) - len(before))")) > 10
    kernel.run("click(one, '1')\ntwo.reveal('because')")
    assert kernel.run("print(set(get_comm_manager().comms) - before)") == "set()"
