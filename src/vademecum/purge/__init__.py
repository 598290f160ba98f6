"""How is something deleted so that it can be proved? `pipeline.py` is the list of steps."""
