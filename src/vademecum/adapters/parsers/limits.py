"""How much may one document cost?"""

MEMORY_BYTES = 1 << 30
CPU_SECONDS = 60
MOST_CHARACTERS = 20_000_000
