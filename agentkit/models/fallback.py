"""Ask one model, and if it fails the next."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator
from dataclasses import fields
from typing import Any

from agentkit.core import background
from agentkit.core.checked_arguments import checked
from agentkit.core.messages import Reply
from agentkit.errors import ContextOverflow, UsageError
from agentkit.inert import inert
from agentkit.models.base import Abilities, Chunk, Request, name_of
from agentkit.models.reply_conversion import reply_of
from agentkit.models.scripted import in_pieces


class Fallback:
    """Several models, asked in this order: the next one is asked when one has failed for good, after its own retries.

    It has the abilities that all of them have. If the chat is too long for one, the next is not asked. The reply names
    the model that gave it, and its problems say why the others did not. Raises the last failure, with all reasons.
    """

    @checked
    def __init__(self, models: Iterable[Any]) -> None:
        from agentkit.models.resolve import find

        self.models = [find(model) for model in models]
        if not self.models:
            raise UsageError("a Fallback needs at least one model: Fallback([first, second])")
        self.name = ", else ".join(name_of(model) for model in self.models)
        abilities = [getattr(model, "abilities", Abilities()) for model in self.models]
        shared = {field.name: all(getattr(each, field.name) for each in abilities) for field in fields(Abilities)}
        self.abilities = Abilities(**shared)
        self.limits_itself = all(getattr(model, "limits_itself", False) for model in self.models)
        self.awaits = any(getattr(model, "awaits", False) for model in self.models)

    def __call__(self, request: Request) -> Any:
        return Attempts(self.models, request) if self.awaits else _blocking(self.models, request)

    def body(self, request: Request) -> dict[str, Any]:
        """Return the JSON that the first model would send."""
        body = getattr(self.models[0], "body", None)
        return body(request) if body else request.to_dict()

    @inert
    def __repr__(self) -> str:
        return f"<model {self.name!r}>"


class Attempts:
    """The chunks of the model that replies, for `for` or `async for`; when the next one is asked, a chunk says so
    (`again`).
    """

    def __init__(self, models: list[Any], request: Request) -> None:
        self._models = models
        self._request = request
        self._chunks: Any = None

    def __iter__(self) -> Iterator[Chunk]:
        return _blocking(self._models, self._request)

    def __aiter__(self) -> AsyncIterator[Chunk]:
        self._chunks = _awaiting(self._models, self._request)
        return self._chunks

    async def aclose(self) -> None:
        """Close the connection, if one is open."""
        if self._chunks is not None:
            await self._chunks.aclose()


def _blocking(models: list[Any], request: Request) -> Iterator[Chunk]:
    failures: list[Exception] = []
    for model in models:
        try:
            yield Chunk(model=name_of(model))
            yield from _chunks_of(model(request))
            return
        except Exception as error:
            failures.append(error)
        yield Chunk(again=_reason_for_next(models, failures))


async def _awaiting(models: list[Any], request: Request) -> AsyncIterator[Chunk]:
    failures: list[Exception] = []
    for model in models:
        output = model(request) if getattr(model, "awaits", False) else _InThread(model, request)
        try:
            yield Chunk(model=name_of(model))
            async for chunk in output:
                yield chunk
            return
        except Exception as error:
            failures.append(error)
        finally:
            await output.aclose()
        yield Chunk(again=_reason_for_next(models, failures))


class _InThread:
    """The chunks of a blocking model, which is asked in a thread of its own."""

    def __init__(self, model: Any, request: Request) -> None:
        self._ask = lambda: list(_chunks_of(model(request)))

    async def __aiter__(self) -> AsyncIterator[Chunk]:
        import asyncio

        for chunk in await asyncio.wrap_future(background.in_thread(self._ask)):
            yield chunk

    async def aclose(self) -> None:
        """Do nothing: the thread ends by itself."""


def _reason_for_next(models: list[Any], failures: list[Exception]) -> str:
    """Return why the next model is asked. Raises the failure if there is no next one, or if it would not help."""
    failure = failures[-1]
    reasons = [f"{name_of(model)}: {error}" for model, error in zip(models, failures, strict=False)]
    if isinstance(failure, ContextOverflow | UsageError) or len(failures) == len(models):
        if len(reasons) > 1:
            failure.args = ("no model answered. " + " ".join(reasons),)
        raise failure
    return reasons[-1]


def _chunks_of(output: Any) -> Iterator[Chunk]:
    """Yield what a blocking model returned as chunks."""
    if hasattr(output, "__await__") or (hasattr(output, "__aiter__") and not hasattr(output, "__iter__")):
        raise UsageError("a Fallback takes models that return chunks or replies, not ones that must be awaited")
    if hasattr(output, "__iter__") and not isinstance(output, str | dict | Reply):
        for piece in output:
            yield Chunk(piece) if isinstance(piece, str) else piece
        return
    reply = reply_of(output)
    arguments = [len(str(call.raw or call.arguments)) for call in reply.calls]
    yield from in_pieces(reply, 2 * max(len(reply.text), len(reply.reasoning), *arguments, 1))
    if reply.opaque is not None:
        yield Chunk(opaque=reply.opaque)
