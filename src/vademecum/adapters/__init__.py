"""Who fulfils the ports? One vendor a file, each behind the port that the core names."""
