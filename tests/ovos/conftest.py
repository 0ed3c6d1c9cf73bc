"""What all tests inside OpenVoiceOS need: its packages, which warn when they are imported, and scripted brains."""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import ovos_agentic_loop.factory
    import ovos_persona  # noqa: F401
