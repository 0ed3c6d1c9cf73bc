<<<<<<< HEAD
"""Integrations with other libraries; each is imported only by those who use it."""
=======
"""Integrations with other tools; import the one that you need."""
>>>>>>> 53c8fe9bae653e2b236cf5fd52a97d92d3ee79c0
