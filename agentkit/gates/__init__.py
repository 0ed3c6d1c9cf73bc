"""Gates, which decide before a step is performed: breakpoints, approvals, effects, budgets, deadlines."""
