"""What does the core need from outside? One Protocol a file; every score is higher-is-better."""
