"""Where a run's time, tokens and money went; spans and metrics for OpenTelemetry."""
