"""Which vendor or library does it? One a file, behind a port."""
