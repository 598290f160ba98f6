"""Where do original bytes lie?"""
