"""How an object wants to be shown in a notebook: data by MIME type, from its `_repr_html_`, `_repr_png_` and so on."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from agentkit.tools.serialize import MAX_CHARACTERS, to_json

_METHODS = {
    "_repr_html_": "text/html",
    "_repr_markdown_": "text/markdown",
    "_repr_svg_": "image/svg+xml",
    "_repr_png_": "image/png",
    "_repr_jpeg_": "image/jpeg",
    "_repr_latex_": "text/latex",
}


def mime_bundle(value: Any) -> dict[str, Any]:
    """Return the data that an object is shown as, by MIME type; bytes as base64, empty if it is not shown in a rich
    form.
    """
    cls = type(value)
    if isinstance(value, type) or cls.__module__ == "builtins":
        return {}
    bundle = {mime: _call(value, method) for method, mime in _METHODS.items() if hasattr(cls, method)}
    own_bundle = _call(value, "_repr_mimebundle_") if hasattr(cls, "_repr_mimebundle_") else None
    if isinstance(own_bundle, Mapping):
        bundle.update((str(mime), data) for mime, data in own_bundle.items())
    encoded = {mime: _encode(data) for mime, data in bundle.items() if data is not None}
    return {mime: data for mime, data in encoded.items() if data}


def _call(value: Any, method: str) -> Any:
    """Return what a display method returns, without its metadata; None if it raises."""
    try:
        result = getattr(value, method)()
    except Exception:
        return None
    return result[0] if isinstance(result, tuple) and result else result


def _encode(data: Any) -> Any:
    if isinstance(data, bytes):
        return base64.b64encode(data).decode() if len(data) <= MAX_CHARACTERS else ""
    return to_json(data) if isinstance(data, str | Mapping | list) else None
