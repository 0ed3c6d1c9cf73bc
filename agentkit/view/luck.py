"""Asking a model the same several times, for a view: what it would cost, the replies so far, and how to stop."""

from __future__ import annotations

from typing import Any

from agentkit.core.secrets import mask
from agentkit.core.text import one_line
from agentkit.run.samples import Samples
from agentkit.view.feed import Feed
from agentkit.view.head import temperature_data
from agentkit.view.queries import find_entry

Data = dict[str, Any]

_MAX_OUTCOMES = 50
_MAX_TEXT = 300


def samples(feed: Feed, *, entry: int, times: int | None) -> Data:
    """Return what a model has replied so far when it was asked for a thought again, and what more replies would cost.

    `times` is how many are wanted; None stands for all that are recorded, but at least for the usual number. Nothing is
    asked.
    """
    thought = find_entry(feed, entry)
    found = feed.run.resample(thought) if times is None else feed.run.resample(thought, times)
    if times is None and found.recorded > found.times:
        found = feed.run.resample(thought, found.recorded)
    return _data(feed, found)


def resample(feed: Feed, *, entry: int, times: int) -> Data:
    """Ask the model until there are `times` replies, or until it is stopped.

    It does not change the line of the run, so it waits for no other command.
    """
    return _data(feed, feed.run.resample(find_entry(feed, entry), times).go())


def stop_resample(feed: Feed, *, entry: int) -> None:
    """Stop asking the model, also what Python has begun."""
    feed.run.resample(find_entry(feed, entry)).stop()


def _data(feed: Feed, found: Samples) -> Data:
    replies = len(found.replies)
    outcomes = found.outcomes
    return {
        "question": found.question,
        "times": found.times,
        "replies": replies,
        "recorded": found.recorded,
        "calls": found.calls,
        "price": mask(found.price),
        "outcomes": [
            {
                "text": one_line(outcome.text, _MAX_TEXT, mask),
                "count": outcome.count,
                "happened": outcome.happened,
                "entry": outcome.entries[0].id,
            }
            for outcome in outcomes[:_MAX_OUTCOMES]
        ],
        "more": max(0, len(outcomes) - _MAX_OUTCOMES),
        "happened": found.happened if replies and not any(outcome.happened for outcome in outcomes) else "",
        **temperature_data(feed.run, found.thought.step),
    }
