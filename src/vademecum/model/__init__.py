"""What are the nouns? Frozen values, one noun a file, no behaviour beyond their own consistency."""
