"""What is remembered of the person who asks, and how does it come back?"""
