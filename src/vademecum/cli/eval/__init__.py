"""`vade eval`, a command a file."""
