"""Fit the arguments of a call to a tool: what is nearly right is corrected, with a note; the rest is
refused in words.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Iterable
from typing import Any

from agentkit.core.text import error_line
from agentkit.errors import ArgumentsError
from agentkit.tools.interface import Interface
from agentkit.tools.json_schema import describe_parameters, properties, required_names, short_json, shorten

_MAX_FAULTS = 8
_MAX_MESSAGE = 2_000
_MAX_PATH = 100
_SCALARS = (str, int, float, bool, type(None))


def copy_json(value: Any, path: str = "") -> Any:
    """Return a copy of JSON data, so that a tool cannot change the recorded call.

    Raises `ArgumentsError` if it contains NaN or an infinity, and `RecursionError` if it is nested too deeply.
    """
    kind = type(value)
    if kind is dict:
        return {name: copy_json(item, f"{path}.{name}" if path else str(name)) for name, item in value.items()}
    if kind is list:
        return [copy_json(item, f"{path}[{index}]") for index, item in enumerate(value)]
    if kind is float and not math.isfinite(value):
        raise ArgumentsError(
            f"The arguments were not used: {shorten(path, 200)} is {value}, which is not a finite number."
        )
    return value


def fit_arguments(tool: str, interface: Interface, arguments: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Validate arguments leniently, and return the keyword arguments and a note for each value that was corrected.

    Raises `ArgumentsError` with a text for the model.
    """
    try:
        return _fit(tool, interface, arguments)
    except ArgumentsError:
        raise
    except RecursionError:
        raise ArgumentsError(f"The arguments of {tool!r} are nested too deeply.") from None
    except Exception as error:
        reason = f"The arguments of {tool!r} were refused: {error_line(error)}"
        raise ArgumentsError(shorten(reason, _MAX_MESSAGE)) from error


def _fit(tool: str, interface: Interface, arguments: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    from pydantic_core import ValidationError

    notes: list[str] = []
    try:
        try:
            fitted = interface.validate(arguments, strict=False)
        except ValidationError as error:
            arguments = _correct(interface, arguments, error, notes)
            fitted = interface.validate(arguments, strict=False)
    except ValidationError as error:
        raise ArgumentsError(_refusal(tool, interface, arguments, error)) from None
    used = fitted[interface.model_parameter] if interface.model_parameter else fitted
    _note_differences("", arguments, used, notes)
    return fitted, tuple(notes[:_MAX_FAULTS])


def _correct(interface: Interface, arguments: Any, error: Any, notes: list[str]) -> Any:
    """Return the arguments without what models often get wrong. Raises `error` if there is nothing to correct."""
    fields, required = properties(interface.parameters), required_names(interface.parameters)
    if not isinstance(arguments, dict):
        raise error
    model = interface.model_parameter
    if model and list(arguments) == [model] and model not in fields and isinstance(arguments[model], dict):
        notes.append(f"{model}: its fields were read as the arguments")
        return arguments[model]
    corrected = dict(arguments)
    faults = error.errors(include_url=False, include_context=False)
    for name in dict.fromkeys(fault["loc"][0] for fault in faults if fault["loc"]):
        value = arguments.get(name)
        if value is None and name in arguments and name in fields and name not in required:
            del corrected[name]
            notes.append(f"{name}: null was left out")
        elif isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
            try:
                corrected[name] = copy_json(json.loads(value), str(name))
            except (ValueError, RecursionError, ArgumentsError):
                continue
            notes.append(f"{name}: the text was read as JSON")
    if not notes:
        raise error
    return corrected


def _note_differences(path: str, given: Any, used: Any, notes: list[str]) -> None:
    """Add a note for each number, text, boolean or null that was read as another one."""
    if isinstance(given, dict):
        for name, item in given.items():
            _note_differences(f"{path}.{name}" if path else str(name), item, _item(used, name, item), notes)
    elif isinstance(given, list):
        if isinstance(used, list | tuple) and len(used) == len(given):
            for index, item in enumerate(given):
                _note_differences(f"{path}[{index}]", item, used[index], notes)
    elif type(used) in _SCALARS and (given != used or isinstance(given, bool) != isinstance(used, bool)):
        notes.append(f"{shorten(path, _MAX_PATH)}: {short_json(given)} was read as {short_json(used)}")


def _item(container: Any, name: Any, default: Any) -> Any:
    """Return what a dict or an object holds under a name; a property of a foreign class may raise anything."""
    try:
        return container.get(name, default) if isinstance(container, dict) else getattr(container, str(name), default)
    except Exception:
        return default


def _refusal(tool: str, interface: Interface, arguments: Any, error: Any) -> str:
    """Return a text that names each wrong field and says what the tool expects."""
    fields = properties(interface.parameters)
    lines = [f"The arguments do not fit {shorten(tool, 100)!r}:"]
    faults = error.errors(include_url=False, include_context=False)
    for fault in faults[:_MAX_FAULTS]:
        path = _path(fault["loc"], arguments)
        if fault["type"] == "missing":
            lines.append(f"- {path}: is missing")
        elif fault["type"] == "extra_forbidden":
            lines.append(f"- {path}: is not an argument of this tool{_suggestion(path, fields)}")
        else:
            expected = fault["msg"].replace("Input should be", "should be").replace("Value error, ", "")
            lines.append(f"- {path or 'arguments'}: {shorten(expected, 200)}, but is {short_json(fault['input'])}")
    if len(faults) > _MAX_FAULTS:
        lines.append(f"- and {len(faults) - _MAX_FAULTS} more")
    lines.append(f"Expected: {describe_parameters(interface.parameters) or 'no arguments'}.")
    return shorten("\n".join(dict.fromkeys(lines)), _MAX_MESSAGE)


def _suggestion(name: str, known: Iterable[str]) -> str:
    nearest = difflib.get_close_matches(name[:_MAX_PATH], list(known), n=1)
    return f"; did you mean {nearest[0]!r}?" if nearest else ""


def _path(location: tuple[str | int, ...], arguments: Any) -> str:
    """Return where a fault is: the keys and indices, without the names that pydantic gives to the parts of a union."""
    text, value = "", arguments
    for at, part in enumerate(location):
        if (isinstance(value, dict) and part in value) or (
            isinstance(value, list) and isinstance(part, int) and part < len(value)
        ):
            value = value[part]  # type: ignore[index]
        elif at not in (0, len(location) - 1) or not isinstance(value, dict):
            continue
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return shorten(text.removeprefix("."), _MAX_PATH)
