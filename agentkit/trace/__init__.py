"""What a run has done: its line through the tree of entries, its injected messages, and its events."""
