"""What is known of who asks from outside, and kept of requests beside what they ask."""
