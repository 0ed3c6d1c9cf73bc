"""Runs: the objects that a person steps, edits, undoes, forks and decides about."""
