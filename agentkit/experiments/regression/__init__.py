"""Regression suites: recorded runs, played against today's code, without a model and without a key."""

from agentkit.experiments.regression.differences import Mismatch
from agentkit.experiments.regression.recordings import Recording, find
from agentkit.experiments.regression.suite import Result, Suite, play_one, replay, update

__all__ = ["Mismatch", "Recording", "Result", "Suite", "find", "play_one", "replay", "update"]
