"""Agents: a model, tools and an engine, from which runs are started, resumed, compared and logged."""
