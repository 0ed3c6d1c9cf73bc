"""How a request travels: connections, the bytes of a reply, what can go wrong, and when a call is tried again."""
