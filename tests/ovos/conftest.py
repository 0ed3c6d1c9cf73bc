"""What all tests inside OpenVoiceOS need: its packages, which warn when they are imported, and scripted brains."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import ovos_persona  # noqa: F401

from ovos.scripted_brains import TextBrain, install

from agentkit.config import plugins


@pytest.fixture(autouse=True)
def brains(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[TextBrain]]:
    """Install the scripted brains as plug-ins, and forget what they were sent."""
    folder: Path = tmp_path_factory.mktemp("plugins")
    install(folder)
    monkeypatch.syspath_prepend(str(folder))
    plugins.cache_clear()
    TextBrain.seen.clear()
    yield TextBrain
    plugins.cache_clear()
