"""How a request travels: one connection, its bytes, what can go wrong, and when it is tried again."""
