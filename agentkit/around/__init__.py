"""What goes around a loop: generators of one step, such as compaction, self-checks and limits. Pure: no I/O."""
