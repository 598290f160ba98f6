"""Who turns text into vectors?"""
