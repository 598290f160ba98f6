"""How does a document come in? `pipeline.py` is the list of steps; each other file is one step."""
