"""Fit a call's arguments to a tool: what is nearly right is read as it was meant, and said; the rest is refused in words."""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable
from typing import Any

from agentkit.errors import ArgumentsError
from agentkit.tools.schema import Form

_MOST_FAULTS = 8
_LONGEST_VALUE = 60
_LONGEST_TEXT = 2_000
_JSON_TYPES = (str, int, float, bool, type(None))


def copied(value: Any, path: str = "") -> Any:
    """Copy JSON data, so that a tool cannot change the recorded call. Raises `ArgumentsError` on NaN and infinities."""
    kind = type(value)
    if kind is dict:
        return {name: copied(item, f"{path}.{name}" if path else str(name)) for name, item in value.items()}
    if kind is list:
        return [copied(item, f"{path}[{at}]") for at, item in enumerate(value)]
    if kind is float and not math.isfinite(value):
        raise ArgumentsError(
            f"The arguments were not used: {_short(path, 200)} is {value}, which is not a finite number."
        )
    return value


def fit(tool: str, form: Form, arguments: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Validate leniently: give the keyword arguments and what was changed, in words. Raises `ArgumentsError`."""
    from pydantic_core import ValidationError

    notes: list[str] = []
    try:
        try:
            fitted = form.validate(given := arguments, strict=False)
        except ValidationError as error:
            fitted = form.validate(given := _mended(form, arguments, error, notes), strict=False)
    except ValidationError as error:
        raise ArgumentsError(_misfit(tool, form, given, error)) from None
    except RecursionError:
        raise ArgumentsError(f"The arguments of {tool!r} are nested too deeply.") from None
    except Exception as error:
        reason = f"The arguments of {tool!r} were refused: {type(error).__name__}: {error}"
        raise ArgumentsError(_short(reason, _LONGEST_TEXT)) from error
    _compare("", given, fitted[form.whole] if form.whole else fitted, notes)
    return fitted, tuple(notes[:_MOST_FAULTS])


def _mended(form: Form, arguments: Any, error: Any, notes: list[str]) -> Any:
    """Undo what models often get wrong in an argument as a whole. Raises `error` where there is nothing to undo."""
    properties = form.parameters.get("properties", {})
    if not isinstance(arguments, dict):
        raise error
    if (
        form.whole
        and list(arguments) == [form.whole]
        and form.whole not in properties
        and isinstance(arguments[form.whole], dict)
    ):
        notes.append(f"{form.whole}: its fields were read as the arguments")
        return arguments[form.whole]
    mended, required = dict(arguments), form.parameters.get("required", ())
    faults = error.errors(include_url=False, include_context=False)
    for name in dict.fromkeys(fault["loc"][0] for fault in faults if fault["loc"]):
        value = arguments.get(name)
        if value is None and name in arguments and name in properties and name not in required:
            del mended[name]
            notes.append(f"{name}: null was left out")
        elif isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
            try:
                mended[name] = copied(json.loads(value), str(name))
            except (ValueError, RecursionError, ArgumentsError):
                continue
            notes.append(f"{name}: the text was read as JSON")
    if not notes:
        raise error
    return mended


def _compare(path: str, given: Any, read: Any, notes: list[str]) -> None:
    """Note each plain value that was read as another one."""
    if isinstance(given, dict):
        for name, item in given.items():
            value = read.get(name, item) if isinstance(read, dict) else getattr(read, str(name), item)
            _compare(f"{path}.{name}" if path else str(name), item, value, notes)
    elif isinstance(given, list):
        if isinstance(read, list | tuple) and len(read) == len(given):
            for at, item in enumerate(given):
                _compare(f"{path}[{at}]", item, read[at], notes)
    elif type(read) in _JSON_TYPES and (given != read or isinstance(given, bool) != isinstance(read, bool)):
        notes.append(f"{_short(path, 100)}: {_shown(given)} was read as {_shown(read)}")


def _misfit(tool: str, form: Form, given: Any, error: Any) -> str:
    """Say which fields are wrong and what the tool expects."""
    properties = form.parameters.get("properties", {})
    lines = [f"The arguments do not fit {_short(tool, 100)!r}:"]
    faults = error.errors(include_url=False, include_context=False)
    for fault in faults[:_MOST_FAULTS]:
        where = _path(fault["loc"], given)
        if fault["type"] == "missing":
            lines.append(f"- {where}: is missing")
        elif fault["type"] == "extra_forbidden":
            lines.append(f"- {where}: is not an argument of this tool{_nearest(where, properties)}")
        else:
            words = fault["msg"].replace("Input should be", "should be").replace("Value error, ", "")
            lines.append(f"- {where or 'arguments'}: {_short(words, 200)}, but is {_shown(fault['input'])}")
    if len(faults) > _MOST_FAULTS:
        lines.append(f"- and {len(faults) - _MOST_FAULTS} more")
    lines.append(f"Expected: {outline(form.parameters) or 'no arguments'}.")
    return _short("\n".join(dict.fromkeys(lines)), _LONGEST_TEXT)


def outline(parameters: dict[str, Any]) -> str:
    """Write the arguments of a tool in one line: `query (string), limit (integer, optional)`."""
    required = parameters.get("required", ())
    fields = parameters.get("properties", {})
    return ", ".join(
        f"{name} ({kind(field)}{'' if name in required else ', optional'})" for name, field in fields.items()
    )


def kind(schema: Any) -> str:
    """Name the type of a field in a word or two."""
    if not isinstance(schema, dict):
        return "anything"
    if "enum" in schema:
        return "one of " + ", ".join(_shown(choice) for choice in schema["enum"][:12])
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(kind(part) for part in schema["anyOf"]))
    named = schema.get("type", "object" if "$ref" in schema else "anything")
    return " or ".join(map(str, named)) if isinstance(named, list) else str(named)


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name[:_LONGEST_VALUE], list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def _path(parts: tuple[str | int, ...], given: Any) -> str:
    """Write where a fault is: the keys and indices, without the names that pydantic gives to the parts of a union."""
    text = ""
    for at, part in enumerate(parts):
        if (isinstance(given, dict) and part in given) or (
            isinstance(given, list) and isinstance(part, int) and part < len(given)
        ):
            given = given[part]  # type: ignore[index]
        elif at not in (0, len(parts) - 1) or not isinstance(given, dict):
            continue
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return _short(text.removeprefix("."), 100)


def _shown(value: Any) -> str:
    """Write a JSON value, shortened; texts in single quotes."""
    if isinstance(value, str):
        return repr(_short(value, _LONGEST_VALUE))
    if isinstance(value, list | dict):
        return f"{'a list' if isinstance(value, list) else 'an object'} of {len(value)}"
    try:
        return _short(json.dumps(value), _LONGEST_VALUE)
    except (TypeError, ValueError):
        return type(value).__name__


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
