"""Does every search find exactly what a brute-force model says that its principal may see?"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest
from made_filters import made_filter
from support import OPERATOR, TODAY, Bench, make_bench, source

from vademecum.model.document import MetadataValue, Source
from vademecum.model.filter import Filter, document_facts, matches
from vademecum.model.filter_json import as_json, parse_filter
from vademecum.model.passage import Retrieval
from vademecum.model.principal import Scope
from vademecum.model.query import Mode
from vademecum.postgres.pool import Pool

DOCUMENTS = 150
CROWD = 150
# No stemmer changes any of them, so that whatever language a chunk is taken for, it is found by
# its own words, and by no other's.
WORDS = tuple(f"{a}{b}{c}ox" for a in "dfkpv" for b in "aou" for c in "lnr")
LABELS = ("tenant", "group:a", "group:b", "group:c", "role:x", "role:y", "user:p1", "user:p2")
COLLECTIONS = ("rules", "notices", "events")
LANGUAGES = ("en", "pt", "es")
KEYS = ("season", "venue", "public", "note.of$kind", 'say "x"')
VALUES: tuple[MetadataValue, ...] = (
    2024, 2025, 2025.5, "2025", "arena", "hall", "it's", 'say "hi"', "\\", "", True, False, None, 0,
)  # fmt: skip
FROM = (None, None, None, date(2021, 1, 1), date(2023, 1, 1), date(2031, 1, 1))
UNTIL = (None, None, None, date(2024, 6, 30), date(2032, 12, 31))
DAYS = (None, None, None, date(2020, 1, 1), date(2022, 1, 1), date(2025, 1, 1), date(2031, 6, 1))
MODES: tuple[Mode, ...] = ("hybrid", "dense", "keyword")
ALL = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A chunk as the model knows it, with what is known of its document."""

    uri: str
    words: tuple[str, ...]
    access: tuple[str, ...]
    collection: str
    language: str
    metadata: dict[str, MetadataValue]
    since: date | None
    until: date | None
    updated_at: datetime | None = None

    @property
    def text(self) -> str:
        return " ".join(self.words) + "."

    @property
    def key(self) -> tuple[str, str]:
        return self.uri, self.text

    def source(self, text: str | None = None) -> Source:
        days = {"effective_from": self.since, "effective_until": self.until}
        return source(
            self.uri,
            text or self.text,
            collection=self.collection,
            access=self.access,
            metadata=self.metadata | {k: day.isoformat() for k, day in days.items() if day},
            language=self.language,
            title="Paper",
        )

    def in_force(self, day: date | None) -> bool:
        """Tell whether it is in force now, or at the end of a day. None of the days is near."""
        on = day or TODAY
        if self.until is not None and on > self.until:
            return False
        if self.since is not None:
            return on >= self.since
        return self.until is not None or on >= TODAY

    def facts(self) -> dict[str, Any]:
        assert self.updated_at is not None
        return document_facts(
            self.source().metadata,
            language=self.language,
            collection=self.collection,
            uri=self.uri,
            version=1,
            updated_at=self.updated_at,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One search, with everything that decides what it finds."""

    scope: Scope
    words: tuple[str, ...]
    mode: Mode
    k: int
    collections: frozenset[str] | None
    day: date | None
    filter: Filter | None

    async def found(self, bench: Bench) -> Retrieval:
        found = await bench.app.search(
            " ".join(self.words),
            scope=self.scope,
            k=self.k,
            mode=self.mode,
            collections=self.collections,
            as_of=self.day,
            filter=self.filter,
        )
        assert found.retrieval.degraded == ()
        return found.retrieval

    def matching(self, documents: Sequence[Made]) -> set[tuple[str, str]]:
        """All that the search may find, by brute force."""
        return {d.key for d in documents if self._sees(d) and self._wants(d)}

    def _sees(self, document: Made) -> bool:
        narrow = self.scope.collections
        return (self.scope.operator or bool(self.scope.labels & set(document.access))) and (
            narrow is None or document.collection in narrow
        )

    def _wants(self, document: Made) -> bool:
        return (
            (self.collections is None or document.collection in self.collections)
            and document.in_force(self.day)
            and (self.mode != "keyword" or bool(set(self.words) & set(document.words)))
            and (self.filter is None or matches(self.filter, document.facts()))
        )


def made_documents(random: Random, count: int, prefix: str) -> list[Made]:
    return [
        Made(
            uri=f"{prefix}{n}",
            words=tuple(random.choices(WORDS, k=random.randint(2, 7))),
            access=tuple(random.sample(LABELS, random.choice((0, 1, 1, 1, 2, 3)))),
            collection=random.choice(COLLECTIONS),
            language=random.choice(LANGUAGES),
            metadata={
                key: random.choice(VALUES) for key in random.sample(KEYS, random.randint(0, 4))
            },
            since=random.choice(FROM),
            until=random.choice(UNTIL),
        )
        for n in range(count)
    ]


def made_scopes(random: Random) -> list[Scope]:
    """Principals with few and many labels, some narrowed to collections, and the operator."""
    scopes = [OPERATOR]
    for n in range(12):
        labels = frozenset(random.sample(LABELS[1:-2], random.randint(0, 3)))
        scope = Scope.for_principal("default", f"user:p{n}", labels)
        if n % 3 == 0:
            narrow = frozenset(random.sample(COLLECTIONS, random.randint(1, 2)))
            scope = replace(scope, collections=narrow)
        # One whose credential gives it no part in the tenant.
        scopes.append(replace(scope, labels=labels) if n == 11 else scope)
    return scopes


def made_searches(
    random: Random, count: int, documents: Sequence[Made], *, filters: bool
) -> list[Asked]:
    scopes = made_scopes(random)
    return [
        Asked(
            scope=random.choice(scopes),
            words=(
                *random.sample(WORDS, random.randint(1, 3)),
                *random.choices(("unheardof",), k=random.randint(0, 1)),
            ),
            mode=random.choice(MODES),
            k=random.choice((1, 3, 10, ALL, ALL)),
            collections=random.choice(
                (None, None, frozenset(random.sample((*COLLECTIONS, "none"), 2)))
            ),
            day=random.choice(DAYS),
            filter=parse_filter(_filter(random, documents)) if filters else None,
        )
        for _ in range(count)
    ]


def _filter(random: Random, documents: Sequence[Made]) -> dict[str, Any]:
    """Return a filter over metadata, facts of the documents, or both."""
    one = random.choice(documents)
    assert one.updated_at is not None
    about = made_filter(random, keys=KEYS, values=VALUES)
    fact = random.choice(
        (
            {"eq": ["document.language", one.language]},
            {"ne": ["document.language", one.language]},
            {"in": ["document.collection", [one.collection, "none"]]},
            {"eq": ["document.uri", one.uri]},
            {"gte": ["document.uri", one.uri]},
            {"gt": ["document.version", random.randint(0, 1)]},
            {"lte": ["document.updated_at", one.updated_at.isoformat()]},
            {"gte": ["document.updated_at", TODAY.isoformat()]},
            {"gte": ["effective_from", "2022-01-01"]},
            {"exists": "effective_until"},
        )
    )
    operator = random.choice(("and", "or"))
    return random.choice((about, about, fact, {operator: [about, fact]}))


def made_crowd(random: Random, uri: str, **place: Any) -> list[Made]:
    """Return the chunks of one long document that is near to many questions: more than a leg
    proposes, so that whoever may not have them would get too little of a careless search."""
    crowd = Made(uri=uri, words=(), language="en", since=None, until=None, **place)
    pieces = [
        replace(crowd, words=tuple(random.choices(random.sample(WORDS, 3), k=13)))
        for _ in range(CROWD)
    ]
    return list({piece.text: piece for piece in pieces}.values())


async def filled(bench: Bench, random: Random, count: int = DOCUMENTS) -> list[Made]:
    """Ingest made documents and crowds; return their chunks as the database knows them."""
    documents = made_documents(random, count, "d")
    crowds = [
        made_crowd(random, "crowd-1", access=("group:a", "role:x"), collection="rules",
                   metadata={"season": 2024, "venue": "arena"}),
        made_crowd(random, "crowd-2", access=("group:b",), collection="events",
                   metadata={"season": "2025", "public": True}),
    ]  # fmt: skip
    results = await bench.ingest(
        *(document.source() for document in documents),
        *(crowd[0].source("\n\n".join(piece.text for piece in crowd)) for crowd in crowds),
    )
    assert {result.status for result in results} == {"ready"}
    assert [result.chunks for result in results] == [1] * count + [len(c) for c in crowds]
    documents += [piece for crowd in crowds for piece in crowd]
    updated = dict(
        bench.sql("SELECT uri, updated_at FROM vademecum.document WHERE tenant='default'")
    )
    return [replace(document, updated_at=updated[document.uri]) for document in documents]


async def put_neighbours(bench: Bench, random: Random) -> None:
    """Fill another tenant with the same words, labels and collections."""
    neighbour = Scope.for_operator("neighbour")
    made = made_documents(random, 30, "neighbour")
    await bench.ingest(*(document.source() for document in made), scope=neighbour)


@pytest.fixture
async def bench(pool: Pool, database_url: str, tmp_path: Path) -> Bench:
    return await make_bench(pool, database_url, tmp_path)


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("filters", [False, True], ids=["plain", "filtered"])
@pytest.mark.parametrize("searches", [150, pytest.param(5_000, marks=pytest.mark.slow)])
async def test_a_search_finds_exactly_what_its_principal_may_see(
    bench: Bench, searches: int, filters: bool
) -> None:
    random = Random(searches)
    documents = await filled(bench, random)
    await put_neighbours(bench, random)
    sizes: Counter[str] = Counter()
    wrong: list[tuple[Any, ...]] = []
    for asked in made_searches(random, searches, documents, filters=filters):
        found = await asked.found(bench)
        got = [(passage.source.uri, passage.source.chunk.text) for passage in found.passages]
        matching = asked.matching(documents)
        sizes["none" if not matching else "cut" if len(matching) > asked.k else "whole"] += 1
        right = len(got) == len(set(got)) == min(asked.k, len(matching))
        if not right or not set(got) <= matching:
            told = as_json(asked.filter) if asked.filter else None
            wrong.append((asked, told, set(got) - matching, matching - set(got)))
    assert wrong == [], f"{len(wrong)} of {searches} searches, first {wrong[0]}"
    assert min(sizes[kind] for kind in ("none", "cut", "whole")) > searches / 20  # all were tried


@pytest.mark.parametrize("searches", [60, pytest.param(1_000, marks=pytest.mark.slow)])
@pytest.mark.timeout(3600)
async def test_a_hidden_document_changes_no_score(bench: Bench, searches: int) -> None:
    random = Random(searches)
    documents = await filled(bench, random, count=80)
    asked = [
        replace(search, day=None)
        for search in made_searches(random, searches, documents, filters=True)
        if not search.scope.operator
    ]
    operator = [replace(search, scope=OPERATOR) for search in asked[:20]]
    before = [await search.found(bench) for search in asked]
    seen = [await search.found(bench) for search in operator]

    # The same words in the same places, in other languages too, for nobody who asks.
    hidden = [
        replace(made, access=random.choice(((), ("group:hidden",), ("user:nobody",))))
        for made in made_documents(random, 120, "hidden")
    ]
    hidden = [replace(made, language="de") if n % 4 == 0 else made for n, made in enumerate(hidden)]
    await bench.ingest(*(made.source() for made in hidden))
    await put_neighbours(bench, random)

    wrong = [
        (search, then.passages, now.passages)
        for search, then, now in zip(
            asked, before, [await search.found(bench) for search in asked], strict=True
        )
        if (then.passages, then.abstention) != (now.passages, now.abstention)
    ]
    assert wrong == [], f"{len(wrong)} of {len(asked)} searches changed, first {wrong[0]}"
    assert sum(bool(then.passages) for then in before) > len(asked) / 3
    # To whom they are not hidden, they change something.
    assert seen != [await search.found(bench) for search in operator]


def test_the_days_of_the_model_are_far_from_today() -> None:
    moved = [day for day in (*FROM, *DAYS) if day] + [day for day in UNTIL if day]
    assert all(abs(day - TODAY) > timedelta(days=30) for day in moved)
    assert datetime.combine(TODAY, time.min).date() == TODAY
