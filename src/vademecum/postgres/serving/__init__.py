"""What does serving keep: keys, first answers, and what answers cost?"""
