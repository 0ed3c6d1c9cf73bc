"""Integrations with other tools; import the one that you need."""
