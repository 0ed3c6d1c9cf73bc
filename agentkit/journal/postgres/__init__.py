"""The journal of a team, in a PostgreSQL database."""
