"""Read the recording out of an exported notebook, or say which of its cells is not as it was exported.

Only what the export wrote counts: cells of one's own between the others are passed over, and so are outputs and settings.
Nothing of the notebook is executed.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentkit.errors import UsageError
from agentkit.export.json import rows_of, unpack
from agentkit.export.notebook import FORMAT, VERSION, seal

FREE = ("settings",)
"""Kinds of cells that are there to be changed."""

_PACKED = re.compile(r'recording="([A-Za-z0-9+/=]*)"')


def data_of_notebook(notebook: str | os.PathLike[str] | Mapping[str, Any]) -> dict[str, Any]:
    """Give the JSON data of the run that was exported as this notebook: a path, or the notebook itself.

    Raises `UsageError` for a notebook that is not an export, or that was edited: it names the cell.
    """
    node = notebook if isinstance(notebook, Mapping) else _load(Path(notebook))
    cells, metadata = node.get("cells"), node.get("metadata")
    about = metadata.get("agentkit") if isinstance(metadata, Mapping) else None
    if not isinstance(cells, list) or not isinstance(about, Mapping) or about.get("format") != FORMAT:
        raise UsageError(f"{_name(notebook)} is no exported run: its metadata has no 'agentkit' of format {FORMAT!r}")
    version = about.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise UsageError(
            f"{_name(notebook)} is an export of version {version!r}, this agentkit reads {VERSION}; install a newer one"
        )
    sources = _sources(cells, about.get("cells"))
    data: dict[str, Any] = unpack("".join(_PACKED.findall(sources["recording"])[:1]))
    rows_of(data)
    return data


def _load(path: Path) -> Mapping[str, Any]:
    try:
        found = json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path} is no notebook: {error}") from error
    if not isinstance(found, Mapping):
        raise UsageError(f"{path} is no notebook: it holds a {type(found).__name__}")
    return found


def _name(notebook: Any) -> str:
    return "this notebook" if isinstance(notebook, Mapping) else str(notebook)


def _sources(cells: list[Any], due: Any) -> dict[str, str]:
    """Give the source of each exported cell by its name, when all of them are there, in their order and unchanged."""
    if not isinstance(due, list) or "recording" not in due:
        raise UsageError("the notebook's metadata does not list its cells ('agentkit': 'cells'); export the run again")
    found: dict[str, str] = {}
    for place, cell in enumerate(cells, 1):
        about = _about(cell)
        if about is None:
            continue
        name, kind = str(about.get("cell")), about.get("kind")
        where = f"cell {place} ({name!r}, {kind})"
        if name in found:
            raise UsageError(f"{where} is there twice; delete the copy")
        if name not in due:
            raise UsageError(f"{where} belongs to another export; delete it")
        source = cell.get("source", "")
        found[name] = source if isinstance(source, str) else "".join(map(str, source))
        if kind not in FREE and seal(found[name]) != about.get("digest"):
            raise UsageError(
                f"{where} was changed; undo that, or import the run as it was exported and use run.edit(...)"
            )
    _in_order(list(found), due)
    return found


def _about(cell: Any) -> Mapping[str, Any] | None:
    metadata = cell.get("metadata") if isinstance(cell, Mapping) else None
    about = metadata.get("agentkit") if isinstance(metadata, Mapping) else None
    return about if isinstance(about, Mapping) else None


def _in_order(found: list[str], due: list[Any]) -> None:
    for name in due:
        if name not in found:
            raise UsageError(f"cell {name!r} is missing, or its metadata 'agentkit' is; export the run again")
    for name, expected in zip(found, due, strict=True):
        if name != expected:
            raise UsageError(f"cell {name!r} was moved: {expected!r} should stand in its place")
