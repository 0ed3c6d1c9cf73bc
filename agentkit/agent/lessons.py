"""Let runs learn from each other: a run reads the lessons of a store when it starts, and adds its own when it ends.

The lessons that a run has read are recorded with it, so that a replay needs no store.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentkit.core.lessons import LessonStore
from agentkit.engines.parsing import answer_of
from agentkit.run.run import Run
from agentkit.trace.events import Event


def with_lessons(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of an engine with the lessons of a store instead of the store."""
    store = options.get("lessons")
    return {**options, "lessons": list(store.recall())} if isinstance(store, LessonStore) else dict(options)


def has_store(options: Mapping[str, Any]) -> bool:
    """Return whether the lessons of an engine come from a store."""
    return isinstance(options.get("lessons"), LessonStore)


def remember_lessons(run: Run, store: Any) -> None:
    """Store the reflections of a run when it ends, as they are after any edits."""

    def on_event(event: Event) -> None:
        if event.kind != "completed":
            return
        for entry in run.trace.line.entries:
            if entry.step is not None and entry.step.role == "reflect":
                lesson = " ".join(answer_of(entry.result).split())
                if lesson:
                    store.remember(lesson)

    if isinstance(store, LessonStore):
        run.on_event(on_event)
