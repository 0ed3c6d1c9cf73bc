"""Asking a model the same several times, for a view: what it would cost, what came out so far, and how to stop."""

from __future__ import annotations

from typing import Any

from agentkit.core.secrets import mask
from agentkit.core.text import one_line
from agentkit.errors import UsageError
from agentkit.experiments.trials import Trials, as_last_scored
from agentkit.run.samples import Samples
from agentkit.view.feed import Feed
from agentkit.view.head import temperature_data
from agentkit.view.queries import find_entry

Data = dict[str, Any]

_MAX_OUTCOMES = 50
_MAX_TEXT = 300
DEFAULT = 20
"""How many trials are proposed."""


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


def trials(feed: Feed, *, entry: int, times: int | None) -> Data:
    """Return how the run has ended when a thought was asked again, and what more trials would cost, as `samples` does.

    They are scored as Python has scored them last. Nothing is done.
    """
    return _trials_data(_trials(feed, entry, times))


def make_trials(feed: Feed, *, entry: int, times: int, approved: bool | None) -> Data:
    """Make trials until there are `times` of them, or until they are stopped; `approved` is that of `Trials.go`.

    It does not change the line of the run, so it waits for no other command.
    """
    return _trials_data(_trials(feed, entry, times).go(approved=approved))


def stop_trials(feed: Feed, *, entry: int) -> None:
    """Stop the trials, also those that Python has begun."""
    _trials(feed, entry, None).stop()


def open_trial(feed: Feed, *, entry: int, trial: int) -> Data:
    """Show the run of a trial beside this one; nothing is performed."""
    found = _trials(feed, entry, None).all
    if not 0 <= trial < len(found):
        raise UsageError(f"there is no trial {trial}; look at the outcomes again")
    other = found[trial].run
    feed.page.show(other)
    return {"run": other.id, "forecast": other.forecast}


def _trials(feed: Feed, entry: int, times: int | None) -> Trials:
    found = as_last_scored(feed.run, find_entry(feed, entry), times or DEFAULT)
    if times is None and found.recorded > DEFAULT:
        found = as_last_scored(feed.run, found.thought, found.recorded)
    return found


def _trials_data(found: Trials) -> Data:
    endings = found.endings
    return {
        "question": found.key,
        "times": found.times,
        "ended": len(found.ended),
        "recorded": found.recorded,
        "left": len(found.missing) + len(found.unscored),
        "price": mask(found.price),
        "asks": mask(found.question_in_view),
        "score": mask(found.sentence),
        "outcomes": [
            {
                "text": one_line(ending.text, _MAX_TEXT, mask),
                "count": ending.count,
                "low": ending.low,
                "high": ending.high,
                "happened": ending.happened,
                "trial": ending.trials[0].number,
            }
            for ending in endings[:_MAX_OUTCOMES]
        ],
        "more": max(0, len(endings) - _MAX_OUTCOMES),
        "happened": found.other_ending if endings else "",
        **temperature_data(found.run, found.thought.step),
    }


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
