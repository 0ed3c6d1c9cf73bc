"""Questions about a run that only many runs answer. The room `experiments` registers itself here to answer them, so
that a run need not import it.
"""

from __future__ import annotations

from typing import Any, Protocol

from agentkit.errors import UsageError


class Studies(Protocol):
    """What can be studied by forks of a run that are driven to their ends."""

    def trials(self, run: Any, thought: Any, times: int, *, score: Any, case: Any, timeout: float | None) -> Any:
        """Return the endings of a run if a recorded thought is asked again; see `Run.resample`."""

    def decided(self, run: Any, times: int, *, score: Any, case: Any, timeout: float | None) -> Any:
        """Return how good the endings of a run are from each of its thoughts on; see `Run.decided`."""


class _NoStudies:
    """The studies that are used until the room `experiments` has been imported."""

    def trials(self, run: Any, thought: Any, times: int, *, score: Any, case: Any, timeout: float | None) -> Any:
        raise UsageError("import agentkit.experiments first: it makes the trials")

    decided: Any = trials


studies: Studies = _NoStudies()


def set_studies(given: Studies) -> None:
    """Use these studies from now on."""
    global studies
    studies = given
