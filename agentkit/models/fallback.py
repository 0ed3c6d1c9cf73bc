"""Ask one model, and where it fails the next."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import fields
from typing import Any

from agentkit.core import background
from agentkit.core.messages import Reply
from agentkit.errors import ContextOverflow, UsageError
from agentkit.models.base import Abilities, Chunk, Request
from agentkit.models.scripted import pieces
from agentkit.models.stream_collector import reply_of


class Fallback:
    """Models in the order in which they are asked: the next one when one has failed for good, after its own retries.

    Its abilities are those that all of them have. A chat that is too long for one is no reason to ask the next. The reply
    says which model gave it, and its problems say why the others did not. Raises the last failure, with all reasons.
    """

    def __init__(self, models: Iterable[Any]) -> None:
        from agentkit.models.resolve import find

        self.models = [find(model) for model in models]
        if not self.models:
            raise UsageError("a Fallback needs at least one model: Fallback([first, second])")
        self.name = ", else ".join(_name(model) for model in self.models)
        each = [getattr(model, "abilities", Abilities()) for model in self.models]
        self.abilities = Abilities(
            **{field.name: all(getattr(one, field.name) for one in each) for field in fields(Abilities)}
        )
        self.limits_itself = all(getattr(model, "limits_itself", False) for model in self.models)
        self.awaits = any(getattr(model, "awaits", False) for model in self.models)

    def __call__(self, request: Request) -> Any:
        return Attempts(self.models, request) if self.awaits else _blocking(self.models, request)

    def body(self, request: Request) -> dict[str, Any]:
        """Give the JSON that the first model would send."""
        write = getattr(self.models[0], "body", None)
        return write(request) if write else request.to_dict()

    def __repr__(self) -> str:
        return f"<model {self.name!r}>"


class Attempts:
    """The chunks of whichever model answers, for `for` or `async for`; where another takes over, a chunk says so (`again`)."""

    def __init__(self, models: list[Any], request: Request) -> None:
        self._models = models
        self._request = request
        self._running: Any = None

    def __iter__(self) -> Iterator[Chunk]:
        return _blocking(self._models, self._request)

    def __aiter__(self) -> AsyncIterator[Chunk]:
        self._running = _awaiting(self._models, self._request)
        return self._running

    async def aclose(self) -> None:
        """Close the connection, if one is open."""
        if self._running is not None:
            await self._running.aclose()


def _blocking(models: list[Any], request: Request) -> Iterator[Chunk]:
    failures: list[Exception] = []
    for model in models:
        try:
            yield Chunk(model=_name(model))
            yield from _chunks(model(request))
            return
        except Exception as error:
            failures.append(error)
        yield Chunk(again=_next(models, failures))


async def _awaiting(models: list[Any], request: Request) -> AsyncIterator[Chunk]:
    failures: list[Exception] = []
    for model in models:
        output = model(request) if getattr(model, "awaits", False) else _Beside(model, request)
        try:
            yield Chunk(model=_name(model))
            async for chunk in output:
                yield chunk
            return
        except Exception as error:
            failures.append(error)
        finally:
            await output.aclose()
        yield Chunk(again=_next(models, failures))


class _Beside:
    """The chunks of a blocking model, which is asked in a thread of its own."""

    def __init__(self, model: Any, request: Request) -> None:
        self._ask = lambda: list(_chunks(model(request)))

    async def __aiter__(self) -> AsyncIterator[Chunk]:
        import asyncio

        for chunk in await asyncio.wrap_future(background.in_thread(self._ask)):
            yield chunk

    async def aclose(self) -> None:
        """There is nothing to close: a thread ends by itself."""


def _next(models: list[Any], failures: list[Exception]) -> str:
    """Say why the next model is asked, or raise where there is none, or where it would not help."""
    failed = failures[-1]
    reasons = [f"{_name(model)}: {error}" for model, error in zip(models, failures, strict=False)]
    if isinstance(failed, ContextOverflow | UsageError) or len(failures) == len(models):
        if len(reasons) > 1:
            failed.args = ("no model answered. " + " ".join(reasons),)
        raise failed
    return reasons[-1]


def _chunks(output: Any) -> Iterator[Chunk]:
    """Give what a blocking model returned as chunks."""
    if hasattr(output, "__await__") or (hasattr(output, "__aiter__") and not hasattr(output, "__iter__")):
        raise UsageError("a Fallback takes models that give chunks or replies, and none that must be awaited")
    if hasattr(output, "__iter__") and not isinstance(output, str | dict | Reply):
        for piece in output:
            yield Chunk(piece) if isinstance(piece, str) else piece
        return
    reply = reply_of(output)
    longest = max(
        len(reply.text), len(reply.reasoning), *(len(str(call.raw or call.arguments)) for call in reply.calls), 1
    )
    yield from pieces(reply, 2 * longest)
    if reply.opaque is not None:
        yield Chunk(opaque=reply.opaque)


def _name(model: Any) -> str:
    return getattr(model, "name", None) or getattr(model, "__name__", None) or type(model).__name__
