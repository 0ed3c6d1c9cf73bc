"""Values of Python as JSON data that a view draws: a preview in a line, and what is inside when somebody opens it.

A value is read by its structure: the members of containers, and the fields that objects hold, up to a limit at each
level. None of its own code runs, except the `repr` of what has no structure, and an error in that is caught. Secrets
are masked. The shapes are those of `ValuePreview` and `OpenedValue` in widgets/src/protocol.ts.
"""

from __future__ import annotations

import types
import zlib
from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

from agentkit.core.messages import Call, Chat, Message
from agentkit.core.secrets import mask, mask_json
from agentkit.core.text import counted, one_line
from agentkit.errors import UsageError
from agentkit.export.parts import call_line

Data = dict[str, Any]

PAGE = 50
"""Members or rows that are sent at once."""
MAX_VARIABLES = 40
MAX_TEXT = 100_000
"""The most characters of a text that is opened."""
_MAX_MESSAGE = 4_000
"""The most characters of a message in a chat."""
_MAX_SORTED = 20_000
_WIDTH = 100
_MAX_COLUMNS = 30
_FINGERPRINTED = 200
"""How many parts of a value are compared to tell whether it has changed."""

_SCALARS = (int, float, bool, complex, types.NoneType)


def preview(value: Any, name: str = "") -> Data:
    """Return a value in a line: `text`, its `kind`, and how many members it has, which is 0 if it does not open.

    `name` is that of the variable or field that holds it: some names are those of secrets.
    """
    members = _members(value)
    data: Data = {"text": _line(value, name), "kind": _kind(value), "size": len(members) if members is not None else 0}
    if _is(value, str) and str.__len__(value) > _WIDTH:
        data["size"] = str.__len__(value)
    return data


def variables(held: dict[str, Any]) -> list[list[Any]]:
    """Return the local variables of a frame: each as its name, its preview and its mark."""
    return [[name, *_variable(name, value)] for name, value in islice(held.items(), MAX_VARIABLES)]


def _variable(name: str, value: Any) -> tuple[Data, str]:
    try:
        return preview(value, name), mark(value)
    except Exception as error:  # another thread may be changing it
        return {"text": f"<could not be read: {type(error).__name__}>", "kind": "object", "size": 0}, ""


def mark(value: Any) -> str:
    """Return a text that changes when a value does, judged by its first parts."""
    left, parts = [_FINGERPRINTED], list[str]()

    def walk(part: Any, depth: int) -> None:
        left[0] -= 1
        members = _members(part) if depth < 6 else None
        if members is None or _is(part, str):
            parts.append(_exact(part)[:1000] + str(str.__len__(part)) if _is(part, str) else _line(part))
            return
        parts.append(f"{type(part).__name__}{len(members)}")
        for key, member in members.sample(20):
            if left[0] <= 0:
                return
            parts.append(_name_text(key))
            walk(member, depth + 1)

    walk(value, 0)
    return format(zlib.crc32("\0".join(parts).encode(errors="replace")), "08x")


def opened(value: Any, path: list[int], *, first: int = 0, order: tuple[int, bool] | None = None) -> Data:
    """Return what is inside a value, at a path of positions: its members from `first` on, the rows of a table if they
    are records, or the whole of a text.

    `order` sorts rows by a column, descending if true. Raises `UsageError` if there is nothing at the path.
    """
    name = ""
    for index in path:
        members = _members(value)
        found = list(islice(members.all(), index, index + 1)) if members is not None and index >= 0 else []
        if not found:
            raise UsageError("this value has changed since it was opened; close it and open it again")
        key, value = found[0]
        name = _name_text(key)
    if _is(value, str):
        text = _masked(value, name)
        return {"total": str.__len__(value), "first": 0, "members": [], "text": text}
    members = _members(value)
    if members is None:
        return {"total": 0, "first": 0, "members": [], "text": _guarded(lambda: mask(repr(value)))[:MAX_TEXT]}
    header = _header(value)
    if header:
        return _rows(value, header, first, order)
    page = islice(members.all(), first, first + PAGE)
    read = list(page)
    shown = [[_name_text(key), preview(member, _name_text(key))] for key, member in read]
    messages = [value] if _is(value, Message) else [member for _, member in read] if _is(value, Chat) else []
    as_chat = {"messages": [_message(message) for message in messages]} if messages else {}
    return {"total": len(members), "first": first, "members": shown, **as_chat}


