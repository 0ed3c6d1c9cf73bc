"""How tapes and cassettes are written to disk: as JSON for people to read, and never half."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def save(path: Path, data: dict[str, Any], *, sort_keys: bool = False) -> None:
    """Write the whole file next to the old one, then replace it: a crash leaves one or the other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    written = json.dumps(data, indent=1, sort_keys=sort_keys, ensure_ascii=False, default=str)
    new.write_text(written + "\n", encoding="utf-8", errors="surrogatepass")
    new.replace(path)
