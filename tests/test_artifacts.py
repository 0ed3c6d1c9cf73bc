"""What a tool made to be looked at: a short text for the model in every dialect, a preview for the person."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentkit import Agent, Call, Reply, Run, tool
from agentkit.models import Scripted
from agentkit.models.base import Abilities
from agentkit.view.cards import card

PAGE = f"<!doctype html><title>Report</title><h1>Rain</h1>{'<p class=row>3 mm</p>' * 500}"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
CALLS = {
    "native": Reply("", (Call("make", {}, "c"),)),
    "json": '{"type": "tool_call", "reasoning": "", "tool_name": "make", "tool_args": {}}',
    "text": "Action: make\nAction Input: {}",
}
ANSWERS = {"native": "done", "json": '{"type": "final_answer", "answer": "done"}', "text": "FINAL_ANSWER: done"}


class Chart:
    title = "Rain"

    def _repr_png_(self) -> bytes:
        return PNG


def page() -> str:
    return PAGE


def picture() -> bytes:
    return PNG


def frame() -> Any:
    pandas = pytest.importorskip("pandas")
    return pandas.DataFrame({"city": ["Bern", "Oslo"] * 200, "rain": range(400)})


def run_of(make: Any, dialect: str = "native", **options: Any) -> tuple[Run, str]:
    """Return a run whose only call returns what `make` does, and the last request of its model as a text."""
    model = Scripted([CALLS[dialect], ANSWERS[dialect]], abilities=Abilities(tools=dialect == "native"))
    tools = [tool(name="make", effect="pure", **options)(make)]
    result = Agent(model, tools, journal="memory", dialect=dialect).run("q")
    assert result.answer == "done"
    return result.run, json.dumps(model.requests[-1]["messages"])


@pytest.mark.parametrize("dialect", ["native", "json", "text"])
@pytest.mark.parametrize(
    ("make", "shown", "preview"),
    [
        (page, "[Artifact generated: Report] The user sees it (text/html)", "page"),
        (frame, "[Artifact generated: DataFrame] The user sees it (text/html)", "table"),
        (picture, "[Artifact generated: picture] The user sees it (image/png)", "image"),
        (Chart, "[Artifact generated: Rain] The user sees it (image/png)", "image"),
    ],
)
def test_the_model_reads_a_short_text_and_the_person_sees_a_preview(
    make: Any, shown: str, preview: str, dialect: str
) -> None:
    run, request = run_of(make, dialect)
    assert shown in request and "<p" not in request and "iVBOR" not in request
    assert len(run[2].result.text) < 2_300
    assert [item["type"] for item in card(run[2], 2)["items"]] == [preview]
    static = run.to_html()
    assert {"page": "<iframe", "table": "<table", "image": "<img"}[preview] in static


def test_a_tool_declares_that_the_model_reads_the_whole_page() -> None:
    run, request = run_of(page, artifact=False)
    assert run[2].result.text == PAGE and json.dumps(PAGE)[1:-1] in request
    assert "[Artifact generated: text] The user sees it (text/markdown)" in run_of(lambda: "# Rain", artifact=True)[1]


def test_a_tool_that_ends_the_turn_answers_with_its_page() -> None:
    model = Scripted([CALLS["native"]], abilities=Abilities(tools=True))
    tools = [tool(name="make", ends_turn=True)(page)]
    assert Agent(model, tools, journal="memory").run("q").answer == PAGE


def test_what_a_person_writes_instead_of_a_tool_is_read_as_it_is() -> None:
    model = Scripted([CALLS["native"], "done"], abilities=Abilities(tools=True))
    run = Agent(model, [tool(name="make")(page)], journal="memory", approve=True).start("q", paused=True)
    run.drive()
    run.respond("<p>rain</p>")
    assert run[2].result.text == "<p>rain</p>"


class Handle: ...


def test_an_object_without_a_text_is_a_failure_of_the_tool_that_says_what_to_return() -> None:
    run, request = run_of(Handle)
    assert not run[2].result.ok
    assert "ran, but the model cannot read what it returned: an object of type Handle" in request
    assert "A tool returns data (a dict, a list, a dataclass" in request
    run, request = run_of(lambda: {"rows": 3, "by": Handle()})
    assert run[2].result.ok and "an object of type Handle, which has no text of its own" in request
