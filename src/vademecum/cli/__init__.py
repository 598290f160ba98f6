"""How does a person at a terminal use it? One command a function, in files by noun."""
