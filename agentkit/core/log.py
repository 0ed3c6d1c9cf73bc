"""The logger of agentkit, `agentkit` in Python's logging. What it logs is inert, whatever its handlers are, and each
record has the fields of `FIELDS`.
"""

from __future__ import annotations

import logging

from agentkit.core.secrets import mask
from agentkit.inert import for_terminal

logger = logging.getLogger("agentkit")

FIELDS = {"run": "", "session": "", "step": "", "tool": "", "seconds": None}
"""The fields of each record, as its attributes, and their values where they do not apply: the id of the run, its
session, the name of the step (`tool_call_2_0`), the tool, and how many seconds the step took.
"""


def make_inert(record: logging.LogRecord) -> bool:
    """Replace the message and the fields of a record with one inert line each, and its traceback with inert lines.
    Always true: a filter of a logger sees each of its records before all handlers.
    """
    for name, missing in FIELDS.items():
        value = getattr(record, name, missing)
        setattr(record, name, for_terminal(mask(value)) if isinstance(value, str) else value)
    record.msg, record.args = for_terminal(record.getMessage()), ()
    if record.exc_info:
        record.exc_text = for_terminal(logging.Formatter().formatException(record.exc_info), lines=True)
    return True


def silence(*names: str) -> None:
    """Keep loggers of a library quiet, unless somebody has given them a level."""
    for name in names:
        log = logging.getLogger(name)
        if log.level == logging.NOTSET:
            log.setLevel(logging.CRITICAL)


def guard(*names: str) -> None:
    """Make the records of a library's loggers inert, too."""
    for name in names:
        logging.getLogger(name).addFilter(make_inert)


logger.addFilter(make_inert)
