"""How are refusing and fusing fitted to one collection's own questions? Read `calibrate`.

A golden set is split in two. One half is searched and fitted to; the other is searched as things
are and as they would be, and what is not worse there is kept.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from vademecum.app import App
from vademecum.errors import EmbeddingInvalid, UsageError
from vademecum.evaluate.calibrate import (
    LEAST_FITTED,
    LEAST_FUSED,
    LEAST_HELD,
    WEIGHTS,
    Branch,
    Case,
    Reached,
    best_weight,
    fit_branch,
    reached,
    trains,
    worse,
)
from vademecum.evaluate.golden import Golden, GoldenQuestion
from vademecum.evaluate.metrics import ndcg
from vademecum.evaluate.relevance import Target, as_items, items
from vademecum.evaluating import AppAsker, check_operator, find_document, sight_of
from vademecum.model.calibration import Calibration, stale
from vademecum.model.document import Document
from vademecum.model.filter import Not, OneOf
from vademecum.model.principal import Scope
from vademecum.model.query import Query
from vademecum.ports.calibrations import Calibrations
from vademecum.retrieve.calibrated import tuned
from vademecum.retrieve.pipeline import RetrieveParts, retrieve
from vademecum.text.normalise import clean

LOSS = 0.1
_DEPTH = 10
# These are searched part by part, or with what was said before, and so by other texts.
_OTHERWISE = frozenset(["multi_part", "follow_up"])


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question of the collection, with what answers it (nothing for one without an answer), the
    uris of those documents, and whose sight it is asked with."""

    question: GoldenQuestion
    targets: tuple[Target, ...]
    uris: tuple[str, ...]
    scope: Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Half:
    """How many questions with an answer, how many without, and of how many an unanswerable one is
    made by leaving out the documents that answer."""

    answerable: int
    unanswerable: int
    made: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """What came of it: what was fitted, what is kept of it (`calibration`), what it reached on the
    held half, and in words what was not fitted or not kept (`told`). `left_out` counts questions
    that searches of the collection alone cannot be fitted to, by reason; `weights` maps each dense
    share that was tried to the mean nDCG@10 of the training half."""

    calibration: Calibration
    kept: bool
    loss: float
    training: Half
    held: Half
    left_out: dict[str, int]
    same: Branch
    across: Branch
    weights: dict[float, float]
    before: Reached
    after: Reached
    told: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fixed:
    """The Calibrations of a search that is tried: what is in force, or would be."""

    one: Calibration | None

    async def of(self, _scope: Scope, _collection: str) -> Calibration | None:
        return self.one


@dataclass(slots=True, kw_only=True)
class _Trial:
    """One calibration at work: the collection, the searching line, and what was counted."""

    parts: RetrieveParts
    collection: str
    made: bool
    count: Callable[[int], None]
    searched: int = field(default=0)

    async def search(
        self, one: Asked, *, by: Calibrations, hidden: bool = False
    ) -> tuple[Case, float | None]:
        """Search for a question, with the documents that answer it left out where `hidden`; return
        the case and its nDCG@10, None where nothing answers it. Raises: EmbeddingInvalid."""
        wanted = Not(part=OneOf(key="document.uri", texts=one.uris)) if hidden else None
        query = Query(
            text=clean(one.question.question), k=_DEPTH, mode="hybrid",
            collections=frozenset([self.collection]), as_of=one.question.as_of, filter=wanted,
        )  # fmt: skip
        found = await retrieve(replace(self.parts, calibrations=by), one.scope, query)
        if found.degraded:
            raise EmbeddingInvalid(
                f"a question could not be searched whole ({', '.join(found.degraded)})",
                hint="check the model, then run it again",
            )
        self.searched += 1
        self.count(self.searched)
        case = Case(
            question=one.question.id,
            answerable=bool(one.targets) and not hidden,
            signals=found.abstention.signals,
            confidence=found.abstention.confidence,
        )
        if not case.answerable:
            return case, None
        numbers = items(one.targets)
        hits = as_items([p.source.chunk.id for p in found.passages], numbers)
        return case, ndcg(hits, set(numbers.values()), _DEPTH)

    async def all(
        self, asked: Sequence[Asked], one: Calibration | None
    ) -> tuple[list[Case], list[float]]:
        """Search for every question, and for those that are made; return the cases, and the nDCG
        of those that have one."""
        by, cases, scores = _Fixed(one=one), [], []
        for question in asked:
            case, score = await self.search(question, by=by)
            cases.append(case)
            if score is not None:
                scores.append(score)
            if self.made and question.targets:
                cases.append((await self.search(question, by=by, hidden=True))[0])
        return cases, scores


