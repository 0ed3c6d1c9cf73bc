"""The log of a run: its frames, each encoded once, for any number of streams.

A stream is a position in the list of frames, so a slow reader loses nothing and costs nothing. The run's thread only
appends its events; the first stream that looks encodes them. The log of a run is made from its recorded events, and
then follows the run; when nobody reads it any more, it can be forgotten, because the journal has it all.
"""

from __future__ import annotations

import asyncio
import bisect
import contextlib
import threading
import time
import weakref
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Protocol

from agentkit.core.secrets import mask_json
from agentkit.core.text import error_text
from agentkit.gates.state import Status
from agentkit.run.run import Run
from agentkit.serve import agui
from agentkit.serve.agui import Agui
from agentkit.serve.frames import Data, Frames, position
from agentkit.trace.events import Event, waiting_data

DELTA_INTERVAL = 0.04
"""The least time between two deltas of a reply, in seconds; what arrives in between is sent together."""

PING_INTERVAL = 15.0
"""After how many seconds without a frame a comment is sent, so that no proxy takes the connection for a dead one."""

RETRY = 1_000
"""After how many milliseconds a browser connects again."""

BATCH = 256
"""The most frames that are sent at a time, so that one stream does not hold up the others."""

UNREAD = 500
"""How many events wait at most to be encoded while nobody reads."""

KEPT = 32
"""How many logs are kept at least, though nobody reads them and their runs rest."""


class Encoded(Protocol):
    """A frame: its id, or "", and its text as it is sent."""

    @property
    def id(self) -> str:
        """The id."""

    @property
    def text(self) -> str:
        """The text."""


class Encoder(Protocol):
    """A reader of the events of a run, in order, such as `Frames`. `is_over` ends the streams until the run goes on."""

    is_over: bool

    def take(self, event: Event) -> Sequence[Encoded]:
        """Return the frames of an event."""


class _Mark:
    """A place in a log at which a stream will begin."""

    def __init__(self, at: int) -> None:
        self.at = at


