"""What is sent to the live table of an experiment: only what has changed, not too often, and the same as Python sees."""

from __future__ import annotations

import multiprocessing
import random
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import pytest
from view.conftest import Person

from agentkit import Agent, Call, Reply, experiment, tool
from agentkit.models.base import Abilities
from agentkit.run.run import Run
from agentkit.view import table as feeds
from agentkit.view.dispatcher import Dispatcher
from agentkit.view.table import TableFeed
from agentkit.view.table_commands import OF_TABLE
from agentkit.view.wire import MAX_BYTES, clean


class Screen:
    """A page that takes all messages, and knows of the cells what it was told."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.times: list[float] = []
        self.progress: dict[str, Any] = {}
        self.figures: dict[str, Any] = {}
        self.cells: dict[int, Any] = {}
        self.answers: dict[str, Any] = {}
        self.runs: list[Run] = []

    def send(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        if message["t"] == "reset":
            self.progress, self.figures = message["progress"], message["figures"]
        elif message["t"] == "events":
            self.times.append(time.monotonic())
            for event in message["ev"]:
                if event["k"] == "cells":
                    self.cells.update({cell[0]: cell for cell in event["cells"]})
                else:
                    setattr(self, event["k"], event[event["k"]])
        elif message["t"] in ("ack", "nak"):
            self.answers[message["cid"]] = message
            if message["t"] == "ack" and isinstance(message["result"], dict):
                rows = message["result"].get("rows", [])
                self.cells.update({cell[0]: cell for row in rows for cell in row["cells"]})

    def idle(self, status: str, seq: int) -> None:
        pass

    def show(self, run: Run) -> None:
        self.runs.append(run)

    def hide(self, run: Run) -> None:
        self.runs.remove(run)

    def shows(self, run: Run) -> bool:
        return run in self.runs


class Shown(Person):
    """An experiment, the screen that shows it, and the commands of the person in front of it."""

    patience = 60.0

    def __init__(self, found: Any) -> None:
        self.found, self.screen = found, Screen()
        self.feed = TableFeed(found, self.screen)
        self.dispatcher = Dispatcher(self.feed, OF_TABLE)
        self.feed.hello()
        self.until(lambda: self.screen.messages)

    def rows(self, **arguments: Any) -> list[dict[str, Any]]:
        return self.execute("rows", **{"first": 0, "count": 50, **arguments})["rows"]

    def until_status(self, status: str) -> None:
        self.until(lambda: self.screen.progress.get("status") == status)


@pytest.fixture
def show() -> Iterator[Callable[[Any], Shown]]:
    """Return a function that shows an experiment."""
    shown: list[Shown] = []

    def show(found: Any) -> Shown:
        shown.append(Shown(found))
        return shown[-1]

    yield show
    for each in shown:
        each.found.stop()
        each.feed.close()


def teller(answer: Callable[[str], str], journal: Any = "memory", **options: Any) -> Agent:
    return Agent(
        lambda request: Reply(f"FINAL_ANSWER: {answer(request.messages[-1]['content'])}"), journal=journal, **options
    )


def score(result: Any, case: Any) -> float:
    return float(result.answer)


def test_the_screen_ends_with_what_python_sees(show: Callable[[Any], Shown], tmp_path: Any) -> None:
    agents = {"one": teller(lambda text: "1", tmp_path / "a.db"), "half": teller(lambda text: "0.5", tmp_path / "a.db")}
    shown = show(experiment([f"Task {n}" for n in range(12)], agents, score=score, repeats=2, on=4))
    shown.rows()
    shown.found.wait()
    shown.until_status("done")
    assert shown.screen.progress["done"] == 48 and shown.screen.progress["counts"] == {"scored": 48}
    assert shown.screen.cells == {number: shown.feed.cell_data(number) for number in range(48)}
    assert {cell[1] for cell in shown.screen.cells.values()} == {"scored"}
    shown.until(lambda: shown.screen.figures["differences"])
    [difference] = shown.screen.figures["differences"]
    assert difference["verdict"] == "worse" and difference["estimate"][0] == -0.5
    assert [line["estimates"][0][0] for line in shown.screen.figures["lines"]] == [1.0, 0.5]
    assert difference["counts"] in repr(shown.found)


def test_only_cells_that_changed_are_sent_and_at_most_twice_a_second(show: Callable[[Any], Shown]) -> None:
    gate = threading.Semaphore(0)

    def answer(text: str) -> str:
        gate.acquire()
        return "1"

    begun = time.monotonic()
    shown = show(experiment([f"Task {n}" for n in range(300)], teller(answer), score=score, on=3))
    shown.until(lambda: shown.screen.progress["running"] == 3)
    for _ in range(40):
        gate.release()
        time.sleep(0.03)
    shown.until(lambda: shown.screen.progress["done"] == 40)
    times = [at - begun for at in shown.screen.times]
    assert len(times) <= 2 + times[-1] / feeds.INTERVAL, times  # a new status is sent at once
    sent = [
        cell[0]
        for m in shown.screen.messages
        if m["t"] == "events"
        for e in m["ev"]
        if e["k"] == "cells"
        for cell in e["cells"]
    ]
    assert max(sent) < 43 + 3 and len(sent) < 43 * 3
    threading.Thread(target=shown.found.stop).start()
    gate.release(1000)
    shown.until_status("stopped")


def test_stop_and_begin_in_the_view_and_in_python_are_the_same(show: Callable[[Any], Shown]) -> None:
    bell = threading.Event()

    def answer(text: str) -> str:
        bell.wait(0.5)  # so that there is time to stop what goes on
        return "1"

    shown = show(experiment([f"Task {n}" for n in range(60)], teller(answer), score=score, on=2))
    shown.until(lambda: shown.screen.progress["done"] > 1)
    shown.execute("stop")
    shown.until_status("stopped")
    assert shown.found.status == "stopped"
    done = len(shown.found.cells) - len(shown.found.missing)
    assert shown.screen.progress["done"] == done < 60
    shown.found.begin()
    shown.until_status("running")
    shown.found.stop()
    shown.until_status("stopped")
    shown.execute("begin", question="")
    bell.set()
    shown.until_status("done")
    assert shown.found.count("scored") == 60


def test_irreversible_tools_are_approved_by_the_question_that_was_read(show: Callable[[Any], Shown]) -> None:
    paid: list[int] = []

    @tool(effect="irreversible")
    def pay(amount: int) -> str:
        """Pay."""
        paid.append(amount)
        return "paid"

    def model(request: Any) -> Any:
        if any(m["role"] == "tool" for m in request.messages):
            return "FINAL_ANSWER: 1"
        return Reply("", (Call("pay", {"amount": 5}),))

    model.abilities = Abilities(tools=True)  # type: ignore[attr-defined]
    agent = Agent(model, [pay], max_tool_calls=1, journal="memory")
    shown = show(experiment(["Pay 5.", "Pay 6."], agent, score=score))
    shown.until_status("asks")
    question = shown.screen.progress["question"]
    assert "2 runs may call pay (irreversible), at most 2 times in all" in question
    for wrong in ("", question + "!"):
        with pytest.raises(LookupError, match="read the question again"):
            shown.execute("begin", question=wrong)
    assert not paid
    shown.execute("begin", question=question)
    shown.until_status("done")
    assert paid == [5, 5] and shown.screen.progress["question"] == ""


def test_rows_are_sorted_filtered_and_paged(show: Callable[[Any], Shown]) -> None:
    def answer(text: str) -> str:
        number = int(text.split()[1])
        if number == 7:
            raise RuntimeError("no host")
        return "0" if number in (3, 11) else "1"

    cases = [{"id": f"c{12 - n}", "task": f"Task {n}"} for n in range(13)]
    agents = {"first": teller(lambda text: "1"), "other": teller(answer)}
    shown = show(experiment(cases, agents, score=score, on=4))
    shown.found.wait()
    shown.until_status("done")
    ids = lambda **arguments: [row["id"] for row in shown.rows(**arguments)]  # noqa: E731
    assert ids() == [f"c{12 - n}" for n in range(13)]
    assert ids(order="id") == [f"c{n}" for n in range(13)]
    assert ids(order="problems")[0] == "c5"
    assert ids(order="lost")[:4] == ["c9", "c5", "c1", "c12"]  # a failed run counts as 0
    assert ids(only="lost") == ["c9", "c5", "c1"]
    assert ids(only="problems") == ["c5"] and ids(only="missing") == []
    assert (
        ids(text="TASK 3") == ["c9"]
        and ids(text="no host") == ["c5"]
        and ids(text="c1 ") == ["c12", "c11", "c10", "c1"]
    )
    assert ids(first=10, count=2) == ["c2", "c1"] and ids(first=50) == []
    for wrong in ({"count": 0}, {"first": -1}, {"order": "worst"}, {"count": 10**6}, {"score": ["x"]}):
        with pytest.raises(LookupError):
            shown.rows(**wrong)


def test_a_cell_opens_its_run_once_and_closes_it_again(show: Callable[[Any], Shown], tmp_path: Any) -> None:
    shown = show(experiment(["Task 0", "Task 1"], teller(lambda text: "1", tmp_path / "a.db"), score=score))
    shown.found.wait()
    opened = shown.execute("open", cell=1)
    assert opened["read_only"] == "" and shown.screen.runs[0].id == shown.found.cells[1].run_name == opened["run"]
    shown.execute("open", cell=1)
    assert len(shown.screen.runs) == 1 and shown.found["agent", 1, 0].run is shown.screen.runs[0]
    shown.until(lambda: shown.screen.progress["opened"] == [1])
    shown.execute("close", cell=1)
    shown.until(lambda: shown.screen.progress["opened"] == [])
    assert shown.screen.runs == []
    for cell in (-1, 2, 10**9):
        with pytest.raises(LookupError, match="there is no run number"):
            shown.execute("open", cell=cell)


def test_a_cell_that_is_closed_while_its_outcome_is_taken_stays_closed(show: Callable[[Any], Shown]) -> None:
    shown = show(experiment(["Task 0"], teller(lambda text: "1"), score=score))
    shown.found.wait()
    is_over, errors = threading.Event(), list[Exception]()

    def take() -> None:
        while not is_over.is_set():
            try:
                shown.feed._take([0])
            except Exception as error:
                errors.append(error)

    taking, before = threading.Thread(target=take), sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        taking.start()
        for _ in range(40_000):
            shown.feed.open_run(0)
            shown.feed.close_run(0)
            if shown.feed.opened:
                break
    finally:
        is_over.set()
        taking.join()
        sys.setswitchinterval(before)
    assert not errors and not shown.feed.opened and not shown.screen.runs


def test_a_run_that_was_changed_by_hand_is_scored_again(show: Callable[[Any], Shown], tmp_path: Any) -> None:
    shown = show(experiment(["Task 0", "Task 1"], teller(lambda text: "0", tmp_path / "a.db"), score=score))
    shown.found.wait()
    shown.execute("open", cell=0)
    run = shown.screen.runs[0]
    assert shown.screen.progress["edited"] == 0
    run.edit(1, answer="1")
    run.drive()
    shown.until(lambda: shown.screen.progress["edited"] == 1)
    shown.execute("begin", question="")
    shown.until(lambda: shown.found.cells[0].scores == {"score": 1.0})
    shown.until(lambda: shown.screen.progress["edited"] == 0 and shown.screen.progress["status"] == "done")
    assert shown.found.cells[1].scores == {"score": 0.0}


def test_a_run_under_way_is_shown_as_it_is_and_one_that_has_not_begun_is_not(
    show: Callable[[Any], Shown], tmp_path: Any
) -> None:
    bell = threading.Event()
    agent = teller(lambda text: str(int(bell.wait(30))), tmp_path / "a.db")
    shown = show(experiment(["Task 0", "Task 1"], agent, score=score, on=1))
    shown.until(lambda: shown.found.live(shown.found.cells[0]))
    shown.execute("open", cell=0)
    live = shown.screen.runs[0]
    assert live is shown.found.live(shown.found.cells[0])
    with pytest.raises(LookupError, match="has not begun yet"):
        shown.execute("open", cell=1)
    bell.set()
    shown.until_status("done")
    shown.execute("open", cell=0)  # the worker has let it go: it is opened again, to change it
    assert shown.screen.runs != [live] and not shown.screen.runs[0].read_only


def test_hostile_texts_and_hidden_secrets_do_not_stop_the_feed(show: Callable[[Any], Shown]) -> None:
    key = "sk-" + "a1B2" * 10
    bad = ["\ud800", "\u202eabc", "<script>alert(1)</script>", "x" * 100_000, f"my key is {key}", "\x00\x1b[31m"]
    cases = [{"id": f"{n}{text}", "task": text + "?"} for n, text in enumerate(bad) if "\ud800" not in text]
    answers = {case["task"]: text for case, text in zip(cases, bad[1:], strict=True)}
    model = lambda request: Reply("FINAL_ANSWER: " + answers.get(request.messages[-1]["content"], "?"))  # noqa: E731
    raising = lambda result, case: 1 / 0 if "script" in case["task"] else {"a\u202eb": 1, "<b>": 2.5}  # noqa: E731
    shown = show(experiment(cases, Agent(model, journal="memory"), score=raising))
    shown.found.wait()
    shown.until_status("done")
    rows = shown.rows()
    assert len(rows) == 5 and key not in repr(shown.screen.messages)
    assert all(len(row["id"]) <= 500 and len(row["task"]) <= 1000 for row in rows)
    assert all(clean(message)[1] < MAX_BYTES for message in shown.screen.messages)
    assert shown.screen.figures["scores"] == ["a\u202eb", "<b>"]


@pytest.mark.parametrize("seed", range(4))
def test_random_sequences_of_both_hands_end_in_the_same_state(
    show: Callable[[Any], Shown], tmp_path: Any, seed: int
) -> None:
    draw = random.Random(seed)

    def answer(text: str) -> str:
        time.sleep(draw.random() * 0.01)
        if draw.random() < 0.1:
            raise RuntimeError("no host")
        return str(draw.random())

    agents = {"a": teller(answer, tmp_path / "a.db"), "b": teller(answer, tmp_path / "a.db")}
    shown = show(experiment([f"Task {n}" for n in range(20)], agents, score=score, repeats=2, on=4))
    shown.rows(count=50)
    for _ in range(25):
        hand = draw.choice(["stop", "begin", "open", "close", "rows", "python stop", "python begin", "hello", "sleep"])
        try:
            if hand == "open":
                shown.execute("open", cell=draw.randrange(80))
            elif hand == "close":
                shown.execute("close", cell=draw.randrange(80))
            elif hand == "rows":
                shown.rows(count=50, order=draw.choice(["given", "id", "lost", "problems"]))
            elif hand == "begin":
                shown.execute("begin", question="")
            elif hand == "stop":
                shown.execute("stop")
            elif hand == "python stop":
                shown.found.stop()
            elif hand == "python begin":
                shown.found.begin()
            elif hand == "hello":
                shown.feed.hello()
            time.sleep(draw.random() * 0.1)
        except LookupError as error:
            assert "has not begun" in str(error), error
    shown.until(lambda: shown.found.status != "running")
    shown.until(lambda: shown.screen.progress["status"] == shown.found.status)
    for _ in range(8):
        if shown.found.missing or shown.found.count("failed"):
            shown.found.begin().wait()
    shown.rows(count=50)
    shown.until(
        lambda: shown.screen.progress["counts"] == {s: n for s in ("scored", "failed") if (n := shown.found.count(s))}
    )
    assert shown.screen.cells == {number: shown.feed.cell_data(number) for number in range(80)}
    seqs = [message["seq"] for message in shown.screen.messages]
    assert seqs == list(range(1, len(seqs) + 1))


@pytest.mark.slow
def test_a_run_that_another_process_holds_opens_to_look(show: Callable[[Any], Shown], tmp_path: Any) -> None:
    bell = tmp_path / "bell"

    def model(request: Any) -> Any:
        import time

        while not bell.exists():
            time.sleep(0.05)
        return "FINAL_ANSWER: 1"

    def one(result: Any, case: Any) -> float:
        return float(result.answer)

    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        shown = show(experiment(["Task 0"], Agent(model, journal=tmp_path / "a.db"), score=one, on=pool))

        def look() -> bool:
            try:
                return bool(shown.execute("open", cell=0)["read_only"])
            except LookupError as error:
                assert "has not begun" in str(error)
                return False

        shown.until(look)
        assert "opened to look at" in shown.screen.runs[0].read_only
        bell.touch()
        shown.until_status("done")
        assert shown.execute("open", cell=0)["read_only"] == ""
        assert len(shown.screen.runs) == 1 and shown.screen.runs[0].answer == "1"


def test_an_experiment_that_changes_while_a_page_asks_for_rows_is_never_half_known(
    show: Callable[[Any], Shown],
) -> None:
    shown = show(experiment([f"Task {n}" for n in range(150)], teller(lambda text: "1"), score=score, on=8))
    for _ in range(10):
        shown.rows(count=200)
    shown.found.wait()
    shown.until(lambda: shown.screen.progress["done"] == 150)
    assert shown.screen.cells == {number: shown.feed.cell_data(number) for number in range(150)}


def test_a_status_that_changes_during_an_update_is_not_lost(show: Callable[[Any], Shown]) -> None:
    for _ in range(10):
        shown = show(experiment(["Task 0"], teller(lambda text: "1"), score=score))
        shown.until_status("done")
        assert shown.screen.progress["running"] == 0
