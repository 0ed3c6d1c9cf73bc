"""A pytest fixture that replays the recorded replies of models: `def test_my_agent(agentkit_tape): …`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the command-line option that says whether tapes are replayed or recorded."""
    parser.getgroup("agentkit").addoption(
        "--agentkit-tape",
        choices=("replay", "record", "auto"),
        default="replay",
        help="replay the replies recorded in tapes/ beside the test (the default), record them again, or only new ones",
    )


@pytest.fixture
def agentkit_tape(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Insert the tape of this test: `tapes/<test file>/<test>.json` beside the test file, with the class in front."""
    from agentkit.models.tape import Tape

    file = Path(str(request.node.path))
    name = re.sub(r"[^\w.-]+", "-", request.node.nodeid.partition("::")[2]).strip("-")
    with Tape(file.parent / "tapes" / file.stem / f"{name}.json", request.config.getoption("--agentkit-tape")) as tape:
        yield tape
