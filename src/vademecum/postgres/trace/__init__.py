"""What is kept of searches and answers: traces, opinions, what is given again."""
