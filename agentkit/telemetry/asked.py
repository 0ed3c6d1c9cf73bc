"""Which model, provider and tool a step is about, in the words of OpenTelemetry's conventions."""

from __future__ import annotations

from typing import Any, NamedTuple

from agentkit.core.steps import Act, Think
from agentkit.models.base import Abilities, name_of
from agentkit.runtime.in_flight import InFlight, Outcome
from agentkit.runtime.performer import Performer
from agentkit.telemetry import names


class AskedModel(NamedTuple):
    """A model that is asked: its provider, its name there, and its host and port, "" and 0 if it runs here."""

    provider: str
    model: str
    host: str = ""
    port: int = 0
    streams: bool = False


def asked_model(model: Any) -> AskedModel:
    """Return what is known about a model; of one that has others to fall back on, about the first."""
    model = (getattr(model, "models", None) or [model])[0]
    streams = getattr(model, "abilities", Abilities()).stream
    wire, endpoint = getattr(model, "wire", None), getattr(model, "endpoint", None)
    if wire is None or endpoint is None:
        return AskedModel(names.PROVIDER_HERE, name_of(model), streams=streams)
    host, _, port = endpoint.host.rpartition(":")
    if not (host and port.isdigit()):
        host, port = endpoint.host, 0
    return AskedModel(wire.provider, endpoint.model, host.strip("[]"), int(port), streams)


def asked_by(performer: Performer, step: Think) -> AskedModel:
    """Return the model that a step asks."""
    return asked_model(performer.model_for(step))


def called_tool(performer: Performer, step: Act) -> Any:
    """Return the tool that a step calls; None if there is none."""
    return performer.tools.find(step.call.name)


def tool_name(performer: Performer, step: Act) -> str:
    """Return the own name of the tool that a step calls; "unknown" instead of a name that a model invented."""
    tool = called_tool(performer, step)
    return names.UNKNOWN if tool is None else str(tool.name)


def error_type(flight: InFlight, outcome: Outcome) -> str:
    """Return how a step has failed, as the value of `error.type`; "" if it has not."""
    came_back, value = outcome
    is_cancelled = flight.given_up or flight.cancelled
    if is_cancelled or not came_back:
        if flight.is_late and not flight.cancelled:
            return names.TIMEOUT
        return names.CANCELLED if is_cancelled else type(value).__name__
    if type(flight.step) is Think:
        return names.MODEL_ERROR if getattr(value, "finish", "") == "error" else ""
    if getattr(value, "ok", True):
        return ""
    if flight.is_late:
        return names.TIMEOUT
    return type(flight.raised).__name__ if flight.raised is not None else names.TOOL_ERROR
