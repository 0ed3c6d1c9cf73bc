"""The audit log: what is in it, that several processes can write it, and that what is done to it is noticed."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fake_secrets import KEYS, Fake
from hypothesis import given, settings
from hypothesis import strategies as st

from agentkit import Agent, Call, Reply, Run, tool
from agentkit.audit import START, Audit, Report, verify
from agentkit.errors import AuditError, UsageError
from agentkit.models.base import Abilities
from agentkit.models.scripted import Scripted

SIZE = int(os.environ.get("AGENTKIT_SIZE", "60"))
made: list[str] = []


@tool(effect="irreversible")
def pay(amount: int, note: str = "") -> str:
    """Pay an amount."""
    made.append("pay")
    return f"paid {amount}"


@tool(effect="pure")
def look() -> str:
    """Look."""
    made.append("look")
    return "nothing"


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the seals of this test apart."""
    made.clear()
    monkeypatch.setenv("AGENTKIT_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return the path of a log that does not exist yet."""
    return tmp_path / "audit.jsonl"


def audited(log: Any, *calls: Call, **options: Any) -> Run:
    model = Scripted([*(Reply("", (call,)) for call in calls), "done"], abilities=Abilities(tools=True))
    options = {"journal": None, **options}
    return Agent(model, [pay, look], audit=log, **options).start("Go.", paused=True)


def lines(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def written(log: Path, count: int) -> list[bytes]:
    """Write a log with this many lines, and return them."""
    audit = Audit(log)
    for number in range(count):
        audit.write("call", "run", tool="pay", arguments={"amount": number})
    return log.read_bytes().splitlines(keepends=True)


# -- what is in it -----------------------------------------------------------------------------------------------------


def test_each_decision_call_and_result_has_a_line(log: Path) -> None:
    calls = [Call("look", {}, "1"), Call("pay", {"amount": 5}, "2"), Call("pay", {"amount": 6}, "3")]
    run = audited(log, *calls, permissions="ask")
    run.drive(30)
    run.approve(remember=True).drive(30)
    kinds = [line["kind"] for line in lines(log)]
    assert kinds == ["started", "call", "result", "asked", "guards", "call", "result", "call", "result"]
    _, look_call, looked, asked, guards, call, result, later, _ = lines(log)
    assert look_call["decision"] == "allowed: mode ask: a tool that is pure" and looked["result"] == "nothing"
    assert asked["arguments"] == {"amount": 5} and "in mode ask" in asked["why"] and asked["effect"] == "irreversible"
    assert (guards["author"], guards["guards"]) == ("human", {"remembered": {"pay": True}})
    assert call["decision"].startswith("approved by a person (in mode ask") and call["arguments"] == {"amount": 5}
    assert (result["ok"], result["author"], result["result"]) == (True, "tool", "paid 5")
    assert result["sha256"] == hashlib.sha256(b"paid 5").hexdigest() and result["characters"] == 6
    assert "always allowed in this run" in later["decision"]
    assert verify(log).is_sound and {line["run"] for line in lines(log)} == {run.id}


def test_a_call_that_is_not_made_has_a_line_that_says_who_decided(log: Path) -> None:
    audited(log, Call("pay", {"amount": 5}, "1"), permissions="plan").drive(30)
    run = audited(log, Call("pay", {"amount": 6}, "1"), approve=True)
    run.drive(30)
    run.reject("too much", author="Ada")
    refused = [line for line in lines(log) if line["kind"] == "not called"]
    assert [(line["author"], line["arguments"]["amount"]) for line in refused] == [("gate", 5), ("Ada", 6)]
    assert "in mode plan" in refused[0]["reason"] and "too much" in refused[1]["result"] and not made


def test_a_run_that_goes_on_elsewhere_says_so(log: Path, tmp_path: Path) -> None:
    run = audited(log, Call("pay", {"amount": 5}, "1"), journal=tmp_path / "runs.db", permissions="ask")
    run.close()
    again = run.agent.resume(run.id)
    again.fork()
    assert [line["kind"] for line in lines(log)] == ["started", "resumed", "forked"]
    assert lines(log)[0]["permissions"] == "agent: mode ask"


def test_looking_at_a_run_writes_nothing(log: Path, tmp_path: Path) -> None:
    run = audited(log, Call("look", {}, "1"), journal=tmp_path / "runs.db")
    run.drive(30)
    before = log.read_bytes()
    run.agent.look(run.id)
    assert log.read_bytes() == before


@pytest.mark.parametrize("fake", KEYS[:10], ids=lambda fake: fake.name)
def test_a_secret_is_masked_before_a_line_is_hashed(log: Path, fake: Fake) -> None:
    audited(log, Call("pay", {"amount": 5, "note": f"the key is {fake.text}"}, "1")).drive(30)
    assert fake.secret not in log.read_text() and verify(log).is_sound


def test_very_long_arguments_have_a_digest_in_their_place(log: Path) -> None:
    audited(log, Call("pay", {"amount": 5, "note": "x" * 100_000}, "1")).drive(30)
    (call,) = [line for line in lines(log) if line["kind"] == "call"]
    assert call["arguments"]["characters"] > 100_000 and len(call["arguments"]["sha256"]) == 64
    assert log.stat().st_size < 5_000


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such permissions")
def test_only_the_person_can_read_the_log(log: Path) -> None:
    written(log, 1)
    assert log.stat().st_mode & 0o077 == 0


# -- if it cannot be written -------------------------------------------------------------------------------------------


def test_a_run_does_not_start_without_its_audit_log(tmp_path: Path) -> None:
    with pytest.raises(AuditError, match="nothing is called without it"):
        audited(tmp_path / "no folder" / "audit.jsonl", Call("look", {}, "1"))
    with pytest.raises(AuditError, match=r"not a regular file|directory"):
        audited(tmp_path, Call("look", {}, "1"))
    with pytest.raises(UsageError, match="audit"):
        audited(7)


def test_nothing_is_called_while_the_log_cannot_be_written(log: Path) -> None:
    run = audited(log, Call("pay", {"amount": 5}, "1"))
    aside = log.with_suffix(".aside")
    log.rename(aside)
    log.mkdir()
    run.drive(30)
    assert isinstance(run.error, AuditError) and not made and len(run) == 2
    log.rmdir()
    aside.rename(log)
    run.drive(30)
    assert made == ["pay"] and run.status == "done" and verify(log).is_sound


def test_a_result_whose_line_cannot_be_written_holds_the_run_and_is_not_lost(log: Path) -> None:
    aside = log.with_suffix(".aside")

    @tool(effect="irreversible")
    def break_log() -> str:
        """Take the log away."""
        made.append("broken")
        log.rename(aside)
        log.mkdir()
        return "taken away"

    model = Scripted([Reply("", (Call("break_log", {}, "1"),)), "done"], abilities=Abilities(tools=True))
    run = Agent(model, [break_log], audit=log, journal="memory").start("Go.", paused=True)
    run.drive(30)
    assert isinstance(run.error, AuditError) and made == ["broken"] and run.answer is None
    log.rmdir()
    aside.rename(log)
    run.drive(30)
    assert made == ["broken"] and run[2].result.text == "taken away" and run.answer == "done"
    assert [line["kind"] for line in lines(log)] == ["started", "call", "result"] and verify(log).is_sound


# -- several processes -------------------------------------------------------------------------------------------------

WRITER = """
import sys
from agentkit.audit import Audit
audit = Audit(sys.argv[1])
for number in range(int(sys.argv[3])):
    audit.write("call", sys.argv[2], tool="pay", arguments={"amount": number})
"""


@pytest.mark.slow
def test_two_processes_write_one_chain(log: Path) -> None:
    count = 4 * SIZE
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(log), name, str(count)], stderr=subprocess.PIPE)
        for name in ("one", "two")
    ]
    for writer in writers:
        _, error = writer.communicate(timeout=120)
        assert writer.returncode == 0, error.decode()
    report = verify(log)
    assert report.is_sound and report.lines == 2 * count
    for name in ("one", "two"):
        assert [line["arguments"]["amount"] for line in lines(log) if line["run"] == name] == list(range(count))


