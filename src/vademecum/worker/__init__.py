"""Who works in the background? `loop.py` runs the queue, the rescue and the upkeep."""
