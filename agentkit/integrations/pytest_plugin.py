"""A pytest fixture that plays the recorded replies of models to a test: `def test_my_agent(agentkit_tape): …`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that selects whether tapes are played or recorded."""
    parser.getgroup("agentkit").addoption(
        "--agentkit-tape",
        choices=("replay", "record", "auto"),
        default="replay",
        help="replay (default): play the replies of models from tapes/ beside the test; record: record all of them "
        "again; auto: record only those that are missing",
    )


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
