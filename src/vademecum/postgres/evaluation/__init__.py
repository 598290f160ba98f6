"""How are conversations kept, and by what are their turns found?"""
