"""How are pages and books of the web read?"""
