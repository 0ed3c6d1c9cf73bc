"""Runs over HTTP: streams of their events, and their live view in a browser without Jupyter.

The packages that it needs are the extra "serve". They are imported when they are first used.
"""
