"""Tools from annotated functions, the toolboxes that come with agentkit, and how calls become observations."""
