"""Random chats for property tests: any roles, calls, results, ids that repeat, odd characters, and forks."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from agentkit.core.messages import Call, Chat, Message

HOST = "127.0.0.1:9"

texts = st.sampled_from(
    ["", " ", "hi", "Grüße 😀", "half \ud83d", "line\nbreak", '"quoted"\\', "x" * 51_000]
) | st.text(max_size=20)
ids = st.sampled_from(["a", "b", "c", "a_2", "call", ""])  # few, so that they repeat
arguments = st.sampled_from([{}, {"a": 1, "b": 2.0}, {"q": "ü\ud83d"}, {"deep": [{"x": None}]}])
calls = st.builds(
    Call, st.sampled_from(["add", "odd name", "sub"]), arguments, ids, st.sampled_from([None, "{"]), st.just("")
)


@st.composite
def assistants(draw: st.DrawFn) -> Message:
    text, asked = draw(texts), tuple(draw(st.lists(calls, max_size=3)))
    thinking = {"type": "thinking", "thinking": "so", "signature": "s"}
    uses = [{"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments} for call in asked]
    blocks = [thinking, {"type": "text", "text": text.rstrip()}, *uses]
    opaque = draw(
        st.sampled_from(
            [None, "odd", {"provider": HOST, "message": {"details": [1]}, "blocks": blocks}, {"provider": "elsewhere"}]
        )
    )
    raw, dialect = draw(st.sampled_from(["", "as written"])), draw(st.sampled_from(["", "native", "json", "text"]))
    return Message("assistant", text, asked, raw=raw, dialect=dialect, opaque=opaque)


messages = st.one_of(
    st.builds(Message, st.sampled_from(["user", "system"]), texts),
    assistants(),
    st.builds(lambda text, id: Message("tool", text, call_id=id, name="add"), texts, ids),
)

growths: st.SearchStrategy[list[tuple[int, list[Message]]]] = st.lists(
    st.tuples(st.integers(0, 30), st.lists(messages, min_size=1, max_size=6)), min_size=1, max_size=10
)
"""How some chats grow: for each step, which of the chats so far is continued (0: the newest), and with what."""


def grown(growth: list[tuple[int, list[Message]]]) -> list[Chat]:
    """Return the chats of a growth; each continues an earlier one."""
    chats: list[Any] = [Chat.of([])]
    for back, more in growth:
        chats.append(chats[-1 - back % len(chats)] + more)
    return chats
