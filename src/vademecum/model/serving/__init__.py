"""What is counted and kept of requests, beside what they ask."""
