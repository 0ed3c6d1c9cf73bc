"""What a model writes if nothing stops it after its action: asked again for a view, beside what really happened."""

from __future__ import annotations

from typing import Any

from agentkit.view import cards
from agentkit.view.feed import Feed
from agentkit.view.queries import find_entry


def talk_on(feed: Feed, *, entry: int) -> dict[str, Any]:
    """Ask the model for a thought without the stop sequence: one model call the first time; nothing else is performed.

    It does not change the line of the run, so it waits for no other command.
    """
    shown = feed.run.without_stop(find_entry(feed, entry))
    return {
        "written": shown.written[: cards.MAX_TEXT],
        "invented": shown.invented[: cards.MAX_TEXT],
        "really_written": shown.really_written[: cards.MAX_TEXT],
        "observations": [message.text[: cards.MAX_TEXT] for message in shown.observations],
        "sentence": shown.sentence,
    }
