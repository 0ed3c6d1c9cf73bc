"""Values of Python as a view shows them: previews, what is inside, and that nothing of theirs runs."""

from __future__ import annotations

from collections import OrderedDict, defaultdict, namedtuple
from dataclasses import dataclass
from typing import Any

import pytest
from hostile_text import raw_characters, texts

from agentkit import Call, Chat, Message, Reply
from agentkit.errors import UsageError
from agentkit.view import values

Point = namedtuple("Point", "x y")


@dataclass
class Plain:
    steps: list[int]
    title: str


RECORDS = [{"item": f"tea {n}", "price": 60 - n} for n in range(60)]
SECRET = "hunter2hunter2hunter2"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "None"),
        (1.5, "1.5"),
        ("a\nb", "'a b'"),
        (b"a", "b'a'"),
        ([], "[]"),
        ({}, "{}"),
        (set(), "set()"),
        ([1, "two", [3], {"a": 1}], "[1, 'two', [1 item], {1 field}]"),
        ({"a": 1, "b": [1, 2]}, "{a: 1, b: [2 items]}"),
        (OrderedDict(a=1), "OrderedDict{a: 1}"),
        (Point(1, 2), "Point(x=1, y=2)"),
        (Plain([1], "t"), "Plain(steps=[1 item], title='t')"),
        (list(range(1000)), "[0, 1, 2, 3, 4, 5, 6, 7, … 992 more]"),
        (RECORDS, "list of 60 records"),
        (Chat.of("go") + "more", "2 messages"),
        (Message("user", "hello"), "user: hello"),
        (Call("search", {"query": "tea"}), "search(query='tea')"),
        (10**400, "an integer of 1,329 bits"),
    ],
)
def test_the_preview_of_a_value_says_what_it_is(value: Any, text: str) -> None:
    assert values.preview(value)["text"] == text


def test_a_value_opens_member_by_member() -> None:
    held = {"plan": Plain([10, 20], "x" * 500), "point": Point(1, 2)}
    assert [name for name, _ in values.opened(held, [])["members"]] == ["plan", "point"]
    assert [name for name, _ in values.opened(held, [0])["members"]] == ["steps", "title"]
    assert [value["text"] for _, value in values.opened(held, [0, 0])["members"]] == ["10", "20"]
    assert values.opened(held, [0, 1])["text"] == "x" * 500
    assert values.preview(held["plan"].title)["size"] == 500


def test_a_long_list_opens_in_pages() -> None:
    first, last = values.opened(list(range(120)), []), values.opened(list(range(120)), [], first=100)
    assert (len(first["members"]), first["total"]) == (50, 120)
    assert [name for name, _ in last["members"]] == [str(n) for n in range(100, 120)]


def test_a_chat_opens_as_messages() -> None:
    chat = Chat.of("go") + Reply("I look.", (Call("search", {"query": "tea"}, "1"),))
    assert [value["text"] for _, value in values.opened(chat, [])["members"]] == [
        "user: go",
        "assistant: I look. → search(query='tea')",
    ]
    message = values.opened(chat, [1])
    assert [name for name, _ in message["members"]] == ["role", "text", "calls"]
    shown = {"role": "assistant", "text": "I look.", "calls": ["search(query='tea')"], "more": False}
    assert message["messages"] == values.opened(chat, [])["messages"][1:] == [shown]


def test_a_long_message_is_shortened_and_opens_in_full() -> None:
    chat = Chat.of("x" * 10_000)
    (message,) = values.opened(chat, [])["messages"]
    assert len(message["text"]) < message["length"] == 10_000
    assert values.opened(chat, [0, 1])["text"] == "x" * 10_000


def test_records_are_a_table_that_is_sorted_as_a_whole_and_sent_in_pages() -> None:
    table = values.opened(RECORDS, [])
    assert table["header"] == ["item", "price"] and table["total"] == 60 and len(table["rows"]) == 50
    by_price = values.opened(RECORDS, [], order=(1, False))
    assert by_price["rows"][0] == [59, ["tea 59", "1"]]
    assert values.opened(RECORDS, [], order=(1, True), first=50)["rows"][-1] == [59, ["tea 59", "1"]]


def test_records_with_other_keys_and_values_of_any_kind_can_be_sorted() -> None:
    records = [{"a": 2}, {"a": "x", "b": None}, {"a": float("nan")}, {"b": [1]}, {"a": None}, {"a": 1}]
    assert [row[0] for row in values.opened(records, [], order=(0, False))["rows"]] == [5, 0, 2, 1, 3, 4]
    assert [row[0] for row in values.opened(records, [], order=(0, True))["rows"]] == [1, 2, 0, 5, 3, 4]
    assert values.opened([{"a": 1}, {"z": 1}], []).get("rows") is None


