"""Secrets of every shape are masked at every place, and a stream shows what the journal stores.

`AGENTKIT_SIZE` sets how much is tried: 1 in CI; with 100, streams are cut at every byte.
"""

from __future__ import annotations

import html
import json
import logging
import os
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fake_secrets import ALL, KEYS, PRIVATE_KEYS, Fake
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit import Agent, Call, Loop, Reply, tool
from agentkit.agent import log
from agentkit.core import secrets
from agentkit.core.secret_shapes import KEYS as TABLE
from agentkit.core.secret_shapes import NAMES, QUERY_NAMES
from agentkit.core.secrets import Stream, mask, mask_json, mask_start
from agentkit.errors import ModelError
from agentkit.models.base import Abilities
from agentkit.models.cassette import Cassette
from agentkit.models.scripted import Scripted
from agentkit.models.tape import _written, pieces_of
from agentkit.tools.observations import traceback_text

SIZE = int(os.environ.get("AGENTKIT_SIZE", "1"))
NAMED_BY_TEST = [pytest.param(fake, id=fake.name) for fake in ALL]
VALUES = {"SHOP_PASSWORD": "tr0ub4dor!&3 more", "MAIL_SECRET": "ä#b c\"d'e<f>&g", "LONG_TOKEN": "w0rd " * 300}


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    secrets.refresh({})
    yield
    secrets.refresh()


