"""The pytest plug-in for recorded runs, in pytest runs of their own: one test per recording, and what a person sees."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentkit import Agent, Call, Reply, tool
from agentkit.models import Scripted
from agentkit.models.base import Abilities

pytest_plugins = ["pytester"]

TESTS = """
import pytest
from agentkit import Agent, tool

@tool(effect="pure")
def price(item: str) -> float:
    '''Look up the price of an item.'''
    raise AssertionError("it was called")

def model(request):
    raise AssertionError("a model was asked")

agent = Agent(model, [price], instructions={instructions!r})

@pytest.mark.agentkit("recordings/")
def test_same(agentkit_recording):
    agentkit_recording.check(agent)
"""


@tool(effect="pure")
def price(item: str) -> float:
    """Look up the price of an item."""
    return 4.5


def recorded(task: str = "What does the cake cost?", name: str = "") -> dict[str, Any]:
    look = Reply("I look it up.", (Call("price", {"item": "cake"}, "a"),))
    model = Scripted([look, "It costs 4.5."], abilities=Abilities(tools=True))
    return Agent(model, [price], journal="memory", instructions="Be brief.").run(task, name=name).run.to_json()


@pytest.fixture(autouse=True)
def no_workflow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write no summary into the workflow that these tests run in."""
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    """Return a folder with a test file and recordings: a file, one in a folder below, and two lines of a file."""
    pytester.makepyfile(test_it=TESTS.format(instructions="Be brief."))
    folder = pytester.mkdir("recordings")
    (folder / "deep").mkdir()
    (folder / "cake.json").write_text(json.dumps(recorded()))
    (folder / "deep" / "tea.json").write_text(json.dumps(recorded()))
    lines = [json.dumps(recorded(name=f"line-{n}")) for n in range(2)]
    (folder / "many.jsonl").write_text("\n".join(lines))
    return pytester


IDS = ["cake.json", "deep/tea.json", "many.jsonl:line-0", "many.jsonl:line-1"]


def change(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_it=TESTS.format(instructions="Be very brief."))


def test_each_recording_is_a_test_with_a_name_of_its_own(suite: pytest.Pytester) -> None:
    result = suite.runpytest("-v")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines([f"test_it.py::test_same[[]{id}[]] PASSED*" for id in IDS])
    listed = [line for line in suite.runpytest("--collect-only", "-q").outlines if "::" in line]
    assert listed == [f"test_it.py::test_same[{id}]" for id in IDS]


def test_tests_can_be_selected_and_split_by_their_ids(suite: pytest.Pytester) -> None:
    suite.runpytest("-k", "cake").assert_outcomes(passed=1, deselected=3)
    half = [f"test_it.py::test_same[{id}]" for id in IDS[1::2]]
    suite.runpytest(*half).assert_outcomes(passed=2)


def test_a_failing_test_shows_the_difference_and_no_traceback(suite: pytest.Pytester) -> None:
    change(suite)
    result = suite.runpytest("-k", "cake")
    result.assert_outcomes(failed=1, deselected=3)
    result.stdout.fnmatch_lines(["  recorded │ Be brief.", "  today    │ Be {+very +}brief."])
    assert not [line for line in result.outlines if "def " in line or "regression" in line or line.startswith("E ")]


@pytest.mark.slow
def test_it_is_the_same_in_a_process_of_its_own(suite: pytest.Pytester) -> None:
    suite.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=4)
    change(suite)
    result = suite.runpytest_subprocess("--agentkit-summary=summary.md", "-q")
    result.assert_outcomes(failed=4)
    assert (suite.path / "summary.md").read_text().count("<details>") == 4


@pytest.mark.parametrize(
    ("marker", "arguments", "problem"),
    [
        ('("missing/")', "agentkit_recording", "*there is no file or folder */missing; record one with *"),
        ('("empty")', "agentkit_recording", "*there is no .json or .jsonl file in the folder */empty; record one*"),
        ('("*.nothing")', "agentkit_recording", "*no file matches the pattern */*.nothing; record one with *"),
        ("", "agentkit_recording", "*say where the recordings are, relative to this file: *"),
        ('(path="recordings/")', "agentkit_recording", "*say where the recordings are, relative to this file: *"),
        ('("recordings/")', "", "*must take the fixture: def test_same(agentkit_recording)*"),
    ],
)
def test_without_recordings_there_is_an_error_and_no_test_that_passes(
    suite: pytest.Pytester, marker: str, arguments: str, problem: str
) -> None:
    suite.mkdir("empty")
    suite.makepyfile(
        test_it=f"import pytest\n@pytest.mark.agentkit{marker}\ndef test_x({arguments}): pass\n",
        test_other="def test_fine(): pass",
    )
    result = suite.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([problem])
    assert result.ret != 0 and "Traceback" not in result.stdout.str() and "During handling" not in result.stdout.str()


def test_the_fixture_without_the_marker_says_what_to_write(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_it="def test_x(agentkit_recording): pass")
    result = suite.runpytest()
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(['*@pytest.mark.agentkit("recordings/")*'])


def test_a_marker_of_a_module_leaves_tests_without_the_fixture_alone(suite: pytest.Pytester) -> None:
    suite.makepyfile(
        test_it='import pytest\npytestmark = pytest.mark.agentkit("recordings/cake.json", "recordings/deep/*.json")\n'
        "def test_x(agentkit_recording): agentkit_recording.check()\ndef test_y(): pass\n"
    )
    suite.runpytest("--strict-markers").assert_outcomes(passed=3)


