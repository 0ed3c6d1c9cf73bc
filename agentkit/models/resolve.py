"""Which model answers: a name, an object, or the first that is found."""

from __future__ import annotations

import os
from typing import Any

from agentkit.errors import Unknown
from agentkit.models.adapt import as_model

KNOWN = ("offline", "echo")


def find(model: Any) -> Any:
    """Give the model of a name or an object; for None the one named by AGENTKIT_MODEL, else the offline one."""
    if model is None:
        model = os.environ.get("AGENTKIT_MODEL", "").strip() or "offline"
    if not isinstance(model, str):
        return as_model(model)
    if model == "offline":
        from agentkit.models.offline import Offline

        return Offline()
    if model == "echo":
        from agentkit.models.scripted import Echo

        return Echo()
    raise Unknown("model", model, KNOWN)
