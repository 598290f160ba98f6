"""Why does a search find something else than it found before?

What happened to a chunk itself is said first (deleted, changed, lapsed, forbidden, new). A chunk
that is as it was stands elsewhere because of what the order is made from: settings, models, the
index, the release, and last the other documents, which change how common each word is and who
else is a candidate. The first of these that differs is named; where nothing does, the difference
is unexplained, which is a fault to be looked at.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from vademecum.evaluate.metrics import mean
from vademecum.model.ids import ChunkId
from vademecum.model.replay import (
    Fate,
    Moved,
    Replay,
    ReplayedAnswer,
    ReplayedSearch,
    Version,
    Why,
)

# Which version tells of what, in the order in which they are named.
_OF_MODELS = ("space", "encoder", "language_model", "prompt")
_OF_INDEX = ("generation", "analyser")


@dataclass(frozen=True, slots=True, kw_only=True)
class Now:
    """What is known of the moment of the replay: the fates of the chunks before and now, which of
    those before may still be seen by whoever asked, which versions differ, and whether any
    document was published, changed or deleted since `asked_at`."""

    fates: Mapping[ChunkId, Fate]
    seen: frozenset[ChunkId]
    versions: Sequence[Version]
    asked_at: datetime
    documents_changed: bool


def versions_that_differ(was: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[Version, ...]:
    """Return each name whose value is another one; those that only one side knows too."""
    names = sorted(was.keys() | now.keys())
    return tuple(
        Version(name=name, was=was.get(name), now=now.get(name))
        for name in names
        if was.get(name) != now.get(name)
    )


def compared_search(was: Mapping[str, Any], now: Mapping[str, Any], moment: Now) -> ReplayedSearch:
    """Compare two records of one search, as traces keep them."""
    before, after = _ranks(was), _ranks(now)
    uris = {item: uri for record in (was, now) for item, uri in _uris(record).items()}
    moved = []
    for item in sorted(before.keys() | after.keys(), key=lambda i: _place(before, after, i)):
        if before.get(item) == after.get(item):
            continue
        why, detail = _reason(item, before, after, moment)
        moved.append(
            Moved(
                chunk_id=item,
                uri=uris[item],
                was=before.get(item),
                now=after.get(item),
                why=why,
                detail=detail,
            )
        )
    return ReplayedSearch(
        query=was["query"],
        overlap=len(before.keys() & after.keys()) / len(before) if before else 1.0,
        moved=tuple(moved),
        confidence_was=was["abstain"]["confidence"],
        confidence=now["abstain"]["confidence"],
    )


def compared_answer(was: Mapping[str, Any], now: Mapping[str, Any]) -> ReplayedAnswer:
    """Compare two records of one answer, as traces keep them."""
    return ReplayedAnswer(
        abstained_was=was["abstained"],
        abstained=now["abstained"],
        mode_was=was["mode"],
        mode=now["mode"],
        cited_was=_cited(was),
        cited=_cited(now),
    )


def summary(replays: Sequence[Replay]) -> dict[str, Any]:
    """Return how much of many searches is as it was: how many replays are the same, the mean share
    of candidates found again, the share of searches with the same one first, and how often each
    reason moved a candidate, the most frequent first."""
    searches = [search for one in replays for search in one.searches]
    moved = [one for search in searches for one in search.moved]
    first_moved = sum(any(1 in (one.was, one.now) for one in s.moved) for s in searches)
    return {
        "replayed": len(replays),
        "same": sum(one.same for one in replays),
        "overlap": mean(search.overlap for search in searches),
        "first_kept": 1 - first_moved / len(searches) if searches else None,
        "why": dict(Counter(one.why for one in moved).most_common()),
    }


def _reason(
    item: ChunkId,
    before: Mapping[ChunkId, int],
    after: Mapping[ChunkId, int],
    moment: Now,
) -> tuple[Why, str]:
    fate = moment.fates.get(item)
    if item in before and item not in after:
        if fate is None:
            return "deleted", ""
        if not fate.in_force:
            if fate.current is not None and fate.current != fate.revision:
                return "changed", f"revision {fate.revision} is now {fate.current}"
            return "lapsed", f"revision {fate.revision} is no longer in force"
        if item not in moment.seen:
            return "permission", ""
    if (
        item not in before
        and fate is not None
        and fate.published_at is not None
        and fate.published_at > moment.asked_at
    ):
        return "published", f"revision {fate.revision}"
    return _of_order(moment)


def _of_order(moment: Now) -> tuple[Why, str]:
    """Return what else a place in the order may have changed by."""
    differ = {version.name: version for version in moment.versions}
    settings = [name for name in differ if "." in name]
    groups: list[tuple[Why, list[str]]] = [
        ("permission", [name for name in ("labels", "operator") if name in differ]),
        ("setting", settings),
        ("model", [name for name in _OF_MODELS if name in differ]),
        ("index", [name for name in _OF_INDEX if name in differ]),
        ("release", [name for name in ("release",) if name in differ]),
    ]
    for why, names in groups:
        if names:
            return why, ", ".join(_told(differ[name]) for name in names)
    return ("corpus", "") if moment.documents_changed else ("unexplained", "")


def _told(version: Version) -> str:
    return f"{version.name} {version.was} is now {version.now}"


def _place(
    before: Mapping[ChunkId, int], after: Mapping[ChunkId, int], item: ChunkId
) -> tuple[int, ChunkId]:
    return before.get(item) or after[item], item


def _ranks(record: Mapping[str, Any]) -> dict[ChunkId, int]:
    return {ChunkId(UUID(c["chunk_id"])): c["rank"] for c in record["candidates"]}


def _uris(record: Mapping[str, Any]) -> dict[ChunkId, str]:
    return {ChunkId(UUID(c["chunk_id"])): c["uri"] for c in record["candidates"]}


def _cited(record: Mapping[str, Any]) -> tuple[ChunkId, ...]:
    return tuple(dict.fromkeys(ChunkId(UUID(c["chunk_id"])) for c in record["citations"]))
