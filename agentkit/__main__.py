"""`python -m agentkit` does the same as the command `agentkit`, which may not be on the path."""

from agentkit.cli import main

main()
