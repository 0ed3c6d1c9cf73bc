"""The loops, one file each, and what they share: parsing replies, drafting, plans, structured data. Pure: no I/O."""
