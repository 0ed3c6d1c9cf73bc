<<<<<<< HEAD
"""A pytest fixture that plays the recorded replies of models to a test: `def test_my_agent(agentkit_tape): …`."""
=======
"""A pytest fixture that replays the recorded replies of models: `def test_my_agent(agentkit_tape): …`."""
>>>>>>> 53c8fe9bae653e2b236cf5fd52a97d92d3ee79c0

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
<<<<<<< HEAD
    """Add the option that selects whether tapes are played or recorded."""
=======
    """Add the command-line option that says whether tapes are replayed or recorded."""
>>>>>>> 53c8fe9bae653e2b236cf5fd52a97d92d3ee79c0
    parser.getgroup("agentkit").addoption(
        "--agentkit-tape",
        choices=("replay", "record", "auto"),
        default="replay",
<<<<<<< HEAD
        help="replay (default): play the replies of models from tapes/ beside the test; record: record all of them again; "
        "auto: record only those that are missing",
=======
        help="replay the replies recorded in tapes/ beside the test (the default), record them again, or only new ones",
>>>>>>> 53c8fe9bae653e2b236cf5fd52a97d92d3ee79c0
    )


@pytest.fixture
def agentkit_tape(request: pytest.FixtureRequest) -> Iterator[Any]:
<<<<<<< HEAD
    """Yield the tape of this test while it is inserted: `tapes/<test file>/<class-and-test>.json` beside the test file."""
=======
    """Insert the tape of this test: `tapes/<test file>/<test>.json` beside the test file, with the class in front."""
>>>>>>> 53c8fe9bae653e2b236cf5fd52a97d92d3ee79c0
    from agentkit.models.tape import Tape

    file = Path(str(request.node.path))
    name = re.sub(r"[^\w.-]+", "-", request.node.nodeid.partition("::")[2]).strip("-")
    with Tape(file.parent / "tapes" / file.stem / f"{name}.json", request.config.getoption("--agentkit-tape")) as tape:
        yield tape