def _message(message: Message) -> Data:
    """Return what a reader sees of a message; a long text is shortened, and opened at the path of its text."""
    text = mask(message.text)
    data: Data = {
        "role": " ".join(filter(None, (message.role, message.name))),
        "text": text[:_MAX_MESSAGE],
        "calls": [call_line(call) for call in message.calls],
        "more": bool(message.reasoning) or message.value is not None,
    }
    return {**data, "length": len(text)} if len(text) > _MAX_MESSAGE else data


# -- tables ------------------------------------------------------------------------------------------------------------


def _header(value: Any) -> list[str]:
    """Return the columns of a list of at least two records, whose first ones have the same keys; else nothing."""
    if not _is(value, list | tuple) or _length(value) < 2:
        return []
    keys: list[str] = []
    for record in islice(_iterate(value), PAGE):
        if not _is(record, dict) or not all(type(key) is str for key in dict.keys(record)):
            return []
        names = list(dict.keys(record))
        if not names:
            return []
        if keys and not set(names) & set(keys):
            return []
        keys += [name for name in names if name not in keys]
    return keys if len(keys) <= _MAX_COLUMNS else []


def _rows(value: Any, header: list[str], first: int, order: tuple[int, bool] | None) -> Data:
    numbered = list(enumerate(_iterate(value)))
    if order and 0 <= order[0] < len(header) and len(numbered) <= _MAX_SORTED:
        column = header[order[0]]
        numbered.sort(key=lambda row: _sort_key(_cell(row[1], column)), reverse=order[1])
        numbered.sort(key=lambda row: _is_empty(_cell(row[1], column)))  # last, in both directions
    rows = []
    for number, record in numbered[first : first + PAGE]:
        cells = [_cell(record, column) for column in header]
        rows.append([number, [_cell_text(cell, name) for cell, name in zip(cells, header, strict=True)]])
    shown = [mask(_short(name)) for name in header]
    return {"total": len(numbered), "first": first, "members": [], "header": shown, "rows": rows}


_MISSING = object()


def _cell(record: Any, column: str) -> Any:
    return dict.get(record, column, _MISSING) if _is(record, dict) else _MISSING


def _cell_text(cell: Any, name: str) -> str:
    if cell is _MISSING:
        return ""
    return _short(_masked(cell, name)) if _is(cell, str) else _line(cell, name)


def _sort_key(cell: Any) -> tuple[int, Any]:
    """Return a key by which numbers are compared as numbers and everything else by its text."""
    if type(cell) in (int, float, bool) and cell == cell:
        return 0, cell
    return (1, cell if type(cell) is str else "" if _is_empty(cell) else _line(cell))


def _is_empty(cell: Any) -> bool:
    return cell is _MISSING or cell is None


# -- members -----------------------------------------------------------------------------------------------------------


class _Members:
    """The members of a value: how many there are, and each with its name.

    `sample_of` returns some of them by which a change is noticed, if there are better ones than the first.
    """

    def __init__(
        self,
        length: int,
        all_of: Callable[[], Iterable[tuple[Any, Any]]],
        sample_of: Callable[[], Iterable[tuple[Any, Any]]] | None = None,
    ) -> None:
        self._length = length
        self.all = all_of
        self._sample_of = sample_of or all_of

    def __len__(self) -> int:
        return self._length

    def first(self, count: int) -> Iterable[tuple[Any, Any]]:
        return islice(self.all(), count)

    def sample(self, count: int) -> Iterable[tuple[Any, Any]]:
        return islice(self._sample_of(), count)


