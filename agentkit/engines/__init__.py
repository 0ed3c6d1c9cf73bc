"""The engines, one file each, and what they share: parsing, drafts, plans, structured data. Pure: no I/O."""
