"""The IPython configuration of lessons: `make lab` copies it into .venv, where every kernel reads it.

A cell that is run before the cells above it then says in one line which name is missing, also in a fresh kernel.
"""

c = get_config()  # noqa: F821  # IPython defines it
c.InteractiveShellApp.extensions = ["agentkit.classroom"]
