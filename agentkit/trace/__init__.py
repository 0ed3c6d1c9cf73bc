"""What a run has done: its line through the tree of entries, injected messages, and the events they tell."""
