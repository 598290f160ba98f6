"""Which models turn text into vectors?"""
