"""The classroom: exercises that check themselves, and predictions that are compared with what happened.

A lesson is a notebook. Its text asks the reader to `predict` before something is shown, and to solve exercises whose
`check` says in one line what is still missing.
"""

from agentkit.classroom.checks import check
from agentkit.classroom.predictions import Prediction, predict
from agentkit.classroom.scores import Score, Scores, read_scores, scores

__all__ = ["Prediction", "Score", "Scores", "check", "predict", "read_scores", "scores"]
