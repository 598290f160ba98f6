"""What does a person see? Pages made on the server, in three languages."""