async def calibrate(
    app: App,
    golden: Golden,
    *,
    scope: Scope,
    collection: str | None = None,
    loss: float = LOSS,
    keep: bool = True,
    count: Callable[[int, int], None] = lambda _done, _total: None,
) -> Calibrated:
    """Fit what searches of one collection alone go by to the training half of a golden set, and
    keep what is not worse on the held half. `loss` (0..1) of the answerable may be refused.

    Without `collection` it is the one that holds everything relevant. Without `keep` nothing is
    written. Raises: Forbidden; UsageError, also where there are too few questions, and then
    nothing is changed; EmbeddingInvalid where a question could not be searched whole.
    """
    check_operator(scope)
    if not 0 <= loss < 1:
        raise UsageError(f"the loss must lie in 0..1: {loss:g}", hint="0.1 loses a tenth")
    documents = await app.catalogue.documents.all(scope)
    name = collection or _collection(golden, documents)
    asked, left_out = await _questions(app, golden, scope, documents, name)
    training = [one for one in asked if trains(one.question.id)]
    held = [one for one in asked if not trains(one.question.id)]
    made = _check_enough(training, held)
    parts = app.answer_parts.retrieve
    generation = app.ingest_parts.generation.id
    now = await parts.calibrations.of(scope, name) if parts.calibrations else None
    if now is not None and stale(now, generation, parts.ranking.named):
        now = None
    weights = _grid(parts, now, training)
    searches = len(training) * max(0, len(weights) - 1) + (1 + made) * (
        len(training) + 3 * len(held)
    )
    trial = _Trial(
        parts=parts, collection=name, made=made,
        count=lambda done: count(min(done, searches), searches),
    )  # fmt: skip
    blank = _blank(golden, name, generation, parts)
    made_of = _halves(training, held, made=made)
    done = await _fitted(trial, training, held, _Start(blank=blank, now=now, loss=loss), weights)
    result = Calibrated(
        calibration=done.calibration, kept=keep and done.better, loss=loss,
        training=made_of[0], held=made_of[1], left_out=left_out, same=done.same,
        across=done.across, weights=done.weights, before=done.before, after=done.after,
        told=tuple(done.told),
    )  # fmt: skip
    result = replace(result, calibration=replace(done.calibration, figures=_figures(result)))
    if result.kept:
        await app.catalogue.calibrations.keep(scope, result.calibration)
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """What a fit begins with: a calibration that changes nothing, what holds now, and the loss."""

    blank: Calibration
    now: Calibration | None
    loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Done:
    calibration: Calibration
    better: bool
    same: Branch
    across: Branch
    weights: dict[float, float]
    before: Reached
    after: Reached
    told: list[str]


async def _fitted(
    trial: _Trial,
    training: Sequence[Asked],
    held: Sequence[Asked],
    start: _Start,
    weights: Sequence[float],
) -> _Done:
    """Fit to the training half, and take back what is worse on the held half."""
    current = tuned(trial.parts.ranking.fusion, start.now).dense_weight
    tried = await _tried(trial, training, start.blank, weights)
    weight = best_weight(tried, current) if tried else current
    told = [] if tried else [_too_few(training)]
    before = reached(*await trial.all(held, start.now))
    fitted, same, across = await _branches(trial, training, start, weight)
    after = reached(*await trial.all(held, fitted))
    if weight != current and after.ndcg.mean < before.ndcg.mean - 1e-9:
        told.append(
            f"a dense share of {weight:g} is not kept: nDCG@10 of the held half"
            f" {before.ndcg.mean:.3f} > {after.ndcg.mean:.3f}"
        )
        weight = current
        fitted, same, across = await _branches(trial, training, start, weight)
        after = reached(*await trial.all(held, fitted))
    told += [_branch_told(name, one) for name, one in (("same", same), ("across", across))]
    better = same.weights is not None or across.weights is not None
    if better and (why := worse(before, after)):
        told.append(f"refusing is not kept: on the held half {why}")
        better = False
        if weight != current:
            fitted = _with(start, weight, None, None)
            after = reached(*await trial.all(held, fitted))
    return _Done(
        calibration=fitted, better=better or (weight != current and not worse(before, after)),
        same=same, across=across, weights={w: sum(v) / len(v) for w, v in tried.items()},
        before=before, after=after, told=[one for one in told if one],
    )  # fmt: skip


async def _tried(
    trial: _Trial, training: Sequence[Asked], blank: Calibration, weights: Sequence[float]
) -> dict[float, list[float]]:
    """Return the nDCG@10 of each training question that has an answer, by the dense share."""
    found: dict[float, list[float]] = {}
    for weight in weights:
        by = _Fixed(one=replace(blank, dense_weight=weight))
        scores = [(await trial.search(one, by=by))[1] for one in training if one.targets]
        found[weight] = [score for score in scores if score is not None]
    return found


async def _branches(
    trial: _Trial, training: Sequence[Asked], start: _Start, weight: float
) -> tuple[Calibration, Branch, Branch]:
    cases, _ = await trial.all(training, replace(start.blank, dense_weight=weight))
    same = fit_branch(cases, across=False, loss=start.loss)
    across = fit_branch(cases, across=True, loss=start.loss)
    return _with(start, weight, same, across), same, across


def _with(start: _Start, weight: float, same: Branch | None, across: Branch | None) -> Calibration:
    """Return the calibration; what was not fitted stays as it is now."""
    now = start.now or start.blank
    return replace(
        start.blank,
        dense_weight=weight,
        same=same.weights if same is not None and same.weights is not None else now.same,
        across=across.weights if across is not None and across.weights is not None else now.across,
    )


