"""Who writes generated answers?"""