class Log:
    """The frames of one run. Make it with `Log.of`; every method may be called in any thread."""

    def __init__(self, run: Run, encoder: Callable[[str], Encoder] = Frames) -> None:
        self.run = run
        self._new_encoder = encoder
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._listener = _listener(weakref.ref(self))
        self._closings = 0
        self._readers: dict[asyncio.AbstractEventLoop, set[asyncio.Event]] = {}
        self._marks: weakref.WeakSet[_Mark] = weakref.WeakSet()
        self._forget()

    def _forget(self) -> None:
        self._is_loaded = False
        self._encoder = self._new_encoder(self.run.id)
        self._new: list[Event] = []
        self._texts: list[str] = []
        self._ids: list[tuple[int, int]] = []
        self._places: list[int] = []
        """For each of the ids, the number of frames up to the one that has it."""
        self._next_delta = 0.0
        self._signal = 0
        """What the readers have been told since they looked: 0 nothing, 1 that there is a chunk, 2 another event."""

    @classmethod
    def of(cls, run: Run, encoder: Callable[[str], Encoder] = Frames) -> Log:
        """Return the log of a run; it is made once."""
        with _MAKING:
            log: Log = run.attached.get((cls, encoder)) or cls(run, encoder)
            run.attached[cls, encoder] = log
            return log

    # -- reading -------------------------------------------------------------------------------------------------------

    def stream(self, after: str = "") -> AsyncGenerator[str, None]:
        """Return an iterator of the frames after the one with an id, as text; "" begins with the first one.

        Each text is one or more whole frames or comments. The iterator ends after the frame "done", unless the run has
        gone on, when the log is closed, and at the end of a read-only run. Raises `UsageError` if `after` is not an id.
        """
        return self._stream(position(after))

    async def _stream(self, after: tuple[int, int]) -> AsyncGenerator[str, None]:
        yield f"retry: {RETRY}\n\n"
        async with contextlib.aclosing(self._batches(after)) as batches:
            async for texts in batches:
                yield "".join(texts)

    def agui(self, thread: str, run: str, *, from_now: bool = False) -> AsyncGenerator[str, None]:
        """Return an iterator of an AG-UI run as text, with the ids of the thread and of that run.

        It begins with the first event, or with `from_now` with what happens from this call on: after the steps that the
        run waits for were decided about, and before it is played. It ends when the run rests.
        """
        log = Log.of(self.run, Agui)
        return agui.stream(log._batches(log._mark() if from_now else (0, 0)), thread, run)

    def _mark(self) -> _Mark:
        """Return the end of the frames that there are now; the log is not forgotten as long as the mark is there."""
        while True:
            self.load()
            with self._lock:
                if self._is_loaded:  # it may have been forgotten again
                    self._encode(time.monotonic() + DELTA_INTERVAL)
                    mark = _Mark(len(self._texts))
                    self._marks.add(mark)
                    return mark

    async def _batches(self, after: tuple[int, int] | _Mark) -> AsyncGenerator[list[str], None]:
        """Yield what comes after an id or a mark."""
        closings = self._closings
        loop, woken = asyncio.get_running_loop(), asyncio.Event()
        with self._lock:
            self._readers.setdefault(loop, set()).add(woken)
            self._signal = 0  # what was told to a loop that is closed by now has told this reader nothing
        try:
            if not self._is_loaded:
                await asyncio.to_thread(self.load)
            at = after.at if isinstance(after, _Mark) else self._after(after)
            while True:
                woken.clear()
                texts, at, is_at_end, wait = self._take(at)
                if texts:
                    yield texts
                elif is_at_end or self._closings > closings:
                    return
                else:
                    try:
                        async with asyncio.timeout(wait or PING_INTERVAL):
                            await woken.wait()
                    except TimeoutError:
                        if not wait:
                            yield [": ping\n\n"]
        finally:
            with self._lock:
                readers = self._readers.get(loop, set())
                readers.discard(woken)
                if not readers:
                    self._readers.pop(loop, None)
            _set_aside(self)

    def so_far(self, after: str = "") -> str:
        """Return the frames that there are now, after the one with an id. Raises `UsageError` if it is not an id."""
        start, end = position(after), self._mark()
        with self._lock:
            return "".join(self._texts[self._index(start) : end.at])

    def close(self) -> None:
        """End the streams that there are, after what there is now; those of AG-UI, too."""
        for log in [known for known in self.run.attached.values() if isinstance(known, Log)]:
            with log._lock:
                log._closings += 1
                log._tell(2)

    def forget(self) -> bool:
        """Forget the frames if nobody reads them, the run rests, and a journal has it; return whether it was done."""
        run = self.run
        if run.trace.journal is None or run.status == Status.RUNNING:
            return False
        with self._loading:
            with self._lock:
                if self._readers or self._marks:
                    return False
                self._forget()
            run.off_event(self._listener)
        return True

    def _after(self, after: tuple[int, int]) -> int:
        with self._lock:
            self._encode(time.monotonic())
            return self._index(after)

    def _index(self, after: tuple[int, int]) -> int:
        """Return the number of frames up to the last one whose id is not above `after`."""
        known = bisect.bisect_right(self._ids, after)
        return self._places[known - 1] if known else 0

    def _take(self, at: int) -> tuple[list[str], int, bool, float]:
        """Return the frames from a position on, the position after them, whether it is the end, and the time until a
        delta is due (0 if none is).
        """
        with self._lock:
            now = time.monotonic()
            self._encode(now)
            texts = self._texts[at : at + BATCH]
            is_over = self._encoder.is_over or bool(self.run.control.sealed)
            wait = max(0.001, self._next_delta - now) if self._new else 0.0
            end = at + len(texts)
            return texts, end, is_over and end == len(self._texts) and not self._new, wait

    # -- writing -------------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Read the recorded events and follow the run from then on, unless that has been done."""
        with self._loading:
            if self._is_loaded:
                return
            run = self.run
            run.off_event(self._listener)
            self._forget()
            run.on_event(self._listener)
            last = 0
            for event in run.events():
                last = event.cursor or last
                self._add(event)
            state: list[Event] = run.control.read(self._state)  # by now, the events of all these rows have come
            with self._lock:
                known = max((n for n, event in enumerate(self._new, 1) if 0 < event.cursor <= last), default=0)
                del self._new[:known]
                for event in state if not self._new else ():
                    self._add(event)
                self._is_loaded = True
        _set_aside(self)

    def _state(self) -> list[Event]:
        """Return what no row says about a run that rests: what it waits for, or why it does not go on.

        Without a journal, only the steps are recorded, so this is also how it has ended.
        """
        run, over = self.run, self._encoder.is_over
        states: list[tuple[str, Data]] = []
        if over or run.control.sealed or run.control.running:
            pass
        elif run.answer is not None:
            result = run.result
            states = [("completed", {"answer": result.answer, "interrupted": result.reason})]
        elif run.status == Status.FAILED and run.error is not None:
            error = {"type": type(run.error).__name__, "text": error_text(run.error)[:2000], "retry": True}
            states = [("error", error)]
        else:
            states = [("waiting", waiting_data(pending, verdict.why)) for pending, verdict in run.waiting]
            states.append(("paused", {"why": run.hold}))
        return [Event(kind, run.id, 0, mask_json(data)) for kind, data in states]

    def add(self, event: Event) -> None:
        """Add an event that has just happened."""
        with self._lock:
            self._new.append(event)
            if self._readers:
                self._tell(1 if event.kind == "model_chunk" else 2)
            elif self._is_loaded and len(self._new) > UNREAD:
                self._encode(time.monotonic())

    def _tell(self, signal: int) -> None:
        """Wake up the readers, unless they have been told: a call for each event would cost the run too much."""
        if signal <= self._signal:
            return
        self._signal = signal
        for loop in list(self._readers):
            try:
                loop.call_soon_threadsafe(self._wake, loop, signal)
            except RuntimeError:  # the loop is closed, and its readers are gone
                del self._readers[loop]

    def _wake(self, loop: asyncio.AbstractEventLoop, signal: int) -> None:
        left = self._next_delta - time.monotonic()
        if signal == 1 and left > 0:
            loop.call_later(left, self._wake, loop, 2)
            return
        with self._lock:
            self._signal = 0
            for woken in self._readers.get(loop, ()):
                woken.set()

    def _encode(self, now: float) -> None:
        """Encode the new events; chunks at the end are kept back until the next delta is due."""
        if not self._new:
            return
        events, self._new = _gathered(self._new), []
        if events[-1].kind == "model_chunk":
            if now < self._next_delta:
                while events and events[-1].kind == "model_chunk":
                    self._new.insert(0, events.pop())
            else:
                self._next_delta = now + DELTA_INTERVAL
        for event in events:
            self._add(event)

    def _add(self, event: Event) -> None:
        for frame in self._encoder.take(event):
            self._texts.append(frame.text)
            if frame.id:
                self._ids.append(position(frame.id))
                self._places.append(len(self._texts))