def _collection(golden: Golden, documents: Sequence[Document]) -> str:
    """Return the one collection that holds everything relevant. Raises: UsageError."""
    names = {
        find_document(documents, entry.document, f"{one.place}: relevant[{at}]").collection
        for one in golden.questions
        for at, entry in enumerate(one.relevant)
    }
    if len(names) == 1:
        return names.pop()
    told = f"what is relevant lies in {len(names)} collections" if names else "nothing is relevant"
    raise UsageError(f"{told}; one is calibrated at a time", hint="name it with -c")


async def _questions(
    app: App, golden: Golden, scope: Scope, documents: Sequence[Document], collection: str
) -> tuple[list[Asked], dict[str, int]]:
    """Return the questions that are asked of the collection, and how many are left out and why.

    Raises: UsageError for a collection or a document that is not there."""
    own = [one for one in documents if one.collection == collection]
    if not own:
        raise UsageError(
            f"the collection {collection!r} holds nothing", hint="`vade documents list` shows all"
        )
    asker = AppAsker(app, scope, own, frozenset([collection]))
    asked: list[Asked] = []
    left_out: dict[str, int] = {}
    for one in golden.questions:
        reason = ""
        if one.kind in _OTHERWISE or one.history:
            reason = "searched part by part, or with what was said before"
        elif not _within(one, own, documents):
            reason = "answered by other collections"
        if reason:
            left_out[reason] = left_out.get(reason, 0) + 1
            continue
        targets = await asker.targets(one)
        ids = {target.document_id for target in targets}
        uris = tuple(sorted(document.uri for document in own if document.id in ids))
        asked.append(Asked(question=one, targets=targets, uris=uris, scope=sight_of(one, scope)))
    return asked, left_out


def _within(one: GoldenQuestion, own: Sequence[Document], documents: Sequence[Document]) -> bool:
    """Return whether all that is relevant lies in the collection. Raises: UsageError for what is
    nowhere, or is several documents."""
    for at, entry in enumerate(one.relevant):
        place = f"{one.place}: relevant[{at}]"
        try:
            find_document(own, entry.document, place)
        except UsageError:
            find_document(documents, entry.document, place)
            return False
    return True


def _check_enough(training: Sequence[Asked], held: Sequence[Asked]) -> bool:
    """Return whether unanswerable questions are made, since too few are given. Raises: UsageError
    where there are too few with an answer."""
    for name, half, least in (
        ("training half", training, LEAST_FITTED), ("held half", held, LEAST_HELD),
    ):  # fmt: skip
        found = sum(bool(one.targets) for one in half)
        if found < least:
            raise UsageError(
                f"the {name} has {found} questions with an answer in this collection; {least} are"
                " needed, and nothing was changed",
                hint="about 45 in the golden set are enough",
            )
    given = [sum(not one.targets for one in half) for half in (training, held)]
    return given[0] < LEAST_FITTED or given[1] < LEAST_HELD


def _grid(
    parts: RetrieveParts, now: Calibration | None, training: Sequence[Asked]
) -> tuple[float, ...]:
    """Return the dense shares to try, () where there are too few questions or it plays no part."""
    fusion = tuned(parts.ranking.fusion, now)
    enough = sum(bool(one.targets) for one in training) >= LEAST_FUSED
    if not enough or fusion.method == "distribution":
        return ()
    return tuple(sorted({*WEIGHTS, fusion.dense_weight}))


def _too_few(training: Sequence[Asked]) -> str:
    found = sum(bool(one.targets) for one in training)
    if found >= LEAST_FUSED:
        return ""
    return f"fusion: as it is; {LEAST_FUSED} training questions with an answer are needed, {found}"


def _branch_told(name: str, one: Branch) -> str:
    language = "the documents' language" if name == "same" else "another language"
    if one.weights is None:
        return (
            f"questions in {language}: as it is; {LEAST_FITTED} with an answer and as many without"
            f" are needed in the training half, {one.answerable} and {one.unanswerable}"
        )
    return "" if one.converged else f"questions in {language}: the fit did not end"


def _halves(training: Sequence[Asked], held: Sequence[Asked], *, made: bool) -> tuple[Half, Half]:
    def half(asked: Sequence[Asked]) -> Half:
        good = sum(bool(one.targets) for one in asked)
        return Half(answerable=good, unanswerable=len(asked) - good, made=good if made else 0)

    return half(training), half(held)


def _blank(golden: Golden, collection: str, generation: int, parts: RetrieveParts) -> Calibration:
    return Calibration(
        collection=collection, name=golden.name, sha256=golden.sha256, generation=generation,
        ranking=parts.ranking.named, created_at=parts.clock.now(), same=None, across=None,
        dense_weight=None, figures={},
    )  # fmt: skip


def _figures(done: Calibrated) -> dict[str, Any]:
    return {
        "loss": done.loss,
        "training": asdict(done.training),
        "held": asdict(done.held),
        "before": asdict(done.before),
        "after": asdict(done.after),
    }
