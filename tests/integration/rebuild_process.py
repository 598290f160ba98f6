"""A process that builds the index for another model, slowly, and can be killed on the way:
`python rebuild_process.py DATABASE_URL BLOBS SECONDS_A_BATCH`. It prints what happens, a JSON object
a line. The model is a hash embedder."""

import asyncio
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rebuilding import NEW, OLD, Slow, rebuilding

from vademecum.postgres.pool import open_pool
from vademecum.reindexing import reindex
from vademecum.testing.embedders import HashEmbedder


def event(name: str, facts: Mapping[str, Any]) -> None:
    print(json.dumps({"event": name, **facts}), flush=True)


async def main(url: str, blobs: str, seconds: str) -> None:
    new = Slow(seconds=float(seconds))
    async with open_pool(url, size=4) as pool:
        work = rebuilding(pool, Path(blobs), {OLD: HashEmbedder(), NEW: new}, event=event)
        done = await reindex(work)
        embedded = sum(len(call.texts) for call in new.calls if call.role == "passage")
        event("done", {"generation": done.generation, "embedded": embedded})


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
