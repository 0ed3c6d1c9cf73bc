"""What a server answers: runs are started, watched, steered and decided about over HTTP."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from serving import TOKEN, WATCH_TOKEN, Client, serving

import agentkit
from agentkit import Agent, Call, Reply, tool
from agentkit.agent.signals import wait_for_signal
from agentkit.errors import Undecided, UsageError
from agentkit.models import Scripted
from agentkit.models.base import Abilities
from agentkit.serve import Server, app
from agentkit.serve.app import resume
from agentkit.serve.hub import MAX_TASK

NATIVE = Abilities(tools=True)


@tool(effect="pure")
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool(effect="irreversible", approve=True)
def pay(amount: int) -> str:
    """Pay an amount."""
    return f"paid {amount}"


def calling(tool: str, **arguments: Any) -> Reply:
    return Reply("", (Call(tool, arguments, "c"),))


def until(check: Callable[[], Any], timeout: float = 30) -> Any:
    """Return the value of `check()` as soon as it is true."""
    end = time.monotonic() + timeout
    while not (value := check()):
        assert time.monotonic() < end, "it did not become true"
        time.sleep(0.01)
    return value


@pytest.fixture(scope="module")
def paying() -> Iterator[tuple[Server, Client]]:
    """A server of an agent that pays what it is asked to."""

    def answer(request: Any) -> Any:
        texts = [message["content"] for message in request.messages]
        return "done" if any("paid" in str(t) or "rejected" in str(t) for t in texts) else calling("pay", amount=5)

    with serving(Agent(Scripted(itertools.repeat(answer), abilities=NATIVE), [pay], journal="memory")) as pair:
        yield pair


@pytest.fixture
def waiting(paying: tuple[Server, Client]) -> tuple[Client, str]:
    """A client, and a run that waits for an approval."""
    client = paying[1]
    id = client.start()
    until(lambda: client.get(f"/runs/{id}").json()["status"] == "waiting")
    return client, id


def test_a_run_is_started_and_its_frames_are_streamed_to_the_end() -> None:
    agent = Agent(Scripted([calling("add", a=1, b=2), "three"], chunks=2), [add], journal="memory")
    with serving(agent) as (_, client):
        answer = client.post("/runs", {"task": "1 + 2"})
        assert answer.status_code == 201 and answer.headers["x-run-id"] == answer.json()["id"]
        found = client.events(answer.json()["id"])
        assert [frame.data["observation"] for frame in found if "observation" in frame.data] == ["3"]
        assert "".join(f.data["content"] for f in found if f.data.get("status") == "delta") == "three"
        assert found[-1].event == "done" and found[-1].data["answer"] == "three"
        about = client.get(f"/runs/{answer.json()['id']}").json()
        assert about["status"] == "done" and about["answer"] == "three" and about["usage"]["calls"] == 2


def test_a_client_that_accepts_a_stream_gets_it_from_the_start_also_without_a_journal() -> None:
    with (
        serving(Agent(Scripted(["hello"], chunks=1), journal=None)) as (_, client),
        client.http.stream("POST", "/runs", json={"task": "hi"}, headers={"accept": "text/event-stream"}) as answer,
    ):
        assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["x-run-id"] and answer.headers["cache-control"] == "no-store"
        text = "".join(answer.iter_text())
    assert '"status":"start"' in text and text.count("event: done\n") == 1


def test_the_stream_goes_on_after_each_id_with_exactly_the_rest() -> None:
    agent = Agent(Scripted([calling("add", a=n, b=n) for n in range(4)] + ["end"]), [add], journal="memory")
    with serving(agent) as (_, client):
        id = client.start()
        whole = client.events(id)
        kept = [frame for frame in whole if frame.id]
        for n, frame in enumerate(kept):
            rest = client.events(id, frame.id)
            assert [f.id for f in rest if f.id] == [f.id for f in kept[n + 1 :]]
        with client.stream(id, kept[2].id, header=False) as found:
            assert [f.id for f in found if f.id] == [f.id for f in kept[3:]]


@pytest.mark.parametrize("after", ["x", "1.", ".1", "-1.0", "1.0.0", "1e3", "9" * 40, "1.0\x00", "١٢"])
def test_an_id_that_is_none_is_refused(paying: tuple[Server, Client], after: str) -> None:
    client = paying[1]
    id = client.start(paused=True)
    answer = client.get(f"/runs/{id}/events", params={"after": after})
    assert answer.status_code == 400 and "id" in answer.json()["error"]


def test_a_run_that_is_started_paused_waits_until_it_is_resumed() -> None:
    with serving(Agent(Scripted(["hello"]), journal="memory")) as (_, client):
        id = client.start(paused=True)
        assert client.get(f"/runs/{id}").json()["status"] == "paused"
        assert client.post(f"/runs/{id}/resume").status_code == 202
        assert client.events(id)[-1].data["answer"] == "hello"
        assert client.post(f"/runs/{id}/resume").status_code == 409  # it is over


def test_a_message_is_injected_and_the_model_hears_it() -> None:
    model = Scripted(["hello"])
    with serving(Agent(model, journal="memory")) as (_, client):
        id = client.start(paused=True)
        assert client.post(f"/runs/{id}/inject", {"text": "in French"}).status_code == 202
        client.post(f"/runs/{id}/resume")
        assert [f.data["content"] for f in client.events(id) if f.event == "inject"] == ["in French"]
    assert "in French" in str(model.requests[0])


def test_a_run_is_paused_and_stopped_while_it_plays() -> None:
    begun, go = threading.Event(), threading.Event()

    @tool(effect="pure")
    def wait() -> str:
        """Wait."""
        begun.set()
        go.wait(30)
        return "waited"

    agent = Agent(Scripted([calling("wait"), calling("wait"), "end"]), [wait], journal="memory")
    with serving(agent) as (_, client):
        id = client.start()
        assert begun.wait(30)
        assert client.post(f"/runs/{id}/pause").status_code == 202
        go.set()
        until(lambda: client.get(f"/runs/{id}").json()["status"] == "paused")
        begun.clear()
        go.clear()
        client.post(f"/runs/{id}/resume")
        assert begun.wait(30)
        assert client.post(f"/runs/{id}/stop").status_code == 202
        until(lambda: client.get(f"/runs/{id}").json()["status"] == "stopped")
        go.set()


def test_a_signal_reaches_the_tool_that_waits_for_it() -> None:
    script = [calling("wait_for_signal", name="go"), "end"]
    with serving(Agent(Scripted(script), [wait_for_signal], journal="memory")) as (_, client):
        id = client.start()
        until(lambda: [f for f in client.get(f"/runs/{id}").json() if f])
        assert client.post(f"/runs/{id}/signal", {"name": "go", "value": {"n": 1}}).status_code == 202
        found = client.events(id)
    assert [f.data["observation"] for f in found if "observation" in f.data] == ['{"n": 1}']


def test_a_call_that_waits_is_described_and_approved(waiting: tuple[Client, str]) -> None:
    client, id = waiting
    about = client.get(f"/runs/{id}").json()
    [asked] = about["waiting"]
    assert asked["name"] == "pay" and asked["arguments"] == {"amount": 5} and "approve" in asked["choices"]
    assert client.get("/runs").json()["runs"][0]["status"] == "waiting"  # first in the list
    assert client.post(f"/runs/{id}/resume").status_code == 409
    assert client.post(f"/runs/{id}/decide", {"which": asked["which"], "approve": True}).status_code == 202
    found = client.events(id)
    assert [f.data["observation"] for f in found if "observation" in f.data] == ["paid 5"]
    again = client.post(f"/runs/{id}/decide", {"which": asked["which"], "approve": True})
    assert again.status_code == 400 and "not waiting" in again.json()["error"]


@pytest.mark.parametrize(
    ("decision", "seen"),
    [
        ({"approve": True, "arguments": {"amount": 3}}, "paid 3"),
        ({"reject": "too much"}, "too much"),
        ({"respond": "paid by hand"}, "paid by hand"),
    ],
)
def test_a_person_decides_in_another_way(waiting: tuple[Client, str], decision: Any, seen: str) -> None:
    client, id = waiting
    assert client.post(f"/runs/{id}/decide", decision).status_code == 202
    until(lambda: client.get(f"/runs/{id}").json()["status"] == "done")
    assert seen in json.dumps([frame.data for frame in client.events(id)])


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"approve": True, "reject": "no"},
        {"approve": False},
        {"approve": "yes"},
        {"approve": True, "which": 7},
        {"approve": True, "which": "nothing"},
        {"approve": True, "remember": "always"},  # it would write to the settings of the person
        {"reject": "no", "arguments": {"amount": 1}},
        {"approve": True, "arguments": "amount"},
        {"respond": "x", "more": 1},
    ],
)
def test_a_decision_that_is_none_is_refused_and_nothing_happens(waiting: tuple[Client, str], body: Any) -> None:
    client, id = waiting
    answer = client.post(f"/runs/{id}/decide", body)
    assert answer.status_code == 400 and answer.json()["error"]
    assert client.get(f"/runs/{id}").json()["status"] == "waiting"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"{",
        b"\xff",
        b'{"task": 1}',
        b'{"task": ""}',
        b'{"task": []}',
        b'{"task": [{"role": "x"}]}',
        b'{"task": "x", "paused": "yes"}',
        b'{"task": "x", "session": 1}',
        b'{"task": "x", "session": "' + b"s" * 201 + b'"}',
        b'{"task": "x", "journal": "/tmp/x"}',
        b'{"task": ' + b"[" * 5_000 + b"]" * 5_000 + b"}",
    ],
)
def test_a_body_that_starts_nothing_is_refused(paying: tuple[Server, Client], content: bytes) -> None:
    client = paying[1]
    before = len(client.get("/runs").json()["runs"])
    answer = client.http.post("/runs", content=content)
    assert answer.status_code == 400 and isinstance(answer.json()["error"], str)
    assert len(client.get("/runs").json()["runs"]) == before


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/runs/nothing", 404),
        ("GET", "/runs/nothing/events", 404),
        ("POST", "/runs/nothing/resume", 404),
        ("POST", "/runs/nothing/signal", 404),
        ("GET", "/runs/..%2f..%2fetc%2fpasswd", 404),
        ("GET", "/runs/%00", 404),
        ("GET", "/runs/\U0001f600", 404),
        ("GET", "/nothing", 404),
        ("POST", "/runs/x/nothing", 404),
        ("DELETE", "/runs", 405),
        ("PUT", "/runs/x", 405),
    ],
)
def test_what_is_not_there_is_an_error_as_json(
    paying: tuple[Server, Client], method: str, path: str, status: int
) -> None:
    body = {"name": "x"} if path.endswith("signal") else {}
    answer = paying[1].http.request(method, path, json=body)
    assert answer.status_code == status and isinstance(answer.json()["error"], str)


def test_an_error_of_the_server_does_not_say_what_it_was(caplog: pytest.LogCaptureFixture) -> None:
    class Broken:
        """A journal whose disk is gone."""

        durable = False

        def __getattr__(self, name: str) -> Any:
            def fail(*arguments: Any, **options: Any) -> Any:
                raise RuntimeError("the secret of the disk")

            return fail

    with serving(Agent("offline", journal=Broken())) as (_, client):
        answer = client.get("/runs")
        assert answer.status_code == 500 and "secret" not in answer.text
        assert client.get("/health").json() == {"status": "ok"}
    assert "the secret of the disk" in caplog.text and TOKEN not in caplog.text


def test_a_model_that_fails_ends_the_stream_with_error_and_done_and_the_run_can_go_on() -> None:
    with serving(Agent(Scripted([ValueError("no model today"), "hello"]), journal="memory")) as (_, client):
        id = client.start()
        first = client.events(id)
        assert [frame.event for frame in first][-2:] == ["error", "done"] and "no model today" in str(first[-2].data)
        assert client.post(f"/runs/{id}/resume").status_code == 202
        until(lambda: client.get(f"/runs/{id}").json()["status"] == "done")
        assert client.events(id, first[-1].id)[-1].data["answer"] == "hello"


def test_a_client_that_leaves_does_not_stop_the_run() -> None:
    begun, go = threading.Event(), threading.Event()

    @tool(effect="pure")
    def wait() -> str:
        """Wait."""
        begun.set()
        go.wait(30)
        return "waited"

    with serving(Agent(Scripted([calling("wait"), "end"]), [wait], journal="memory")) as (server, client):
        with client.http.stream("POST", "/runs", json={"task": "x"}, headers={"accept": "text/event-stream"}) as answer:
            id = answer.headers["x-run-id"]
            assert begun.wait(30)
        until(lambda: not server.app.streams.open)
        go.set()
        assert client.events(id)[-1].data["answer"] == "end"


def test_a_hundred_watchers_of_one_run_get_the_same_frames() -> None:
    go = threading.Event()

    @tool(effect="pure")
    def wait() -> str:
        """Wait."""
        go.wait(30)
        return "waited"

    with serving(Agent(Scripted([calling("wait"), "the end"]), [wait], journal="memory")) as (server, client):
        id = client.start()
        seen: list[list[Any]] = []
        threads = [
            threading.Thread(target=lambda: seen.append([(f.event, f.id) for f in client.events(id)]))
            for _ in range(100)
        ]
        for thread in threads:
            thread.start()
        until(lambda: len(server.app.streams.open) == 100)
        go.set()
        for thread in threads:
            thread.join(60)
        kept = [[frame for frame in frames if frame[1]] for frames in seen]
        assert len(kept) == 100 and all(frames == kept[0] for frames in kept) and kept[0][-1][0] == "done"


def test_only_so_many_streams_are_open_at_once() -> None:
    with serving(Agent(Scripted(["x"]), journal="memory"), max_streams=2) as (server, client):
        id = client.start(paused=True)
        with client.stream(id), client.stream(id):
            until(lambda: len(server.app.streams.open) == 2)
            refused = client.get(f"/runs/{id}/events")
            assert refused.status_code == 503 and refused.headers["retry-after"]
            assert client.post("/runs", {"task": "x"}, headers={"accept": "text/event-stream"}).status_code == 503
        until(lambda: not server.app.streams.open)
        assert [info.run for info in agentkit.runs("memory")].count(id) == 1
        client.post(f"/runs/{id}/resume")
        assert client.events(id)[-1].event == "done"


def test_a_run_of_the_notebook_is_there_too_with_the_same_frames() -> None:
    agent = Agent(Scripted(["one", "two"]), journal="memory")
    own = agent.start("from the notebook", paused=True)
    with serving(agent) as (server, client):
        assert own.id in [line["id"] for line in client.get("/runs").json()["runs"]]
        client.post(f"/runs/{own.id}/resume")
        assert client.events(own.id)[-1].data["answer"] == own.wait().answer
        other = Agent(Scripted(["three"]), journal=None).start("of another agent", paused=True)
        address = server.show(other, browser=False)
        assert f"/runs/{other.id}/view?token={TOKEN}" in address
        other.drive()
        assert client.events(other.id)[-1].data["answer"] == "three"


def test_a_recorded_run_is_looked_at_without_a_write_and_its_stream_goes_on_when_it_is_resumed(tmp_path: Any) -> None:
    path = tmp_path / "runs.db"
    agent = Agent(Scripted([calling("add", a=1, b=2)]), [add], journal=path)
    run = agent.start("x", paused=True)
    next(run)
    run.close()
    reopened = Agent(Scripted(["end"], abilities=NATIVE), [add], journal=path)
    before = path.read_bytes(), agentkit.look(run.id, journal=path).rows()
    with serving(reopened) as (_, client):
        assert client.get(f"/runs/{run.id}").json()["status"] == "readonly"
        with client.stream(run.id) as found:
            first = next(frame for frame in found if frame.data.get("status") == "done")
            assert len(agentkit.look(run.id, journal=path).rows()) == len(before[1])
            assert client.post(f"/runs/{run.id}/resume").status_code == 202
            rest = list(found)
        assert rest[-1].data["answer"] == "end", rest
        ids = [frame.id for frame in [first, *rest] if frame.id]
        assert len(ids) == len(set(ids))


def test_a_run_that_is_over_is_done_also_for_a_server_that_was_started_later(tmp_path: Any) -> None:
    run = Agent(Scripted(["end"]), journal=tmp_path / "runs.db").start("x", paused=True)
    run.drive()
    run.close()
    with serving(Agent(Scripted([]), journal=tmp_path / "runs.db")) as (_, client):
        assert client.get(f"/runs/{run.id}").json()["status"] == "done"
        assert [line["status"] for line in client.get("/runs").json()["runs"]] == ["done"]


def test_a_token_for_watching_sees_the_runs_and_changes_nothing() -> None:
    with serving(Agent(Scripted(["hello"]), journal="memory")) as (server, client):
        id = client.start(paused=True)
        watching = Client(server.url, WATCH_TOKEN)
        assert watching.get("/runs").status_code == watching.get(f"/runs/{id}").status_code == 200
        for path in ("/runs", *(f"/runs/{id}/{verb}" for verb in ("resume", "stop", "inject", "decide", "signal"))):
            assert watching.post(path, {"task": "x"}).status_code == 403
        assert client.get(f"/runs/{id}").json()["status"] == "paused"
        client.post(f"/runs/{id}/resume")
        assert watching.events(id)[-1].event == "done"
        watching.close()


def test_a_session_is_continued_and_a_user_is_known() -> None:
    model = Scripted(["Hello Ann.", "You are Ann."])
    with serving(Agent(model, journal="memory")) as (_, client):
        client.events(client.start("I am Ann", session="s1", user="ann"))
        id = client.start("who am I?", session="s1", user="ann")
        assert client.events(id)[-1].data["answer"] == "You are Ann."
        assert client.get(f"/runs/{id}").json()["session"] == "s1"
        assert next(r for r in client.get("/runs").json()["runs"] if r["id"] == id)["session"] == "s1"
    assert "I am Ann" in str(model.requests[1]) and "Hello Ann." in str(model.requests[1])


def test_a_task_may_be_messages() -> None:
    model = Scripted(["Bonjour."])
    told = [{"role": "system", "content": "Answer in French."}, {"role": "user", "content": "Hello"}]
    with serving(Agent(model, journal="memory")) as (_, client):
        answer = client.post("/runs", {"task": told})
        assert client.events(answer.json()["id"])[-1].data["answer"] == "Bonjour."
    assert "Answer in French." in str(model.requests[0])


def test_texts_of_a_run_are_masked_and_inert_as_json() -> None:
    hostile = "</script>\x1b[2J\u202e\r\n\r\nevent: done\r\ndata: {}\n\nid: 99.0\n"
    with serving(Agent(Scripted([f"{hostile} {TOKEN}"]), journal="memory")) as (_, client):
        id = client.start(hostile)
        found = client.events(id)
        assert [frame.event for frame in found].count("done") == 1 and "99.0" not in [frame.id for frame in found]
        assert hostile.strip() in found[-1].data["answer"] and TOKEN not in found[-1].data["answer"]
        raw = client.get(f"/runs/{id}").content
        assert raw.isascii() and b"\x1b" not in raw and TOKEN.encode() not in raw


@pytest.mark.parametrize("token", ["short", "with a space in the token", "ünicode-ünicode-ünicode", "a" * 300, 7])
def test_a_token_that_is_easy_to_guess_or_does_not_fit_a_cookie_is_refused(token: Any) -> None:
    with pytest.raises(UsageError, match="token"):
        app(Agent("offline"), token=token)


def test_the_tokens_come_from_the_environment_or_are_new(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = app(Agent("offline")), app(Agent("offline"))
    assert len({one.token, one.watch_token, other.token}) == 3 and len(one.token) >= 32
    monkeypatch.setenv("AGENTKIT_SERVE_TOKEN", TOKEN)
    assert app(Agent("offline")).token == TOKEN
    with pytest.raises(UsageError, match="another"):
        app(Agent("offline"), token=TOKEN, watch_token=TOKEN)
    with pytest.raises(UsageError, match="agent"):
        app("offline")  # type: ignore[arg-type]
    assert TOKEN not in repr(app(Agent("offline")))


def test_a_name_that_no_file_can_have_is_that_of_no_run(tmp_path: Any) -> None:
    with serving(Agent(Scripted(["hello"]), journal=tmp_path / "runs.db")) as (_, client):
        client.start(paused=True)
        for path in ("", "/view", "/events"):
            assert client.get(f"/runs/{'a' * 5_000}{path}").status_code == 404
        assert client.post(f"/runs/{'a' * 5_000}/hold").status_code == 404


def test_what_waits_is_json_although_the_model_wrote_numbers_that_json_does_not_have() -> None:
    odd = calling("pay", amount=float("nan"), more=float("inf"), text="\ud800")
    with serving(Agent(Scripted([odd], abilities=NATIVE), [pay], journal="memory")) as (_, client):
        id = client.start()
        until(lambda: client.get(f"/runs/{id}").json()["status"] == "waiting")
        json.loads(client.get(f"/runs/{id}").text, parse_constant=pytest.fail)


def test_the_list_has_the_beginning_of_a_long_task() -> None:
    with serving(Agent(Scripted(["hello"]), journal="memory")) as (_, client):
        id = client.start("a" * 100_000, paused=True)
        [line] = [line for line in client.get("/runs").json()["runs"] if line["id"] == id]
        assert line["task"] == "a" * MAX_TASK
        assert "a" * 100_000 in client.get(f"/runs/{id}").text


def test_a_run_is_resumed_while_somebody_else_decides() -> None:
    class Deciding:
        """A run whose step is decided about as soon as somebody has looked at it."""

        status = "waiting"
        steps: ClassVar[list[Any]] = [(None, SimpleNamespace(why="pay needs your approval"))]

        @property
        def waiting(self) -> list[Any]:
            steps, self.steps = self.steps, []  # type: ignore[misc]
            return steps

    hub: Any = SimpleNamespace(hold=lambda id: Deciding())
    with pytest.raises(Undecided, match="pay needs your approval: decide first"):
        resume(hub, "id", None)


def told(lines: Any) -> list[dict[str, Any]]:
    """Return the events of an AG-UI stream."""
    return [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: ")]


def agui_input(thread: str, run: str, *, content: str = "", resume: Any = None) -> dict[str, Any]:
    messages = [{"id": "m1", "role": "user", "content": content}] if content else []
    rest = {"tools": [], "context": [], "state": {}, "forwardedProps": {}}
    return {"threadId": thread, "runId": run, "messages": messages, **rest, **({"resume": resume} if resume else {})}


def test_a_front_end_of_ag_ui_starts_a_run_answers_its_interrupt_and_goes_on_in_the_same_thread(
    paying: tuple[Server, Client],
) -> None:
    client = paying[1]
    first = told(client.post("/ag-ui", agui_input("thread-1", "r1", content="pay 5")).iter_lines())
    assert first[0]["type"] == "RUN_STARTED" and first[-1]["outcome"]["type"] == "interrupt"
    [interrupt] = first[-1]["outcome"]["interrupts"]
    resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": True}]
    second = told(client.post("/ag-ui", agui_input("thread-1", "r2", resume=resume)).iter_lines())
    assert second[-1]["type"] == "RUN_FINISHED" and second[-1]["result"]["answer"] == "done"
    assert [event["content"] for event in second if event["type"] == "TOOL_CALL_RESULT"] == ["paid 5"]
    runs = [line for line in client.get("/runs").json()["runs"] if line["session"] == "thread-1"]
    assert len(runs) == 1
    again = client.post("/ag-ui", agui_input("thread-1", "r3", resume=resume))
    assert again.status_code == 404 and "waits" in again.json()["error"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"{}", b"[" * 100_000, b'{"threadId": 1}', b"\xff"])
def test_an_input_of_ag_ui_that_is_none_is_refused(paying: tuple[Server, Client], content: bytes) -> None:
    assert paying[1].http.post("/ag-ui", content=content).status_code == 400


def test_a_long_conversation_is_shortened_when_it_is_loaded_and_a_frame_says_so() -> None:
    agent = Agent(Scripted(itertools.repeat("yes")), journal="memory", retained_turns=2)
    with serving(agent) as (_, client):
        for n in range(5):
            client.events(client.start(f"question {n}", session="long"))
        found = client.events(client.start("and now?", session="long"))
    assert [f.data for f in found if f.event == "compact"] == [{"original_messages": 10, "kept_messages": 4}]