def _members(value: Any) -> _Members | None:
    """Return the members of a value; None if it has none, and cannot be opened.

    Containers are read by the methods of the built-in types, which a class that inherits from them cannot replace.
    """
    if _is(value, Chat):
        # the newest messages, because a chat shares its past with the one before it
        newest = lambda: ((node.length, node.last) for node in Chat.nodes(value))  # noqa: E731
        return _Members(value.length, lambda: enumerate(list(Chat.__iter__(value))), newest)
    if _is(value, dict):
        return _Members(dict.__len__(value), lambda: list(dict.items(value)))
    if _is(value, list | tuple | set | frozenset):
        names = _names_of_tuple(value)
        length = _length(value)
        return _Members(length, lambda: zip(names or range(length), _iterate(value), strict=False))
    if _is(value, (str, bytes, bytearray, *_SCALARS, type, types.ModuleType, types.FunctionType)):
        return None
    fields = _fields(value)
    if _is(value, Message):
        held = dict(fields)
        fields = [(name, held[name]) for name in _MESSAGE if held.get(name)]
    return _Members(len(fields), lambda: fields) if fields else None


_MESSAGE = "role", "text", "calls", "name", "reasoning", "value"
"""What is shown of a message, if it has it."""


def _length(value: Any) -> int:
    return next(kind.__len__(value) for kind in _ITERATED if _is(value, kind))


def _iterate(value: Any) -> Iterable[Any]:
    return next(kind.__iter__(value) for kind in _ITERATED if _is(value, kind))


_ITERATED: tuple[Any, ...] = (list, tuple, set, frozenset)


def _names_of_tuple(value: Any) -> list[str] | None:
    """Return the names of the fields of a named tuple."""
    names: Any = _static(type(value), "_fields") if _is(value, tuple) else None
    if not _is(names, tuple) or len(names) != tuple.__len__(value):
        return None
    return [name for name in names if type(name) is str] if all(type(name) is str for name in names) else None


def _static(kind: type, name: str) -> Any:
    """Return an attribute of a class without running any code of its own."""
    for base in type.__dict__["__mro__"].__get__(kind):
        namespace = type.__dict__["__dict__"].__get__(base)
        if name in namespace:
            return namespace[name]
    return None


def _fields(value: Any) -> list[tuple[str, Any]]:
    """Return what an object holds in its slots and in its dictionary; properties are not called."""
    found: dict[str, Any] = {}
    kind = type(value)
    for base in reversed(type.__dict__["__mro__"].__get__(kind)):
        for name, member in type.__dict__["__dict__"].__get__(base).items():
            if type(member) is types.MemberDescriptorType and not name.startswith("__"):
                try:
                    found[name] = member.__get__(value, kind)
                except (AttributeError, TypeError):  # a slot that is empty
                    continue
    holder = _static(kind, "__dict__")
    if type(holder) is types.GetSetDescriptorType:
        held = holder.__get__(value, kind)
        if _is(held, dict):
            found |= {name: item for name, item in dict.items(held) if type(name) is str}
    declared = _static(kind, "__dataclass_fields__")
    names = [name for name in declared if name in found] if type(declared) is dict else []
    return [(name, found[name]) for name in dict.fromkeys([*names, *found]) if not name.startswith("_")]


# -- lines -------------------------------------------------------------------------------------------------------------


def _kind(value: Any) -> str:
    if _is(value, str):
        return "text"
    if _is(value, Chat):
        return "chat"
    if _is(value, Message):
        return "message"
    if _is(value, dict):
        return "fields"
    if _is(value, list | tuple | set | frozenset):
        return "list"
    return "scalar" if type(value) in _SCALARS else "object"


