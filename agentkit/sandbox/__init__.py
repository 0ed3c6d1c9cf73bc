"""Walls around what a tool may reach: a folder that paths cannot leave, and programs that run confined."""
