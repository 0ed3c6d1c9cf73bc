"""Integrations with other libraries; each is imported only by those who use it."""
