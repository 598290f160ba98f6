"""Which models read a text beside the question?"""
