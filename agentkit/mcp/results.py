"""What a tool of an MCP server returned, as the value of an agentkit tool: text, data or a picture."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from agentkit.tools.content_types import picture_type


class Content:
    """Texts and a picture that a tool returned: the person sees the picture, and the model reads the texts."""

    name = "picture"

    def __init__(self, text: str, pictures: dict[str, bytes]) -> None:
        self.text = text
        self._pictures = pictures

    def __str__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        return dict(self._pictures)


def value_of(result: Any) -> Any:
    """Return the value of a result: its data if the texts say nothing else, else its texts, with a picture if any."""
    texts, pictures = list[str](), dict[str, bytes]()
    for block in result.content:
        texts.append(block_text(block, pictures))
    text = "\n\n".join(filter(None, texts))
    data = result.structured_content
    if pictures:
        return Content(text, pictures)
    return data if data is not None and _says(text, data) else text or data


def result_text(result: Any) -> str:
    """Return the texts of a result, such as those of an error."""
    return "\n\n".join(filter(None, (block_text(block, {}) for block in result.content)))


def _says(text: str, data: Any) -> bool:
    """Return whether a text says the same as some data: it is empty, or their JSON."""
    if not text:
        return True
    try:
        return bool(json.loads(text) == data)
    except (ValueError, RecursionError):
        return False


def block_text(block: Any, pictures: dict[str, bytes]) -> str:
    """Return the text of a block of content; a picture is added to `pictures`, unless there is one of its type."""
    kind = block.type
    if kind == "text":
        return str(block.text)
    if kind == "image":
        content = _decoded(block.data)
        mime = picture_type(content)
        if mime and mime not in pictures:
            pictures[mime] = content
            return ""
        return f"[a picture of type {block.mime_type} that is not shown, {len(content):,} bytes]"
    if kind == "audio":
        return f"[a sound of type {block.mime_type} that is not played, {len(_decoded(block.data)):,} bytes]"
    if kind == "resource_link":
        about = f": {block.description}" if block.description else ""
        return f"[the resource {block.uri}{about}]"
    return resource_text(block.resource)


def resource_text(resource: Any) -> str:
    """Return the text of a resource; of one that is bytes, its size and its type."""
    text = getattr(resource, "text", None)
    if text is not None:
        return str(text)
    return f"[the resource {resource.uri}, {resource.mime_type or 'bytes'}, {len(_decoded(resource.blob)):,} bytes]"


def _decoded(data: str) -> bytes:
    """Return what is encoded in base64; b"" if it is not."""
    try:
        return base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return b""
