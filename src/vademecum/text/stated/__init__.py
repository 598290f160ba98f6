"""What does a text state, so that two texts can be held against each other?"""
