"""Doors to other ecosystems; each is imported by whoever needs it."""
