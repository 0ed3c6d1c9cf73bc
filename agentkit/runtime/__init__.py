"""How steps are performed: models and tools are called, time limits are enforced, and results are recorded."""
