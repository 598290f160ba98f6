"""Who divides a text into chunks?"""
