"""What does the native API answer? One noun a file; every route of it under /api/v1."""