def leaks(fake: Fake, shown: str) -> list[str]:
    """Return each part of a secret, of eight characters, that a text shows."""
    secret, size = fake.secret, min(8, len(fake.secret))
    starts = range(0, len(secret) - size + 1, 1 + len(secret) // 200)
    return [part for at in starts if (part := secret[at : at + size]) in shown]


def streamed(text: str, *sizes: int) -> str:
    """Return what a stream shows of a text that comes in pieces of these sizes, again and again."""
    stream, shown, at, number = Stream(), [], 0, 0
    while at < len(text):
        size = sizes[number % len(sizes)]
        shown.append(stream.add(text[at : at + size]))
        at, number = at + size, number + 1
    return "".join(shown) + stream.end()


# -- the table ---------------------------------------------------------------------------------------------------------


def test_the_table_has_a_source_and_a_fake_for_each_of_its_rows() -> None:
    assert len(KEYS) >= 60 and len(ALL) >= 120 and len({fake.name for fake in ALL}) == len(ALL)
    assert len({row.name for row in TABLE}) == len(TABLE) and all(len(row.source) > 8 for row in TABLE)
    found = {shape for fake in KEYS for shape in _rows_that_match(fake)}
    assert {row.name for row in TABLE} - found == set()
    assert all(name.source for name in (*NAMES, *QUERY_NAMES))


def _rows_that_match(fake: Fake) -> list[str]:
    return [row.name for row in TABLE if re.search(row.pattern, fake.text)]


AROUND = [
    ("", ""),
    ("use ", " now"),
    ('"', '"'),
    ("(", ")."),
    ("line\n", "\nline"),
    ("line\\n", "\\nline"),
    ("x=", "&y"),
]


@pytest.mark.parametrize("fake", NAMED_BY_TEST)
def test_a_secret_is_masked_whatever_stands_around_it(fake: Fake) -> None:
    for before, after in AROUND:
        masked = mask(before + fake.text + after)
        assert not leaks(fake, masked) and "[secret " in masked
        assert mask(masked) == masked


@pytest.mark.parametrize("start", ["\x1b[31m", "%3D", "\\u00e9", "é", "漢字"])
def test_a_key_is_masked_after_an_escape_sequence_and_after_any_letter_that_keys_do_not_have(start: str) -> None:
    assert [fake.name for fake in KEYS + PRIVATE_KEYS if leaks(fake, mask(start + fake.text))] == []


ORDINARY = [
    "A JWT begins with eyJ and has three parts; a PEM file begins with -----BEGIN PRIVATE KEY----- and ends alike.",
    "-----BEGIN CERTIFICATE-----\nMIIDXTCCAkWgAwIBAgIJAKL0UG+mRkmTMA0GCSqGSIb3DQEB\n-----END CERTIFICATE-----",
    "git commit 9fceb02d0ae598e95dc970b74767f19372d6 1af8 and md5 d41d8cd98f00b204e9800998ecf8427e",
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "id 123e4567-e89b-12d3-a456-426614174000, arn:aws:iam::123456789012:role/x, pkg@1.2.3-beta.4",
    "token = get_token()\nself.token = config.token2\ntoken: str = None\npassword = getpass.getpass('Password: ')",
    "api_key = os.environ['X_API_KEY']; secret = secrets.token_hex(16); key = f(api_key=key1(x))",
    "def login(self, password: str, token: Token | None = None) -> Session: ...",
    "if token == other_token or password != '': raise ValueError('wrong password')",
    'token = tokens[0]; password = "$PASSWORD"; secret=${SECRET_1}; key: {{ api_key_2 }}; pwd=<your password>',
    "max_tokens=4096, tokens: 812, total_tokens=1,234; Password: (hidden); --token TOKEN --password $PASSWORD",
    "Cookie: a small cake. The cookie = 3 rule. Cookies: none. document.cookie is read by cookie.split(';')",
    "Authorization: required. Authorization: the act of giving permission. Bearer bonds are bearer instruments.",
    "https://example.org/a?sort=asc&page=2&signature=no&design=1&sig=left http://h:8080/p ssh -p 22 ann@h.example",
    "docker run -u 1000:1000 image; git clone git@github.com:a/b.git; curl -u ann https://h.example",
    "sk-learn-contrib-something-longer, task-force-of-many-people, desk-with-a-lot-of-drawers, xai-explained-simply",
    "hf_hub_download_from_the_hub, npm_config_user_agent, r8_is_a_robot, key-value-store-that-is-persistent, pat.txt",
    "SKELETON, AKIAra, ASIAN, MNOPQRSTUVWXYZ.abcdef.ghijkl, AAAA:BBBB, sl.no, s.a.b.c, v1.0-rc1, t1.micro, dp.pt",
    '{"type":"object","properties":{"token":{"type":"string"},"password":{"description":"The password of the user"}}}',
    '{"max_tokens": 100, "token_type": "bearer", "signature": "def f(x: int) -> str", "sig": "abc", "secret": true}',
    "The private key is in the safe, the public token in the museum, and the password of the day is swordfish.",
    "| key | token |\n|-----|-------|\n| a   | b     |\n\n-----\n\n---- a rule ----\n",
]


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert mask(text) is text
    assert streamed(text, 1) == streamed(text, 3, 7) == text


def test_data_in_base64_and_source_code_stay_as_they_are() -> None:
    import base64

    data = base64.b64encode(random.Random(5).randbytes(30_000)).decode()
    image = f'<img src="data:image/png;base64,iVBORw0KGgo{data}">'
    assert mask(image) is image
    source = (Path(secrets.__file__).parents[1] / "models" / "keys.py").read_text(encoding="utf-8")
    assert mask(source) is source


# -- streams -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fake", NAMED_BY_TEST)
def test_a_stream_that_is_cut_anywhere_shows_what_mask_makes_of_the_whole_text(fake: Fake) -> None:
    text = f"use this: {fake.text} and go on."
    masked = mask(text)
    cuts = range(1, len(text)) if len(text) <= 400 * SIZE else range(1, len(text), 1 + len(text) // (40 * SIZE))
    for cut in cuts:
        assert streamed(text, cut, len(text)) == masked
    assert streamed(text, 1) == streamed(text, 3, 1, 40) == masked


PARTS = [fake.text for fake in ALL]
PARTS += [fake.text[: len(fake.text) // 2] for fake in ALL] + [fake.secret for fake in ALL]
PARTS += [
    "password",
    "=",
    ": ",
    " ",
    "\n",
    "\\n",
    '"',
    "'",
    '\\"',
    "&",
    "?",
    "Authorization",
    "Cookie: ",
    "bearer ",
    "é",
]
PARTS += ["api ", "key", "token", "https://", "a:b@", "@", "-----BEGIN ", "PRIVATE KEY-----", "-----END", "----", "- "]
PARTS += [
    "sid=",
    "; ",
    "--token ",
    "<password>",
    "</",
    "sk-",
    "eyJ",
    ".",
    "漢字",
    "x" * 600,
    "1" * 1_100,
    "-u ann:",
    "> ",
]
PARTS += ["tr0ub4dor", "!&3", " more", 'ä#b c"d', "'e<f>&g", "w0rd ", "w0rd " * 150]


@settings(max_examples=200 * SIZE, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=10), st.lists(st.integers(1, 400), min_size=1, max_size=8))
def test_a_stream_of_any_mixture_shows_what_mask_makes_of_it(parts: list[str], sizes: list[int]) -> None:
    secrets.refresh(VALUES)
    text = "".join(parts)
    assert streamed(text, *sizes) == mask(text)


@pytest.mark.parametrize("value", VALUES.values())
def test_a_secret_of_the_environment_is_masked_in_every_form_and_however_it_is_cut(value: str) -> None:
    from urllib.parse import quote, quote_plus

    secrets.refresh(VALUES)
    for form in (value, json.dumps(value)[1:-1], html.escape(value), quote(value, safe=""), quote_plus(value)):
        text = f"it is {form}, or ({form[:-1]})."
        masked = mask(text)
        assert form not in masked and "[secret " in masked
        assert streamed(text, 1) == streamed(text, 2, 9) == masked
        assert all(streamed(text, cut, len(text)) == masked for cut in range(1, min(len(text), 60)))


def test_no_half_of_a_secret_is_left_where_a_text_is_cut() -> None:
    for fake in ALL:
        text = f"some words, then {fake.text} and more"
        sizes = range(17, len(text), 1 + len(text) // (40 * SIZE))
        assert [size for size in sizes if leaks(fake, mask_start(text, size))] == []


def test_a_private_key_in_a_long_traceback_is_masked_before_the_traceback_is_cut() -> None:
    try:
        raise ValueError(f"{PRIVATE_KEYS[0].text * 30} no")
    except ValueError as error:
        text = traceback_text(error)
    assert not leaks(PRIVATE_KEYS[0], text) and text.endswith(" no")


def test_text_flows_word_by_word_and_little_is_held_back() -> None:
    secrets.refresh(VALUES)
    stream, sent, shown, most = Stream(), 0, 0, 0
    for word in ("The token of the day is the key to a secret, as it is: patience. " * 30).split(" "):
        sent, shown = sent + len(word) + 1, shown + len(stream.add(word + " "))
        most = max(most, sent - shown)
    assert most < 40
    for text in ["x" * 50_000, "-----BEGIN PRIVATE KEY-----\nno key at all, " * 3_000, "Cookie: a=" + "b" * 50_000]:
        stream = Stream()
        assert all(_held(stream, text[at : at + 50]) < 16_000 for at in range(0, len(text), 50))


def _held(stream: Stream, piece: str) -> int:
    stream.add(piece)
    return sum(len(flow._held) + len(flow._before) for flow in stream._flows)


HOSTILE = [
    "a",
    "-",
    "eyJ",
    "=",
    "sk-",
    ".",
    "_",
    "M.",
    "password=",
    "password ",
    "token:",
    "://a:",
    "-u a:",
    "Cookie: ",
]
HOSTILE += [
    "----",
    "-----BEGIN PRIVATE KEY-----",
    "&sig=",
    'token="',
    "AKIA",
    "SK",
    "Authorization: Bearer ",
    "api key ",
]


@pytest.mark.parametrize("unit", HOSTILE)
def test_hostile_text_takes_linear_time(unit: str) -> None:
    text = unit * (200_000 * min(SIZE, 5) // len(unit))
    start = time.process_time()
    mask(text)
    streamed(text, 50)
    assert time.process_time() - start < 30  # well under a second; quadratic time would take minutes


# -- nested data -------------------------------------------------------------------------------------------------------


def test_secrets_in_nested_data_in_keys_and_in_bytes_are_masked() -> None:
    for fake in ALL:
        data = {"a": [{"b": (fake.text, 1)}], fake.text: {"c": fake.text.encode()}}
        masked = mask_json(data)
        assert not leaks(fake, repr(masked)) and not leaks(fake, masked["a"][0]["b"][0])


@pytest.mark.parametrize(
    ("data", "masked"),
    [
        ({"password": "correct horse battery"}, {"password": "[secret password]"}),
        ({"Authorization": "Basic dXNlcjpwYXNz"}, {"Authorization": "[secret authorization]"}),
        ({"set-cookie": "sid=abc; Path=/"}, {"set-cookie": "[secret set-cookie]"}),
        ({"AccountKey": "abcd"}, {"AccountKey": "[secret accountkey]"}),
        ({"private_key_id": "abcd"}, {"private_key_id": "[secret private_key_id]"}),
        ({"x-api-key": "abcd"}, {"x-api-key": "[secret x-api-key]"}),
        ({"cookie": "chocolate", "authorization": "required", "token": 5, "key": "value"}, None),
    ],
)
def test_a_field_whose_name_is_that_of_a_secret_is_masked(data: Any, masked: Any) -> None:
    assert mask_json(data) == (masked or data)


# -- places ------------------------------------------------------------------------------------------------------------


@tool(effect="pure")
def look(what: Any) -> str:
    """Look at something."""
    return f"seen: {what['deep'][0]}"


@tool(effect="pure")
def fail(what: str) -> str:
    """Raise an error."""
    raise RuntimeError(f"not with {what}")


def _replies() -> Iterator[Reply]:
    for number, fake in enumerate(ALL):
        text = f"I use {fake.text} now."
        calls = (
            Call("look", {"what": {"deep": [f"line\n{fake.text}\n"], f"as {fake.text}": 1}}, f"a{number}"),
            Call("fail", {"what": fake.text}, f"b{number}"),
        )
        yield Reply(text, calls, reasoning=f"With {fake.text} it goes.")
    yield Reply("The last one: " + ALL[0].text)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return everything that a run shows and stores, of a run that works with each of the secrets."""
    secrets.refresh({})
    folder = tmp_path_factory.mktemp("run")
    heard: dict[str, list[str]] = {name: [] for name in ("chunks", "thoughts", "events", "lines", "steps")}
    handler = logging.Handler()
    handler.emit = lambda record: heard["lines"].append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger("agentkit")
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    model = Scripted([*_replies()], abilities=Abilities(tools=True), chunks=3)
    size = len(ALL) + 5
    agent = Agent(model, [look, fail], engine=Loop("react", max_iterations=size), journal=folder / "runs.db")
    run = agent.start("\n".join(f"line\n{fake.text}\n" for fake in ALL), paused=True)
    log.attach(run)
    log.on_step(run, lambda *step: heard["steps"].append(str(step)))

    def hear(event: Any) -> None:
        heard["events"].append(f"{event!r} {event.to_dict()}")
        if event.kind == "model_chunk":
            heard["chunks"].append(event.data["text"])
            heard["thoughts"].append(event.data["reasoning"])

    run.on_event(hear)
    run.drive()
    logger.removeHandler(handler)
    logger.setLevel(level)
    assert run.status == "done" and len(run.entries) > 3 * len(ALL)
    replies = [entry.result for entry in run.entries if entry.kind == "think"]
    assert "".join(heard["chunks"]) == "".join(reply.text for reply in replies)
    assert "".join(heard["thoughts"]) == "".join(reply.reasoning for reply in replies)
    found = {
        "journal rows": "\n".join(map(_everything, agent.journal.rows(run.id))),  # type: ignore[union-attr]
        "live stream": "".join(heard["chunks"] + heard["thoughts"]),
        "events as they happen": "\n".join(heard["events"]),
        "events of a run": "\n".join(str(event.to_dict()) for event in run.events()),
        "log lines": "\n".join(heard["lines"] + heard["steps"]),
        "reprs": "\n".join([repr(run), repr(run.result), repr(run.branches()), str(run), *map(repr, run.entries)]),
        "notebook": json.dumps(run.to_notebook(), default=str, ensure_ascii=False),
        "HTML": html.unescape(run.to_html()),
        "Markdown": html.unescape(run.to_markdown()),
        "JSON": json.dumps(run.to_json(), ensure_ascii=False),
        "error texts": "\n".join(_error_of_a_run(fake, folder) for fake in ALL),
    }
    agent.journal.close()  # type: ignore[union-attr]
    raw = b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())
    found["bytes of the files"] = raw.decode("latin-1")
    return found


def _everything(row: Any) -> str:
    fields = [
        str(getattr(row, name)) for name in ("step", "performed", "result", "data", "reason") if hasattr(row, name)
    ]
    return repr(row) + "".join(fields)


def _error_of_a_run(fake: Fake, folder: Path) -> str:
    """Return everything that is shown of a run whose model fails with a secret in its error."""
    run = Agent(Scripted([ModelError(f"401 for {fake.text}")]), journal=folder / "runs.db").start("q", paused=True)
    heard: list[str] = []
    run.on_event(lambda event: heard.append(str(event.to_dict())))
    run.drive()
    assert run.status == "failed"
    return "\n".join([repr(run), repr(run.result), run.hold, run.to_markdown(), *heard])


@pytest.mark.slow
def test_each_secret_is_masked_at_every_place(places: dict[str, str]) -> None:
    shown = [
        (place, fake.name, found[:2]) for place, text in places.items() for fake in ALL if (found := leaks(fake, text))
    ]
    assert len(places) == 12 and shown == []
    assert all(text.count("[secret ") >= len(ALL) for text in places.values())


@pytest.mark.slow
def test_a_cassette_and_a_tape_hold_no_secret_even_if_it_came_in_pieces(tmp_path: Path) -> None:
    for number, fake in enumerate(ALL):
        path = tmp_path / f"{number}.json"
        model = Cassette(path, mode="record", model=Scripted([Reply(f"It is {fake.text}.")], chunks=3))
        Agent(model, journal=None).run(f"Use {fake.text}")
        text = f"It is {fake.text}."
        pieces = [text[at : at + 3] for at in range(0, len(text), 3)]
        lines = [json.dumps({"choices": [{"delta": {"content": piece}}], "id": "chatcmpl-1"}) for piece in pieces]
        sent = [f"data: {line}\n\n".encode() for line in lines]
        stored = _written([*sent, b"data: [DONE]\n\n"])
        played = b"".join(pieces_of(stored)).decode()
        again = [json.loads(line[6:]) for line in played.split("\n") if line.startswith("data: {")]
        content = "".join(event["choices"][0]["delta"]["content"] for event in again)
        assert content == mask(text) and len(again) == len(pieces) and played.endswith("data: [DONE]\n\n")
        assert not leaks(fake, path.read_text(encoding="utf-8") + json.dumps(stored) + content)
