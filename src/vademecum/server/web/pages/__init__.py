"""Which pages are there? One module each; every one of them asks the App as the API does."""
