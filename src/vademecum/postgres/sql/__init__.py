"""Named queries, one file a noun."""
