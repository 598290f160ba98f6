"""What does text say, in any language? Pure functions on strings."""
