"""How is the truth kept in PostgreSQL? All SQL of the project is in this folder."""
