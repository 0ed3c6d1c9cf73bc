"""Arounds: generators that wrap the steps of a loop, for example compaction, self-checks and limits. Pure: no I/O."""
