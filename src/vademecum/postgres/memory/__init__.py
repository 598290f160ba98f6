"""How are memories kept, read for recall, and looked after in PostgreSQL?"""
