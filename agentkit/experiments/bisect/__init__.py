"""Bisecting: which of the changes between two runs turned the outcome."""

from agentkit.experiments.bisect.bisection import Bisection, Prefix, Trial, bisect

__all__ = ["Bisection", "Prefix", "Trial", "bisect"]
