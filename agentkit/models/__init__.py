"""Models, and how they are asked: dialects, wires, scripted and recorded models."""
