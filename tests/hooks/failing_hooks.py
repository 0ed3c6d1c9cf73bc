"""Hooks that raise, hang or return something else than a decision: with each of them, nothing may be performed."""

from __future__ import annotations

import asyncio
import gc
import sys
import threading
from collections.abc import Callable
from typing import Any

from fake_secrets import some

from agentkit.errors import Finish, Stopped
from agentkit.hooks import Decision, allow, ask, change, deny, finish

NEVER = threading.Event()
"""What a hook waits for that hangs."""


class Unreadable(Exception):
    """An error whose text cannot be read."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


class Hostile:
    """An object that raises whatever is asked of it."""

    def __getattribute__(self, name: str) -> Any:
        raise RuntimeError(f"no {name}")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("not comparable")

    __hash__ = None  # type: ignore[assignment]


class AlwaysAllow(str):
    """A text that claims to be equal to every other one."""

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = str.__hash__


class NeverEnds:
    """An awaitable that never ends."""

    def __await__(self) -> Any:
        while True:
            yield


class LikeADecision:
    """An object with the attributes of a decision."""

    kind, why, message, what, changed, answer = "allow", "", "", "", None, ""


class MyDecision(Decision):
    """A decision of a class that agentkit does not know."""


def raising(error: BaseException | type[BaseException]) -> Callable[..., Any]:
    def hook(*subjects: Any) -> Any:
        raise error

    return hook


def raising_later(error: BaseException | type[BaseException]) -> Callable[..., Any]:
    async def hook(*subjects: Any) -> Any:
        await asyncio.sleep(0)
        raise error

    return hook


def returning(value: Any) -> Callable[..., Any]:
    return lambda *subjects: value


def returning_later(value: Any) -> Callable[..., Any]:
    async def hook(*subjects: Any) -> Any:
        await asyncio.sleep(0)
        return value

    return hook


def endless(*subjects: Any) -> None:
    NEVER.wait(30)


def endless_generator(*subjects: Any) -> Any:
    while True:
        yield allow()


async def endless_async(*subjects: Any) -> None:
    await asyncio.sleep(30)


async def endless_async_generator(*subjects: Any) -> Any:
    while True:
        yield allow()


async def uncancellable(*subjects: Any) -> None:
    for _ in range(30):
        try:
            await asyncio.sleep(1)
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            return


def leaving(*subjects: Any) -> None:
    sys.exit(0)


def deep(*subjects: Any) -> Any:
    gc.disable()  # finalizers of other tests' garbage would fail, too, where the stack is full
    try:
        return deeper(*subjects)
    finally:
        gc.enable()


def deeper(*subjects: Any) -> Any:
    return deeper(*subjects)


def without_arguments() -> Any:
    return allow()


def with_too_many(one: Any, two: Any, three: Any) -> Any:
    return allow()


def endless_later(*subjects: Any) -> Any:
    return NeverEnds()


RAISE: dict[str, Callable[..., Any]] = {
    **{
        f"raises {error.__name__}": raising(error)
        for error in (
            *(ValueError, KeyError, AssertionError, NotImplementedError, MemoryError, OSError, TimeoutError),
            *(StopIteration, StopAsyncIteration, GeneratorExit, SystemExit, KeyboardInterrupt, BaseException),
            *(asyncio.CancelledError, RecursionError, Unreadable, Stopped),
        )
    },
    "raises a finish": raising(Finish("allowed")),
    "raises a group": raising(ExceptionGroup("several", [ValueError("one")])),
    "raises a secret": raising(ValueError(f"sk-proj-{some(40)}")),
    "leaves": leaving,
    "recurses": deep,
    "takes nothing": without_arguments,
    "takes too much": with_too_many,
    **{
        f"raises {error.__name__} later": raising_later(error)
        for error in (ValueError, SystemExit, KeyboardInterrupt, asyncio.CancelledError, GeneratorExit)
    },
}

HANG: dict[str, Callable[..., Any]] = {
    "hangs": endless,
    "hangs on the loop": endless_async,
    "is never done": endless_later,
    "cannot be cancelled": uncancellable,
}

NONSENSE: dict[str, Callable[..., Any]] = {
    **{
        f"returns {value!r}": returning(value)
        for value in (True, False, 0, 1, 1.5, b"allow", {}, {"allow": True}, [], (), [None], Ellipsis, NotImplemented)
    },
    "returns the class": returning(Decision),
    "returns a function": returning(allow),
    "returns two decisions": returning((allow(), allow())),
    "returns something like a decision": returning(LikeADecision()),
    "returns a decision of another class": returning(MyDecision("allow")),
    "returns a decision of an unknown kind": returning(Decision("approve")),  # type: ignore[arg-type]
    "returns a decision with a number": returning(Decision("allow", message=3)),  # type: ignore[arg-type]
    "returns a hostile object": returning(Hostile()),
    "returns a generator": endless_generator,
    "returns an asynchronous generator": endless_async_generator,
    "returns a coroutine function": returning(endless_async),
    "returns True later": returning_later(True),
    "returns a coroutine later": returning_later(NeverEnds()),
    "denies without a reason": lambda *subjects: deny(""),
    "asks without a reason": lambda *subjects: ask(" "),
    "changes nothing": lambda *subjects: change(),
    "changes too much": lambda *subjects: change(arguments={}, result=""),
    "adds a message that is not a text": lambda *subjects: allow(message=3),  # type: ignore[arg-type]
}

NOT_BEFORE_A_TOOL: dict[str, Callable[..., Any]] = {
    "returns a text": returning("allow"),
    "returns a text that is equal to all": returning(AlwaysAllow("allow")),
    "changes the result": lambda *subjects: change(result="ok"),
    "changes the chat": lambda *subjects: change(chat="ok"),  # type: ignore[arg-type]
    "changes the arguments to a list": returning(Decision("change", what="arguments", changed=[1])),
    "changes the arguments to an object": lambda *subjects: change(arguments={"amount": object()}),
    "changes the arguments to NaN": lambda *subjects: change(arguments={"amount": float("nan")}),
    "changes the arguments to what does not fit": lambda *subjects: change(arguments={"amount": "a lot"}),
    "changes the arguments to other names": lambda *subjects: change(arguments={"sum": 3}),
    "denies": lambda *subjects: deny("no"),
    "finishes": lambda *subjects: finish("no"),
}

FAILING = {**RAISE, **HANG, **NONSENSE}
