"""How are the documents of office programs read?"""
