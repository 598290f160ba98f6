"""A process that ingests one document and can be killed on the way: `python failpoint_worker.py
DATABASE_URL BLOBS URI TEXT`. It prints the result's status. The model is the hash embedder."""

import asyncio
import sys
from pathlib import Path

from support import make_bench, source

from vademecum.postgres.pool import open_pool


async def main(url: str, blobs: str, uri: str, text: str) -> None:
    async with open_pool(url, size=4) as pool:
        bench = await make_bench(pool, url, Path(blobs))
        (result,) = await bench.ingest(source(uri, text))
        print(result.status)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
