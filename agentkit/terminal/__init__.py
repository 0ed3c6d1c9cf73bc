"""A terminal to talk in: a conversation with an agent, and the steps of a run as they happen."""
