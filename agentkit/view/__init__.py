"""A run as a view sees it: JSON data that a browser draws, and the commands that come back. No Jupyter in here."""
