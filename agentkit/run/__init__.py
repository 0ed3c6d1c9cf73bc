"""What a person holds: a run, with the verbs that step, edit, undo, fork and decide."""
