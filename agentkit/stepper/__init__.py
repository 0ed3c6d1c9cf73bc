"""The stepper: it runs an engine up to its next steps, and waits for their results. Pure: no I/O."""
