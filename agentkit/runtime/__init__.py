"""How steps are performed: models and tools are called, in time, and their results recorded."""
