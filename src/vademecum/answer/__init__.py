"""How does a person get an answer? `pipeline.py` is the list of steps; each other file is one."""
