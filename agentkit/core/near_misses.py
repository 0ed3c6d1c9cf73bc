"""What to write instead of an attribute that does not exist: names from other libraries, and misspelled ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from agentkit.errors import nearest


class NearMisses:
    """A value whose missing attributes get an error that names the right one.

    `meant_by` has the names that people try, and for each what to write instead.
    """

    __slots__ = ()

    meant_by: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # a type checker should still find misspelled names

        def __getattr__(self, name: str) -> Any:
            cls = type(self)
            if hasattr(cls, name):  # the property exists, and what it calls has raised this
                return object.__getattribute__(self, name)
            hint = ""
            if not name.startswith("_"):
                near = nearest(name, (known for known in dir(self) if not known.startswith("_")))
                hint = f"; use {cls.meant_by[name]}" if name in cls.meant_by else near and f"; did you mean {near!r}?"
            raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}{hint}", name=name, obj=self)
