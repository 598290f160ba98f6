"""Which runs of letters does a text hold? What is spelt or inflected otherwise shares most."""

from vademecum.text.analyse import words

LENGTH = 4


def grams(text: str) -> list[str]:
    """Return the character 4-grams of each folded word between two marks: `_trip_` gives `_tri`,
    `trip` and `rip_`. A word of one letter gives itself."""
    found: list[str] = []
    for word in words(text):
        marked = f"_{word}_"
        found += [marked[i : i + LENGTH] for i in range(max(1, len(marked) - LENGTH + 1))]
    return found
