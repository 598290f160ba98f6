"""The parts of the embedded server: its account, files, locks, keeper and processes."""
