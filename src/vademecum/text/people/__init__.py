"""What do people say of themselves, ask to be kept or forgotten, and better keep to themselves?"""
