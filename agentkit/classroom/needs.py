"""What a lesson needs beyond agentkit itself: said in one line, before anything fails."""

from __future__ import annotations

from importlib import import_module

INSTALL = "jupyter-agentkit"


def needs(module: str, *, extra: str) -> None:
    """Stop the lesson with one line that says what to install, if a module of an extra of agentkit is missing.

    Raises IPython's `UsageError`, which a notebook shows without a traceback.
    """
    try:
        import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        from IPython.core.error import UsageError

        raise UsageError(
            f'this lesson needs {module}: run %pip install "{INSTALL}[{extra}]", and restart the kernel'
        ) from None
