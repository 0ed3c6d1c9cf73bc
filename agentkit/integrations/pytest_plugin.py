"""pytest fixtures: recorded replies of models (`agentkit_tape`), and recorded runs as tests (`agentkit_recording`).

@pytest.mark.agentkit("recordings/")
def test_same(agentkit_recording):
    agentkit_recording.check(agent)
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from agentkit.inert import for_terminal, inert

if TYPE_CHECKING:
    from agentkit.experiments.regression import Recording

FIXTURE, MARKER = "agentkit_recording", "agentkit"
_EXAMPLE = f'@pytest.mark.{MARKER}("recordings/")'
_IN_PARALLEL = "several processes cannot write the lines of one file; run pytest without -n"
_RECORDS = pytest.StashKey[list[dict[str, str]]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options: whether tapes are played or recorded, and what is done with recorded runs."""
    group = parser.getgroup("agentkit")
    group.addoption(
        "--agentkit-tape",
        choices=("replay", "record", "auto"),
        default="replay",
        help="replay (default): play the replies of models from tapes/ beside the test; record: record all of them "
        "again; auto: record only those that are missing",
    )
    group.addoption(
        "--agentkit-update",
        action="store_true",
        help="write today's runs over the recordings that differ, with the recorded replies and results",
    )
    group.addoption(
        "--agentkit-summary",
        metavar="FILE",
        help="append a summary of the recorded runs in Markdown to this file (default: the one that the variable "
        "GITHUB_STEP_SUMMARY names, if it is set)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and what writes the summary."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(*recordings): make one test of each recorded run, in files, folders or patterns relative to the "
        f"test file; the test takes the fixture {FIXTURE}",
    )
    config.pluginmanager.register(_Summary(config), "agentkit-summary")


# -- tapes -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def agentkit_tape(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Yield the tape of this test while it is inserted: `tapes/<test file>/<class-and-test>.json`
    beside the test file.
    """
    from agentkit.models.tape import Tape

    file = Path(str(request.node.path))
    name = re.sub(r"[^\w.-]+", "-", request.node.nodeid.partition("::")[2]).strip("-")
    with Tape(file.parent / "tapes" / file.stem / f"{name}.json", request.config.getoption("--agentkit-tape")) as tape:
        yield tape


# -- recorded runs -----------------------------------------------------------------------------------------------------


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make one test of each recording that the marker names. Without any, that is an error, and not a silent pass."""
    marker = metafunc.definition.get_closest_marker(MARKER)
    if FIXTURE not in metafunc.fixturenames:
        if any(own.name == MARKER for own in metafunc.definition.own_markers):
            pytest.fail(f"a test with {_EXAMPLE} must take the fixture: def test_same({FIXTURE}): …", pytrace=False)
        return
    if marker is None or not marker.args or marker.kwargs:
        pytest.fail(f"say where the recordings are, relative to this file: {_EXAMPLE}", pytrace=False)
    from agentkit.errors import UsageError
    from agentkit.experiments.regression import find

    folder, problem, recordings = metafunc.definition.path.parent, "", list[Any]()
    try:
        recordings = find([_beside(folder, str(path)) for path in marker.args])
    except UsageError as error:
        problem = str(error)
    if problem:
        pytest.fail(problem, pytrace=False)
    metafunc.parametrize(FIXTURE, recordings, ids=[recording.name for recording in recordings], indirect=True)


def _beside(folder: Path, path: str) -> Path:
    """Return a path relative to a folder, whose own name is never taken for a pattern."""
    is_pattern = glob.has_magic(path) and not (folder / path).exists()
    return Path(glob.escape(str(folder)), path) if is_pattern else folder / path


class RecordingToCheck:
    """The recording of a test: `check(agent)` fails the test if today's run differs."""

    def __init__(self, recording: Recording, *, is_updated: bool, in_parallel: bool = False) -> None:
        self.recording = recording
        self._may_write = not (in_parallel and recording.line)
        self.name = recording.name
        self.records: list[dict[str, str]] = []
        self._is_updated = is_updated

    def check(self, agent: Any = None, *, tools: Any = "recorded") -> None:
        """Fail the test, with the first difference side by side, unless today's run is the same as the recorded one.

        With `--agentkit-update`, write today's run over the recording instead, and fail if that needs a model. The
        arguments are those of `agentkit.experiments.regression.replay`.
        """
        __tracebackhide__ = True
        from agentkit.experiments.regression import play_one, update

        result = play_one(self.recording, agent, tools=tools)
        record = result.record()
        self.records.append(record)
        if result.status == "differs" and self._is_updated:
            changed, problem = update(self.recording, agent) if self._may_write else ("", _IN_PARALLEL)
            if problem:
                pytest.fail(f"{result!r}\n\nThe recording was not updated: {problem}", pytrace=False)
            record.update(status="updated", summary=f"{changed} changed; {record['summary']}")
        elif result.status != "same":
            pytest.fail(repr(result), pytrace=False)

    @inert
    def __repr__(self) -> str:
        return f"<recording {self.name!r}>"


@pytest.fixture
def agentkit_recording(request: pytest.FixtureRequest) -> RecordingToCheck:
    """Return the recording of this test; the marker `agentkit` says where the recordings are."""
    if not hasattr(request, "param"):
        pytest.fail(f"say where the recordings are, relative to this file: {_EXAMPLE}", pytrace=False)
    config = request.config
    is_updated, in_parallel = config.getoption("--agentkit-update"), hasattr(config, "workerinput")
    to_check = RecordingToCheck(request.param, is_updated=is_updated, in_parallel=in_parallel)
    request.node.stash[_RECORDS] = to_check.records
    return to_check


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Any:
    """Fail a test that has taken a recording and passes without checking it: it would pass whatever differs."""
    result = yield
    if item.stash.get(_RECORDS, None) == []:
        pytest.fail(f"the test does not check the recording: call {FIXTURE}.check(agent)", pytrace=False)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Send what came of a recording along with the report, also from the workers of pytest-xdist."""
    report = yield
    if call.when == "call" and (records := item.stash.get(_RECORDS, None)):
        report.agentkit = records
    return report


class _Summary:
    """What came of the recordings of all tests: it is written once, by the process that has all reports."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._records: dict[str, list[dict[str, str]]] = {}
        self._problem = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what came of a test; if it is run again, the last time counts."""
        if records := getattr(report, "agentkit", None):
            self._records[report.nodeid] = records

    def pytest_sessionfinish(self) -> None:
        """Append the summary to the file."""
        path = self._config.getoption("--agentkit-summary") or os.environ.get("GITHUB_STEP_SUMMARY")
        if not path or not self._records or hasattr(self._config, "workerinput"):
            return
        from agentkit.experiments.regression.suite import summary

        try:
            with open(path, "a", encoding="utf-8", errors="replace") as file:
                file.write(f"{summary(self._all)}\n")
        except (OSError, ValueError) as error:
            self._problem = f"the summary of the recordings could not be written: {error}"

    @property
    def _all(self) -> list[dict[str, str]]:
        return [record for node in sorted(self._records) for record in self._records[node]]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say which recordings were updated, and what could not be written."""
        updated = [record for record in self._all if record["status"] == "updated"]
        if updated or self._problem:
            terminalreporter.section("agentkit")
            for record in updated:
                terminalreporter.line(for_terminal(f"updated {record['name']}: {record['summary']}"))
            if self._problem:
                terminalreporter.line(for_terminal(self._problem))
