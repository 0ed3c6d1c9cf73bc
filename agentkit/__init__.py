"""agentkit: a debugger and a classroom for agent loops, inside the notebook."""
