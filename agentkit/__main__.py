"""`python -m agentkit`: the terminal, where the command `agentkit` is not on the path."""

from agentkit.cli import main

main()