def _line(value: Any, name: str = "") -> str:
    """Return a value in a line."""
    if _is(value, str):
        return f"'{_short(_masked(value, name))}'"
    if _is(value, Chat):
        return counted(value.length, "message")
    if _is(value, Message):
        calls = "".join(f" → {call_line(call)}" for call in value.calls)
        return _short(f"{value.role}: {mask(value.text[: 8 * _WIDTH])}{calls}")
    if _is(value, Call):
        return _short(call_line(value))
    if type(value) is int and value.bit_length() > 1_000:
        return f"an integer of {value.bit_length():,} bits"
    members = None if type(value) in _SCALARS else _members(value)
    if members is None:
        return _guarded(lambda: _short(mask(repr(value))))
    kind = _type_name(value)
    if _is(value, dict | list | tuple | set | frozenset):
        return _container_line(value, members, kind)
    return _short(f"{kind}({_first_members(members, '=')})")


def _container_line(value: Any, members: _Members, kind: str) -> str:
    names = _is(value, dict) or _names_of_tuple(value) is not None
    opening, closing = ("{", "}") if _is(value, dict | set | frozenset) else ("(", ")")
    if _is(value, list):
        opening, closing = "[", "]"
    if not len(members):
        return f"{opening}{closing}" if kind != "set" else "set()"
    prefix = "" if kind in ("dict", "list", "tuple", "set") else kind
    if _header(value):
        return f"{prefix or kind} of {counted(len(members), 'record')}"
    body = _first_members(members, ": " if _is(value, dict) else "=" if names else "")
    return f"{prefix}{opening}{body}{closing}"


def _first_members(members: _Members, between: str) -> str:
    """Return the first members in a few words, and how many more there are."""
    pieces, length = list[str](), 0
    for key, member in members.first(8):
        name = _name_text(key)
        piece = f"{name}{between}{_brief(member, name)}" if between else _brief(member, "")
        length += len(piece)
        if pieces and length > 0.8 * _WIDTH:
            break
        pieces.append(piece)
    more = len(members) - len(pieces)
    return ", ".join(pieces) + (f", … {more:,} more" if more else "")


def _brief(value: Any, name: str) -> str:
    """Return a member in a few characters: a container only by how much it contains."""
    if _is(value, str):
        shown = _masked(value, name)
        return f"'{shown}'" if len(shown) <= 30 else f"'{one_line(shown[:29], 40)}…'"
    if _is(value, Chat):
        return counted(value.length, "message")
    if _is(value, dict):
        return f"{{{counted(dict.__len__(value), 'field')}}}" if dict.__len__(value) else "{}"
    if _is(value, list | tuple | set | frozenset):
        return f"[{counted(_length(value), 'item')}]" if _length(value) else "[]"
    if type(value) in _SCALARS:
        return _line(value)
    return f"{_type_name(value)}(…)"


def _type_name(value: Any) -> str:
    return str(type.__dict__["__name__"].__get__(type(value)))


def _masked(text: str, name: str) -> str:
    """Return a text without secrets, also if only the name of its variable reveals that it is one."""
    return str(next(iter(mask_json({name: _exact(text)[: MAX_TEXT + 2_000]}).values())))[:MAX_TEXT]


def _exact(text: str) -> str:
    """Return a text as a plain `str`, whose methods are the built-in ones."""
    return str.__str__(text)


def _is(value: Any, kind: Any) -> bool:
    """Return whether a value is of a kind by its type: `isinstance` would ask the value as well."""
    return issubclass(type(value), kind)


def _name_text(key: Any) -> str:
    return _short(mask(_exact(key)) if _is(key, str) else _guarded(lambda: mask(repr(key))))


def _short(text: str) -> str:
    return one_line(text, _WIDTH)


def _guarded(make: Callable[[], str]) -> str:
    try:
        return make()
    except Exception as error:  # a repr is foreign code
        return f"<its repr raised {type(error).__name__}>"
