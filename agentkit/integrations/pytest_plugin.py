"""A pytest fixture that gives a test the recorded exchanges of its models: `def test_my_agent(agentkit_tape): …`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the command line say whether tapes are played or recorded."""
    parser.getgroup("agentkit").addoption(
        "--agentkit-tape",
        choices=("replay", "record", "auto"),
        default="replay",
        help="play what models said from tapes/ beside the test (the default), record it anew, or only what is missing",
    )


@pytest.fixture
def agentkit_tape(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Put the tape of this test in place: `tapes/<test file>/<test>.json` beside the test file, with its class in front."""
    from agentkit.models.tape import Tape

    file = Path(str(request.node.path))
    name = re.sub(r"[^\w.-]+", "-", request.node.nodeid.partition("::")[2]).strip("-")
    with Tape(file.parent / "tapes" / file.stem / f"{name}.json", request.config.getoption("--agentkit-tape")) as tape:
        yield tape
