"""Read the recording out of an export, or refuse it; of a notebook, the cell that was changed is named.

Only the exported cells count; other cells between them, outputs and settings may be changed freely. Nothing of the
notebook is executed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentkit.core import outside
from agentkit.errors import UsageError
from agentkit.export import files
from agentkit.export.json import rows_of, unpack
from agentkit.export.notebook import FORMAT, VERSION, source_digest

EDITABLE = ("settings",)
"""Kinds of cells that people are supposed to change."""

_PACKED = re.compile(r'recording ?= ?\(?((?:\s*"[A-Za-z0-9+/=]*")+)')


def data_of(recording: Any) -> Any:
    """Return the JSON data of an exported run: of a file, of a notebook, or the data itself.

    Raises `UsageError` if a file cannot be read, or if a cell of a notebook was changed.
    """
    if isinstance(recording, str | os.PathLike):
        path = outside.path_of(recording, "a recording")
        suffix = path.suffix.lower()
        if suffix in files.FORMATS["notebook"]:
            return data_of_notebook(path)
        for format in ("html", "markdown", "python"):
            if suffix in files.FORMATS[format]:
                raise UsageError(
                    f"a run cannot be read from {path}: only to_json and to_notebook write all that it needs"
                )
        try:
            recording = outside.parse_json(outside.read_file(path))
        except (OSError, ValueError) as error:
            raise UsageError(f"cannot read {path}: {error}") from None
    is_notebook = hasattr(recording, "cells") or (isinstance(recording, Mapping) and "cells" in recording)
    return data_of_notebook(recording) if is_notebook else recording


def data_of_notebook(notebook: str | os.PathLike[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON data of the run that was exported as this notebook: a path, or the notebook itself.

    Raises `UsageError` if the notebook is not an export, or if an exported cell was changed; the error names the cell.
    """
    node = notebook if isinstance(notebook, Mapping) else _load(outside.path_of(notebook, "a notebook"))
    name = "this notebook" if isinstance(notebook, Mapping) else str(notebook)
    cells, metadata = node.get("cells"), node.get("metadata")
    export = metadata.get("agentkit") if isinstance(metadata, Mapping) else None
    if not isinstance(cells, list) or not isinstance(export, Mapping) or export.get("format") != FORMAT:
        raise UsageError(f"{name} is not an exported run: its metadata has no 'agentkit' of format {FORMAT!r}")
    version = export.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise UsageError(
            f"{name} has version {version!r} of the export format, but this agentkit reads version {VERSION}; "
            "install a newer one"
        )
    sources = _sources(cells, export.get("cells"))
    data: dict[str, Any] = unpack(re.sub(r'[\s"]', "", "".join(_PACKED.findall(sources["recording"])[:1])))
    rows_of(data)
    return data


def _load(path: Path) -> Mapping[str, Any]:
    try:
        content = outside.parse_json(outside.read_file(path))
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise UsageError(f"{path} is not a notebook: {error}") from error
    if not isinstance(content, Mapping):
        raise UsageError(f"{path} is not a notebook: it contains a {type(content).__name__}, not an object")
    return content


def _sources(cells: list[Any], expected: Any) -> dict[str, str]:
    """Return the sources of the exported cells by name.

    Raises `UsageError` unless all are there, in order and unchanged.
    """
    if not isinstance(expected, list) or "recording" not in expected:
        raise UsageError("the notebook's metadata does not list its cells ('agentkit': 'cells'); export the run again")
    sources: dict[str, str] = {}
    for number, cell in enumerate(cells, 1):
        metadata = _cell_metadata(cell)
        if metadata is None:
            continue
        name, kind = str(metadata.get("cell")), metadata.get("kind")
        label = f"cell {number} ({name!r}, {kind})"
        if name in sources:
            raise UsageError(f"{label} is a second copy; delete it")
        if name not in expected:
            raise UsageError(f"{label} belongs to another export; delete it")
        source = cell.get("source", "")
        sources[name] = source if isinstance(source, str) else "".join(map(str, source))
        if kind not in EDITABLE and source_digest(sources[name]) != metadata.get("digest"):
            raise UsageError(
                f"{label} was changed; undo the change, or load the run as it was exported and use run.edit(...)"
            )
    _check_order(list(sources), expected)
    return sources


def _cell_metadata(cell: Any) -> Mapping[str, Any] | None:
    metadata = cell.get("metadata") if isinstance(cell, Mapping) else None
    own = metadata.get("agentkit") if isinstance(metadata, Mapping) else None
    return own if isinstance(own, Mapping) else None


def _check_order(names: list[str], expected: list[Any]) -> None:
    for name in expected:
        if name not in names:
            raise UsageError(f"cell {name!r} or its metadata 'agentkit' is missing; export the run again")
    for name, expected_name in zip(names, expected, strict=True):
        if name != expected_name:
            raise UsageError(f"cell {name!r} was moved; cell {expected_name!r} should be in its position")
