"""The package of models: short import paths, and nothing heavy before it is used."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import agentkit.models

LATE = {
    "httpx2",
    "pydantic",
    "json_repair",
    *(f"agentkit.models.{name}" for name in ("remote", "openai", "tape", "offline")),
}


def modules_after(program: str) -> set[str]:
    """Return the names of all modules that a fresh Python has imported after a program."""
    command = f"{program}\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("name", agentkit.models.__all__)
def test_every_model_can_be_imported_from_the_package(name: str) -> None:
    model = getattr(agentkit.models, name)
    assert model.__name__ == name and model.__module__.startswith("agentkit.models.")


def test_importing_the_package_imports_no_model_behind_an_api_and_no_http_client() -> None:
    assert not LATE & modules_after("import agentkit.models")


def test_making_models_imports_no_http_client() -> None:
    names = ", ".join(agentkit.models.__all__)
    program = f"from agentkit.models import {names}\nOpenAI('m'), Anthropic('m'), Ollama('m'), Scripted([]), Echo()"
    assert "httpx2" not in modules_after(program)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Gemini'"):
        agentkit.models.Gemini  # noqa: B018
