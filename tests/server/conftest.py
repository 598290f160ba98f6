"""A served bench for each test."""

from pathlib import Path

import pytest
from http_server import Served, serve_bench
from support import Bench, make_bench

from vademecum.postgres.pool import Pool


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path / "blobs", tokens=60)


@pytest.fixture
def served(bench: Bench, tmp_path: Path) -> Served:
    return serve_bench(bench, tmp_path)


@pytest.fixture
def served_freely(bench: Bench, tmp_path: Path) -> Served:
    """A served bench whose keys may ask as often as they like."""
    return serve_bench(
        bench,
        tmp_path,
        limits__requests_per_minute=10**6,
        limits__reads_per_minute=10**6,
        limits__uploads_per_hour=10**6,
    )
