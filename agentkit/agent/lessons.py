"""What Reflexion has learned, from one run to the next: recalled when a run begins, kept when it ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentkit.engines.parsing import answer_of
from agentkit.engines.reflexion import LessonStore
from agentkit.run.run import Run
from agentkit.trace.events import Event


def recalled(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with the lessons that a store holds instead of the store; so a replay needs no store."""
    store = options.get("lessons")
    return {**options, "lessons": list(store.recall())} if isinstance(store, LessonStore) else dict(options)


def keep(run: Run, store: Any) -> None:
    """Leave the reflections of a run in a store when it ends, with the edits that were made until then."""

    def on_event(event: Event) -> None:
        if event.kind != "completed":
            return
        for entry in run.trace.line.entries:
            is_lesson = entry.step is not None and entry.step.role == "reflect"
            if is_lesson and (lesson := " ".join(answer_of(entry.result).split())):
                store.remember(lesson)

    if isinstance(store, LessonStore):
        run.on_event(on_event)
