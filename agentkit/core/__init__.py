"""The values that everything else is made of: messages, steps, schemas, and what keeps text safe. No room is below this one."""
