"""How is evidence found? `pipeline.py` is the list of steps; each other file is one step."""
