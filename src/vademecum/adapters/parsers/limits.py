"""How much may one document cost?"""

MEMORY_BYTES = 1 << 30
CPU_SECONDS = 60
MOST_CHARACTERS = 20_000_000
# Of a container: how much it may become, in how many entries, and how often it may nest.
MOST_INFLATED_BYTES = 100_000_000
MOST_RATIO = 100
MOST_ENTRIES = 1_000
MOST_NESTING = 2
