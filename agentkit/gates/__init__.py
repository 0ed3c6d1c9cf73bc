"""What decides before a step is performed: breakpoints, approvals, effects, budgets, deadlines."""
