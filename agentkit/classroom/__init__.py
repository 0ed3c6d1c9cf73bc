"""The classroom: exercises that check themselves, and predictions that are compared with what happened.

A lesson is a notebook. Its text asks the reader to `predict` before something is shown, and to solve exercises whose
`check` says in one line what is still missing. `Written` is the model of lessons about loops; `costs` counts what runs
have cost, and `beside` shows the pseudocode of a paper beside the source.

In a notebook, the import also does what `%load_ext agentkit.classroom` does: a cell that is run before the cells above
it says in one line which name is missing.
"""

from agentkit.classroom.beside import beside
from agentkit.classroom.checks import check
from agentkit.classroom.costs import cost, costs, rounds
from agentkit.classroom.missing_names import load_ipython_extension, load_where_cells_run, unload_ipython_extension
from agentkit.classroom.needs import needs
from agentkit.classroom.predictions import Prediction, predict
from agentkit.classroom.scores import Score, Scores, read_scores, scores
from agentkit.classroom.written import Written, action, finish

__all__ = [
    "Prediction",
    "Score",
    "Scores",
    "Written",
    "action",
    "beside",
    "check",
    "cost",
    "costs",
    "finish",
    "load_ipython_extension",
    "needs",
    "predict",
    "read_scores",
    "rounds",
    "scores",
    "unload_ipython_extension",
]

load_where_cells_run()