def test_a_line_that_a_killed_process_left_half_written_is_named_and_the_chain_goes_on(log: Path) -> None:
    written(log, 3)
    with open(log, "ab") as file:
        file.write(b'{"number":4,"at":"2026')
    Audit(log).write("call", "run", tool="pay")
    Audit(log).write("call", "run", tool="pay")
    (problem,) = verify(log).problems
    assert str(problem) == "line 4 is cut off, or was not written to its end"
    assert [line["number"] for line in lines_that_parse(log)] == [1, 2, 3, 4, 5]


def lines_that_parse(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text().splitlines() if line.endswith("}")]


# -- what is done to it ------------------------------------------------------------------------------------------------


def named(report: Report) -> set[int]:
    return {problem.number for problem in report.problems}


def test_a_log_as_it_was_written_is_intact(log: Path) -> None:
    last = json.loads(written(log, 5)[-1])["hash"]
    report = verify(log)
    assert (report.is_sound, report.lines, report.last, report.cut) == (True, 5, last, "")
    assert verify(log, last).is_sound and "5 lines, intact" in repr(report)


Tamper = Callable[[list[bytes]], list[bytes]]
CASES: dict[str, tuple[Tamper, list[str]]] = {
    "changed": (lambda a: [*a[:2], a[2].replace(b"pay", b"buy"), *a[3:]], ["line 3 was changed"]),
    "removed": (lambda a: [*a[:2], *a[3:]], ["line 3 was removed"]),
    "first removed": (lambda a: a[1:], ["line 1 was removed"]),
    "two removed": (lambda a: [a[0], *a[2:4], *a[5:]], ["line 2 was removed", "line 5 was removed"]),
    "swapped": (
        lambda a: [a[0], a[3], a[2], a[1], *a[4:]],
        ["line 2 was moved: it was written as line 4", "line 4 was moved: it was written as line 2"],
    ),
    "repeated": (lambda a: [*a[:3], a[2], *a[3:]], ["line 4 was added: it is the same as line 3"]),
    "cut in the middle of a line": (
        lambda a: [*a[:5], a[5][:-20]],
        ["line 6 is cut off, or was not written to its end"],
    ),
    "cut inside": (
        lambda a: [*a[:2], a[2][:50] + b"\n", *a[3:]],
        ["line 3 is cut off, or was not written to its end"],
    ),
    "without its last end of line": (
        lambda a: [*a[:5], a[5][:-1]],
        ["line 6 is cut off, or was not written to its end"],
    ),
    "cut at the end": (lambda a: a[:4], ["lines 5 to 6 were removed from the end"]),
    "emptied": (lambda a: [], ["lines 1 to 6 were removed from the end"]),
    "three removed": (lambda a: [a[0], *a[4:]], ["lines 2 to 4 were removed"]),
    "a line far ahead": (
        lambda a: [*a, hashed(a[5], number=10**15)],
        ["lines 7 to 999999999999999 were removed"],
    ),
    "a line added": (lambda a: [*a[:3], b"hello\n", *a[3:]], ["line 4 is cut off, or was not written to its end"]),
    "hashed anew": (
        lambda a: [*a[:2], hashed(a[2], amount=99), *a[3:]],
        ["line 3 was changed, and its hash with it: line 4 was written after another line"],
    ),
    "all hashed anew": (
        lambda a: chained(a, 2),
        ["line 6 is not the one that was sealed: all lines from a changed one on were written anew"],
    ),
}


