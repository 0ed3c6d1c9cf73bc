"""The values that everything else is made of (messages, steps, schemas) and the functions that keep text safe.

The core imports from no other room except `errors`.
"""
