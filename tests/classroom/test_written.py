"""`Written`: the model of the lessons about loops."""

from __future__ import annotations

from agentkit import Agent, tool
from agentkit.classroom import Written, action, finish
from agentkit.errors import UsageError


@tool(effect="pure")
def price(item: str) -> str:
    """Look up a price."""
    return {"soup": "6.80", "tea": "3.20"}[item]


SOUP = Written(
    ("thought", "soup cost", action("I look.", "price", item="soup")),
    ("thought", r"Observation: ([\d.]+)", lambda found: finish("Found.", found)),
)


def run(model: Written, task: str, engine: str = "react") -> str | None:
    return Agent(model, [price], engine=engine, journal="memory").run(task).answer


def test_the_first_line_that_fits_is_the_reply_and_a_function_is_given_what_was_found() -> None:
    assert run(SOUP, "What does soup cost?") == "6.80"


def test_an_edited_observation_leads_to_another_reply() -> None:
    held = Agent(SOUP, [price], journal="memory").run("What does soup cost?").run
    held.edit(2, text="7.40")
    held.drive()
    assert held.answer == "7.40"


def test_a_line_fits_only_requests_with_its_role() -> None:
    model = Written(("plan", "", "#E1 = price[tea]"), ("solve", r"\]\n([\d.]+)", "{}".format), ("thought", "", "no"))
    assert run(model, "tea?", "rewoo") == "3.20"


def test_earlier_patterns_are_found_before_the_last_message_and_the_last_one_in_it() -> None:
    model = Written(
        ("thought", (r'"item": "(\w+)"', r"Observation: ([\d.]+)"), lambda item, found: finish("", f"{item}: {found}")),
        ("thought", r"(\w+)\?", lambda item: action("", "price", item=item)),
    )
    assert run(model, "tea?") == "tea: 3.20"


def test_a_list_of_replies_is_used_in_turn_and_then_again() -> None:
    model = Written(("thought", "", ["one", "two"]))
    assert [run(model, "?", "chain_of_thought") for _ in range(3)] == ["one", "two", "one"]


def test_the_tokens_of_a_reply_and_of_the_whole_request_are_counted() -> None:
    model = Written(("thought", "", "12345678"))
    short, long = (Agent(model, engine="chain_of_thought", journal="memory").run("x" * n).usage for n in (4, 404))
    assert long.input - short.input == 100
    assert short.output == long.output == 8 // 4 + 4


def test_a_request_without_a_reply_says_what_was_asked() -> None:
    error = Agent(SOUP, [price], journal="memory").run("tea?").error
    assert isinstance(error, UsageError)
    assert "no reply" in str(error) and "role 'thought'" in str(error) and "tea?" in str(error)
    assert "\n" not in str(error)
