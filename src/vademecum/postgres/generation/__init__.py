"""Which builds of the index are there?"""