ran: list[str] = []


class Hostile:
    """A class whose every method leaves a trace."""

    def __init__(self) -> None:
        object.__setattr__(self, "held", 1)

    def __getattribute__(self, name: str) -> Any:
        ran.append(name)
        raise KeyError(name)

    @property
    def computed(self) -> Any:
        ran.append("computed")

    def __repr__(self) -> str:
        ran.append("repr")
        raise RuntimeError

    __str__ = __len__ = __iter__ = __hash__ = __eq__ = __bool__ = __getitem__ = __repr__  # type: ignore[assignment]


class HostileDict(dict[Any, Any]):
    def items(self) -> Any:
        ran.append("items")
        raise RuntimeError

    __iter__ = __len__ = __getitem__ = keys = values = __repr__ = get = items  # type: ignore[assignment]


class HostileList(list[Any]):
    def __iter__(self) -> Any:
        ran.append("iter")
        raise RuntimeError

    __len__ = __getitem__ = __repr__ = __bool__ = __iter__  # type: ignore[assignment]


class HostileText(str):
    def __str__(self) -> str:
        ran.append("str")
        raise RuntimeError

    __repr__ = __len__ = __iter__ = __getitem__ = __format__ = __str__  # type: ignore[assignment]


def test_no_code_of_a_value_runs_when_it_is_read() -> None:
    ran.clear()
    held = {"a": Hostile(), "b": HostileDict(x=1), "c": HostileList([1, 2]), "d": [HostileDict(x=1), HostileDict(x=2)]}
    assert values.opened(held, [0])["members"] == [["held", values.preview(1)]]
    assert values.opened(held, [1])["members"] == [["x", values.preview(1)]]
    assert values.opened(held, [2])["total"] == 2 and values.opened(held, [3])["rows"] == [[0, ["1"]], [1, ["2"]]]
    assert len(values.variables(held)) == 4
    assert ran == []


def test_a_repr_that_fails_is_caught() -> None:
    class Bare:
        __slots__ = ()

        def __repr__(self) -> str:
            raise KeyError

    assert values.preview(Bare())["text"] == "<its repr raised KeyError>"
    assert values.opened(Bare(), [])["text"] == "<its repr raised KeyError>"
    (shown,) = values.variables({"text": HostileText("x")})
    assert shown[0] == "text"


def test_a_value_that_contains_itself_and_a_deep_one_are_previewed() -> None:
    loop: list[Any] = []
    loop.append(loop)
    deep: Any = 1
    for _ in range(10_000):
        deep = [deep]
    for value in (loop, deep, defaultdict(list, {"a": deep})):
        assert values.preview(value)["size"] == 1 and values.mark(value)
    assert values.opened(deep, [0] * 5_000)["total"] == 1


def test_the_mark_changes_with_the_value_also_deep_inside_it() -> None:
    first, second = {"plan": [{"done": False}]}, {"plan": [{"done": True}]}
    assert values.preview(first) == values.preview(second)
    assert values.mark(first) == values.mark({"plan": [{"done": False}]}) != values.mark(second)


def test_the_mark_of_a_long_chat_changes_with_its_last_message() -> None:
    chat = Chat.of([Message("user", "again")] * 1_000)
    assert values.mark(chat + "yes") == values.mark(chat + "yes") != values.mark(chat + "no")


def test_a_path_that_leads_nowhere_is_refused() -> None:
    for path in ([1], [0, 0], [-1], [0, 0, 0]):
        with pytest.raises(UsageError, match="has changed since it was opened"):
            values.opened({"a": 1}, path)


def test_secrets_are_masked_also_those_that_only_a_name_reveals() -> None:
    held = {"password": SECRET, "rows": [{"password": SECRET, "n": 1}, {"password": SECRET, "n": 2}]}
    held["call"] = Call("login", {"password": SECRET})  # type: ignore[assignment]
    shown = [values.variables(held), values.opened(held, []), values.opened(held, [0]), values.opened(held, [1])]
    shown += [values.opened(held, [2, 1]), values.opened(held, [2, 1, 0]), values.opened(held, [2])]
    assert SECRET not in str(shown)


def test_hidden_characters_in_previews_are_escapes() -> None:
    for text in texts():
        for value in (
            text,
            {text: text},
            [text],
            [{text: text}, {text: text}],
            Plain([1], text),
            Message("user", text),
        ):
            shown = values.preview(value)["text"]
            assert not raw_characters(shown) and "\n" not in shown
