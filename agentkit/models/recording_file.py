"""How tapes and cassettes are written to disk: as JSON for people to read, and never half."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from agentkit.core.private_files import write_private


def save(path: Path, data: dict[str, Any], *, sort_keys: bool = False) -> None:
    """Write the whole file, which only its owner can read, and replace the old one with it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    written = json.dumps(data, indent=1, sort_keys=sort_keys, ensure_ascii=False, default=str)
    write_private(path, written + "\n", errors="surrogatepass")
