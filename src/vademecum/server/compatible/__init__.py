"""Which interfaces of others are spoken, so that programs that know them need no change?"""
