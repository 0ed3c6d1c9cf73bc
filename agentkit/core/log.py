"""The logger of agentkit, `agentkit` in Python's logging. What it logs is inert, whatever its handlers are."""

from __future__ import annotations

import logging

from agentkit.inert import for_terminal

logger = logging.getLogger("agentkit")


def make_inert(record: logging.LogRecord) -> bool:
    """Replace the message of a record with one inert line, and its traceback with inert lines. Always true: a filter
    of a logger sees each of its records before all handlers.
    """
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


logger.addFilter(make_inert)