def _listener(log: weakref.ref[Log]) -> Callable[[Event], None]:
    """Return a listener that does not keep the log, and thereby the run, from going."""

    def on_event(event: Event) -> None:
        if (known := log()) is not None:
            known.add(event)

    return on_event


def _gathered(events: Iterable[Event]) -> list[Event]:
    """Return the events with the chunks of each reply that follow each other as one."""
    result: list[Event] = []
    pieces: dict[tuple[str, int], tuple[int, list[Event]]] = {}

    def join() -> None:
        for at, chunks in pieces.values():
            if len(chunks) > 1:
                texts = {name: "".join(chunk.data[name] for chunk in chunks) for name in ("text", "reasoning")}
                result[at] = replace(chunks[0], data={**chunks[0].data, **texts})
        pieces.clear()

    for event in events:
        if event.kind != "model_chunk":
            join()
        else:
            place = event.data["path"], event.data["index"]
            if place in pieces and not event.data["again"]:
                pieces[place][1].append(event)
                continue
            if place in pieces:
                join()
            pieces[place] = len(result), [event]
        result.append(event)
    join()
    return result


_MAKING = threading.Lock()
_READ: list[weakref.ref[Log]] = []
"""The logs that are loaded, the one that was opened or left last at the end."""


def _set_aside(log: Log) -> None:
    """Note that a log has just been read, and forget the oldest ones as far as they can be."""
    with _MAKING:
        _READ[:] = [known for known in _READ if known() not in (None, log)]
        _READ.append(weakref.ref(log))
        old = _READ[:-KEPT]
    forgotten = [known for known in old if (other := known()) is None or other.forget()]
    with _MAKING:
        _READ[:] = [known for known in _READ if known not in forgotten]
