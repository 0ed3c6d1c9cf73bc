"""Where a run's time, tokens and money went; spans and metrics for OpenTelemetry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from agentkit.errors import UsageError

if TYPE_CHECKING:
    from agentkit.telemetry.tracing import Tracing

__all__ = ["trace"]


def trace(*, name: str = "", content: bool = False, tracer_provider: Any = None, meter_provider: Any = None) -> Tracing:
    """Return what makes OpenTelemetry spans and metrics of runs: `Agent(…, within=[trace(name="shop")])`.

    `name` is the name of the agent in them. Texts, arguments and results are left out; with `content=True` they are
    included, and secrets in them are masked. Without providers, those that are set globally are used.

    Raises `UsageError` if the API of OpenTelemetry is not installed.
    """
    try:
        import opentelemetry.trace  # noqa: F401
    except ImportError as error:
        raise UsageError(
            f"telemetry needs the API of OpenTelemetry ({error}); install it with: pip install 'jupyter-agentkit[otel]'"
        ) from error
    from agentkit.telemetry.tracing import Tracing

    return Tracing(name, content, tracer_provider, meter_provider)