def hashed(line: bytes, **change: Any) -> bytes:
    """Return a line with other data, and a hash that fits it."""
    data = json.loads(line)
    data = {**data, **change}
    del data["hash"]
    body = json.dumps(data, separators=(",", ":"))[:-1].encode()
    return body + b',"hash":"%b"}\n' % hashlib.sha256(body).hexdigest().encode()


def chained(lines: list[bytes], changed: int) -> list[bytes]:
    """Return lines of which one is changed, and all that follow are written anew."""
    anew = [*lines[:changed], hashed(lines[changed], run="another")]
    for line in lines[changed + 1 :]:
        anew.append(hashed(line, before=json.loads(anew[-1])["hash"]))
    return anew


@pytest.mark.parametrize("case", CASES)
def test_what_was_done_to_a_log_is_named(log: Path, case: str) -> None:
    tamper, problems = CASES[case]
    log.write_bytes(b"".join(tamper(written(log, 6))))
    assert [str(problem) for problem in verify(log).problems] == problems


def test_without_a_seal_and_a_noted_hash_a_cut_at_the_end_is_not_noticed_and_the_report_says_so(
    log: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    whole = written(log, 6)
    last = json.loads(whole[-1])["hash"]
    log.write_bytes(b"".join(whole[:4]))
    monkeypatch.setenv("AGENTKIT_HOME", str(tmp_path / "another"))
    report = verify(log)
    assert report.is_sound and "no seal" in report.cut
    assert "no line has the given hash" in str(verify(log, last).problems[0])
    log.write_bytes(b"".join(chained(whole, 2)))
    assert verify(log).is_sound and not verify(log, last).is_sound


def test_lines_that_were_written_after_the_seal_was_noted_are_no_problem(log: Path, own_home: Path) -> None:
    written(log, 3)
    (seal,) = (own_home / "audit").iterdir()
    before = seal.read_bytes()
    written(log, 3)
    seal.write_bytes(before)
    assert verify(log).is_sound


tampering = st.lists(
    st.one_of(
        st.tuples(st.just("flip"), st.integers(0, 11), st.integers(0, 10_000), st.integers(1, 255)),
        st.tuples(st.just("remove"), st.integers(0, 10), st.just(0), st.just(0)),
        st.tuples(st.just("swap"), st.integers(0, 11), st.integers(0, 11), st.just(0)),
        st.tuples(st.just("repeat"), st.integers(0, 11), st.integers(0, 12), st.just(0)),
        st.tuples(st.just("cut"), st.integers(0, 11), st.integers(1, 10_000), st.just(0)),
    ),
    min_size=1,
    max_size=1,
)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> list[bytes]:
    """Return the 12 lines of a log whose seal is not here."""
    folder = tmp_path_factory.mktemp("whole")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AGENTKIT_HOME", str(folder / "home"))
        return written(folder / "audit.jsonl", 12)


@pytest.mark.slow
@settings(max_examples=5 * SIZE, deadline=None)
@given(changes=tampering)
def test_every_line_that_is_changed_removed_moved_repeated_or_cut_is_named(
    whole: list[bytes], tmp_path_factory: pytest.TempPathFactory, changes: list[tuple[str, int, int, int]]
) -> None:
    after, expected = list(whole), set[int]()
    for kind, one, two, bits in changes:
        if kind == "flip":
            line = bytearray(after[one])
            line[two % len(line)] ^= bits
            after[one] = bytes(line)
            expected = {one + 1}
        elif kind == "remove":
            del after[one]
            expected = {one + 1}
        elif kind == "swap":
            after[one], after[two] = after[two], after[one]
            expected = {one + 1, two + 1} if one != two else set()
        elif kind == "repeat":
            after.insert(two, after[one])
            expected = {one + 1}
        else:
            after[one] = after[one][: -(1 + two % (len(after[one]) - 1))] + (b"\n" if bits else b"")
            expected = {one + 1}
    file = tmp_path_factory.mktemp("tampered") / "audit.jsonl"
    file.write_bytes(b"".join(after))
    report = verify(file)
    assert expected <= named(report), report
    assert bool(expected) != report.is_sound


def test_a_log_of_which_much_is_damaged_is_verified_in_good_time(log: Path) -> None:
    lines = written(log, 40) * 200
    log.write_bytes(b"".join(line if number % 3 else line[:40] + b"\n" for number, line in enumerate(lines)))
    assert len(verify(log).problems) >= 40 * 200 - 40


def test_a_file_that_is_no_audit_log_is_reported_and_never_raises(log: Path) -> None:
    for content in (b"\0" * 100, b"{}\n" * 3, b'{"number":1e999}\n', b"[" * 10_000, "ä\n".encode("utf-16"), b"\n\n"):
        log.write_bytes(content)
        assert not verify(log).is_sound
    log.write_bytes(b"")
    assert verify(log).lines == 0 and verify(log).last == START
    with pytest.raises(UsageError, match="cannot read"):
        verify(log.with_name("missing"))


@pytest.mark.slow
@pytest.mark.parametrize("kept", [0, 2])
def test_lines_that_were_cut_off_are_missed_also_after_the_next_line(log: Path, kept: int) -> None:
    before = written(log, 4)
    log.write_bytes(b"".join(before[:kept]))
    written(log, 2)
    assert [problem.text for problem in verify(log).problems] == [f"lines {kept + 1} to 4 were removed"]


def test_a_log_that_was_written_anew_is_named_also_after_the_next_line(log: Path, own_home: Path) -> None:
    written(log, 3)
    log.unlink()
    (own_home / "audit").rename(own_home / "away")
    written(log, 3)
    shutil.rmtree(own_home / "audit")
    (own_home / "away").rename(own_home / "audit")
    written(log, 1)
    assert "line 3 was changed, and its hash with it" in verify(log).problems[0].text


def test_a_pipe_is_no_audit_log_and_nobody_waits_for_it(log: Path) -> None:
    os.mkfifo(log)
    with pytest.raises(UsageError, match="it is not a regular file"):
        verify(log)
    with pytest.raises(AuditError, match="it is not a regular file"):
        Audit(log).lines("run")


def test_the_command_line_names_the_lines(log: Path, own_home: Path) -> None:
    whole = written(log, 4)

    def ask(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "agentkit", "audit", "verify", str(log), *arguments], capture_output=True, text=True
        )
        return done.returncode, done.stdout

    code, text = ask()
    last = json.loads(whole[-1])["hash"]
    assert (code, text) == (0, f"4 lines, intact; the last hash is {last}\n")
    log.write_bytes(b"".join([whole[0], *whole[2:]]))
    code, text = ask()
    assert code == 1 and text.splitlines()[0] == "line 2 was removed" and re.search("damaged", text)
    code, text = ask("--json")
    assert code == 1 and json.loads(text)["problems"][0]["number"] == 2