def test_a_damaged_recording_fails_its_own_test(suite: pytest.Pytester) -> None:
    (suite.path / "recordings" / "bad.json").write_text("{")
    result = suite.runpytest()
    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["bad.json: cannot be played (cannot read *"])


@pytest.mark.parametrize("test", ["def test_x(agentkit_recording): pass", "def test_x(): pass"])
def test_a_test_that_takes_a_recording_without_checking_it_fails(suite: pytest.Pytester, test: str) -> None:
    uses = '@pytest.mark.agentkit("recordings/cake.json")\n@pytest.mark.usefixtures("agentkit_recording")\n'
    skipped = test.replace("test_x", "test_y").replace("pass", "pytest.skip()")
    suite.makepyfile(test_it=f"import pytest\n{uses}class TestIt:\n @staticmethod\n {test}\n @staticmethod\n {skipped}")
    result = suite.runpytest()
    result.assert_outcomes(failed=1, skipped=1)
    result.stdout.fnmatch_lines(["the test does not check the recording: call agentkit_recording.check(agent)"])


def test_a_wrong_agent_is_an_error_that_says_so(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_it=TESTS.format(instructions="").replace("check(agent)", "check('offline')"))
    result = suite.runpytest("-k", "cake")
    result.assert_outcomes(failed=1, deselected=3)
    result.stdout.fnmatch_lines(["*UsageError: *agent*"])


def test_an_update_writes_todays_runs_over_the_recordings(suite: pytest.Pytester) -> None:
    before = (suite.path / "recordings" / "many.jsonl").read_text()
    suite.runpytest("--agentkit-update").assert_outcomes(passed=4)
    assert (suite.path / "recordings" / "many.jsonl").read_text() == before
    change(suite)
    result = suite.runpytest("--agentkit-update")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines([f"updated {id}: 2 steps changed; entry 1, *the request differs" for id in IDS])
    suite.runpytest().assert_outcomes(passed=4)


def test_what_cannot_be_updated_without_a_model_fails_and_says_so(suite: pytest.Pytester) -> None:
    source = TESTS.format(instructions="Be brief.").replace("instructions=", 'engine="plan_and_execute", instructions=')
    suite.makepyfile(test_it=source)
    before = (suite.path / "recordings" / "cake.json").read_text()
    result = suite.runpytest("--agentkit-update", "-k", "cake")
    result.assert_outcomes(failed=1, deselected=3)
    result.stdout.fnmatch_lines(["The recording was not updated: it needs a model or a tool: *; record the run again"])
    assert (suite.path / "recordings" / "cake.json").read_text() == before


def test_the_summary_is_appended_to_the_file_of_the_workflow(
    suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    summary = suite.path / "summary.md"
    summary.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(summary))
    change(suite)
    (suite.path / "recordings" / "a<b>|`c`.json").write_text("{")
    suite.runpytest().assert_outcomes(failed=5)
    text = summary.read_text()
    assert text.startswith("before\n### Recorded runs") and "5 recordings, 0 the same, 4 differ" in text
    assert text.count("<details>") == 4 and "<b>" not in text
    assert "- Be brief.\n+ Be very brief." in text
    other = suite.path / "other.md"
    suite.runpytest("--agentkit-summary", str(other), "-k", "cake").assert_outcomes(failed=1, deselected=4)
    assert "1 recording, 0 the same, 1 differs" in other.read_text() and summary.read_text() == text


def test_what_came_of_a_recording_travels_with_the_report_to_another_process(suite: pytest.Pytester) -> None:
    change(suite)
    reports = suite.inline_run("-k", "cake").getreports("pytest_runtest_logreport")
    [report] = [report for report in reports if report.when == "call"]
    again = pytest.TestReport._from_json(json.loads(json.dumps(report._to_json())))
    assert again.agentkit == report.agentkit and again.agentkit[0]["status"] == "differs"


def test_folders_with_signs_of_patterns_and_files_of_one_name_are_told_apart(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a*", "b*"):
        folder = pytester.mkdir(name)
        (folder / "cake.json").write_text(json.dumps(recorded()))
    source = TESTS.format(instructions="Be brief.").replace('"recordings/"', '"cake.json", "../b*/*.json", "*.json"')
    (pytester.path / "a*" / "test_it.py").write_text(source)
    monkeypatch.chdir(pytester.path / "a*")
    result = pytester.runpytest("-v")
    result.assert_outcomes(passed=3)
    names = [line.partition("::test_same[")[2].partition("] PASSED")[0] for line in result.outlines if "PASSED" in line]
    assert names == ["a*/cake.json", "b*/cake.json", "a*/cake.json (2)"]


def test_without_recordings_no_summary_is_written_and_a_failure_to_write_is_told(suite: pytest.Pytester) -> None:
    suite.makepyfile(test_other="def test_fine(): pass")
    suite.runpytest("test_other.py", "--agentkit-summary=s.md").assert_outcomes(passed=1)
    assert not Path(suite.path, "s.md").exists()
    result = suite.runpytest("--agentkit-summary=missing/s.md", "-k", "cake")
    result.assert_outcomes(passed=1, deselected=4)
    result.stdout.fnmatch_lines(["the summary of the recordings could not be written: *missing/s.md*"])
