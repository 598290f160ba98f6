"""A thousand documents as nobody should send them, the same ones for the same seed.

Every file is made in memory, by us, of invented words. Its verdict is not part of it: whatever a
reader makes of it, `parsed`, `partial` or a refusal with a code is right, and anything else wrong.
"""

from collections.abc import Iterator, Mapping
from itertools import cycle, islice
from random import Random
from types import ModuleType

from malformed import (
    archives,
    encodings,
    hidden,
    images,
    mail,
    markup,
    names,
    office,
    pathologies,
    pdf,
    records,
)
from malformed.sample import Sample

__all__ = ["FAMILIES", "Sample", "corpus"]

# How many files of each family, a thousand together.
FAMILIES: Mapping[str, tuple[ModuleType, int]] = {
    "pdf": (pdf, 170),
    "office": (office, 125),
    "markup": (markup, 115),
    "encodings": (encodings, 85),
    "records": (records, 60),
    "archives": (archives, 60),
    "mail": (mail, 45),
    "images": (images, 35),
    "names": (names, 65),
    "hidden": (hidden, 170),
    "pathologies": (pathologies, 70),
}


def corpus(seed: int) -> Iterator[Sample]:
    """Yield the files of a seed, family by family. Each is some KB to a few MB."""
    for family, (module, count) in FAMILIES.items():
        for number, make in enumerate(islice(cycle(module.KINDS), count)):
            name = f"{family}-{number:03}-{make.__name__.strip('_').replace('_', '-')}"
            yield make(Random(f"{seed}/{name}")).named(family, name)
