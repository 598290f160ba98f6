"""Which token state is usual in a language? Writes the constants that `LocalE5.centre` reads.

    python -m tools.centres MODEL_FOLDER

MODEL_FOLDER holds the converted model (`vade model fetch`). The texts are in `texts.py`, written
for this; each is taken alone and together with its neighbours, since chunks are longer.
"""

import asyncio
import sys
from pathlib import Path

import numpy as np
from tools.centres.texts import TEXTS

from vademecum.adapters.embedders import local_e5
from vademecum.adapters.embedders.e5_convert import MODEL_NAME, open_model
from vademecum.adapters.embedders.local_e5 import LocalE5

_TOGETHER = 4


async def centres(encoder: LocalE5) -> dict[str, np.ndarray]:
    means = {}
    for language, sentences in TEXTS.items():
        groups = [
            "\n".join(sentences[i : i + _TOGETHER]) for i in range(0, len(sentences), _TOGETHER)
        ]
        encoded = await encoder.encode([*sentences, *groups], "passage")
        means[language] = np.concatenate([text.states for text in encoded]).mean(axis=0)
    return means | {"any": np.mean(list(means.values()), axis=0)}


def main() -> None:
    encoder = LocalE5.load(open_model(Path(sys.argv[1])))
    made = asyncio.run(centres(encoder))
    target = Path(local_e5.__file__).with_name("e5_centres.npz")
    np.savez_compressed(target, **{name: mean.astype(np.float16) for name, mean in made.items()})
    print(f"{MODEL_NAME}: {len(made)} centres, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
