"""The kernel's side of the live view: JSON data for the browser to draw, and the commands that come back. No Jupyter
here.
"""
