"""Many runs with honest statistics: cases, variants and scores; and what many forks of one run tell about it."""

from __future__ import annotations

from agentkit.experiments.decided import Decided
from agentkit.experiments.trials import Trials
from agentkit.run.studies import set_studies


class _Studies:
    """The studies of this room."""

    trials = staticmethod(Trials)
    decided = staticmethod(Decided)


set_studies(_Studies())
