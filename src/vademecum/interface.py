"""Which JSON do people and programs get? One form for the command line and for HTTP."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from vademecum.errors import VademecumError
from vademecum.evaluate.compare import Change, Comparison
from vademecum.evaluate.gates import Checked as CheckedGate
from vademecum.evaluate.report import refusal
from vademecum.model.answer import (
    Answer,
    Checked,
    Citation,
    Conflict,
    Done,
    Event,
    Retrieved,
    Sentence,
)
from vademecum.model.calibration import Calibration
from vademecum.model.chunk import Chunk
from vademecum.model.document import Document
from vademecum.model.evaluation import Result, Run
from vademecum.model.index import BuildProgress, GenerationRecord
from vademecum.model.memory import Memory, Recall, Recalled, Remembered
from vademecum.model.passage import Found, Passage
from vademecum.model.personal import Personal
from vademecum.model.principal import Scope
from vademecum.model.purge import Receipt
from vademecum.model.replay import Replay
from vademecum.model.serving.key import ApiKey
from vademecum.model.turn_unit import RecalledTurn
from vademecum.remembering import MemoryStory
from vademecum.retrieve.abstain import REFUSE_BELOW
from vademecum.talking import Dialogue

if TYPE_CHECKING:  # it takes half a second, which a command without it need not pay
    from vademecum.calibrating import Calibrated

# So many passages are offered where nothing answers.
NEAREST = 3


def error_json(error: VademecumError) -> dict[str, Any]:
    return {"code": error.code, "message": error.message, "hint": error.hint}


def scope_json(scope: Scope) -> dict[str, Any]:
    return {
        "tenant": scope.tenant,
        "principal": scope.principal,
        "labels": sorted(scope.labels),
        "operator": scope.operator,
    }


def document_json(document: Document) -> dict[str, Any]:
    values = asdict(document)
    values["status"] = values.pop("state")
    return values


def chunk_json(chunk: Chunk) -> dict[str, Any]:
    """Return a chunk's places; its text is the span of the document's."""
    return {
        "id": chunk.id,
        "ordinal": chunk.ordinal,
        "start": chunk.start,
        "end": chunk.end,
        "tokens": chunk.tokens,
        "heading_path": list(chunk.heading_path),
        "page_start": chunk.page_start,
        "page_end": chunk.page_end,
        "language": chunk.language,
    }


def passage_json(passage: Passage) -> dict[str, Any]:
    source, chunk = passage.source, passage.source.chunk
    return {
        "rank": passage.rank,
        "score": passage.score,
        "chunk_id": chunk.id,
        "document_id": source.document_id,
        "uri": source.uri,
        "title": source.title,
        "heading_path": list(chunk.heading_path),
        "page_start": chunk.page_start,
        "page_end": chunk.page_end,
        "start": chunk.start,
        "end": chunk.end,
        "language": chunk.language,
        "text": chunk.text,
        "metadata": dict(source.metadata),
        "signals": asdict(passage.signals),
    }


def found_json(found: Found, scope: Scope) -> dict[str, Any]:
    """Return what a search found."""
    retrieval = found.retrieval
    return {
        "query": retrieval.query,
        "passages": [passage_json(passage) for passage in retrieval.passages],
        "abstain": {
            "would": retrieval.abstention.would,
            "reason": retrieval.abstention.reason,
            "confidence": retrieval.abstention.confidence,
        },
        "degraded": list(retrieval.degraded),
        "timings_ms": dict(retrieval.timings_ms),
        "trace_id": found.trace_id,
        "scope": scope_json(scope),
    }


def citation_json(citation: Citation) -> dict[str, Any]:
    return asdict(citation)


def sentence_json(sentence: Sentence) -> dict[str, Any]:
    return {
        "text": sentence.text,
        "markers": list(sentence.markers),
        "support": sentence.support,
        "memories": list(sentence.memories),
    }


def conflict_json(conflict: Conflict) -> dict[str, Any]:
    return {
        "sentence": conflict.sentence,
        "kind": conflict.kind,
        "since": conflict.since,
        "other": citation_json(conflict.other),
        "other_since": conflict.other_since,
    }


def answer_json(answer: Answer) -> dict[str, Any]:
    return {
        "answer": answer.text,
        "abstained": answer.abstained,
        "mode": answer.mode,
        "citations": [citation_json(citation) for citation in answer.citations],
        "sentences": [sentence_json(sentence) for sentence in answer.sentences],
        "memories": [recalled_json(recalled) for recalled in answer.memories],
        "degraded": list(answer.degraded),
        "usage": asdict(answer.usage),
        "timings_ms": dict(answer.timings_ms),
        "conversation_id": answer.conversation_id,
        "turn_id": answer.turn_id,
        "trace_id": answer.trace_id,
        "given_before": answer.given_before,
        "as_of": answer.as_of,
        "conflicts": [conflict_json(conflict) for conflict in answer.conflicts],
        "searched": list(answer.searched),
        "collections": None if answer.collections is None else sorted(answer.collections),
        "nearest": [_nearest_json(p) for p in answer.passages[:NEAREST]]
        if answer.abstained
        else [],
    }


def _nearest_json(passage: Passage) -> dict[str, Any]:
    """Return a place that came near a question which nothing answers."""
    known = passage_json(passage)
    names = ("chunk_id", "document_id", "uri", "title", "page_start", "page_end", "start", "end")
    return {name: known[name] for name in names}


def replay_json(replay: Replay) -> dict[str, Any]:
    answer = replay.answer
    return {
        "trace_id": replay.trace_id,
        "created_at": replay.created_at,
        "same": replay.same,
        "versions": [asdict(version) for version in replay.versions],
        "searches": [asdict(search) for search in replay.searches],
        "answer": None if answer is None else asdict(answer) | {"same": answer.same},
        "degraded": list(replay.degraded),
    }


def event_json(event: Event) -> dict[str, Any]:
    """Return an event of an answer that is streamed, with its name under `event`."""
    match event:
        case Retrieved(passages=passages):
            return {"event": "retrieved", "passages": [passage_json(p) for p in passages]}
        case Checked(sentence=sentence, citations=citations):
            return (
                {"event": "sentence"}
                | sentence_json(sentence)
                | {"citations": [citation_json(citation) for citation in citations]}
            )
        case Done(answer=answer):
            return {"event": "done"} | answer_json(answer)


def memory_json(memory: Memory) -> dict[str, Any]:
    values = asdict(memory)
    source = values.pop("source")
    return values | {
        "source": source["kind"],
        "source_turn_id": source["turn_id"],
        "source_words": source["words"],
        "client": source["client"],
    }


def recalled_json(recalled: Recalled) -> dict[str, Any]:
    """Return a memory that was recalled, with its score and what it is made of; those of the
    profile have none."""
    return memory_json(recalled.memory) | {
        "score": recalled.score,
        "signals": asdict(recalled.signals) if recalled.signals else None,
    }


def remembered_json(done: Remembered, scope: Scope) -> dict[str, Any]:
    """Return what became of a statement."""
    return {
        "outcome": done.outcome,
        "memory": memory_json(done.memory),
        "replaced": list(done.replaced),
        "why": done.why,
        "scope": scope_json(scope),
    }


def story_json(story: MemoryStory) -> dict[str, Any]:
    """Return a memory with what it said before."""
    versions = [
        {
            "version": version.version,
            "kind": version.kind,
            "text": version.text,
            "known_from": version.known_from,
            "known_until": version.known_until,
        }
        for version in story.versions
    ]
    return memory_json(story.memory) | {"versions": versions}


def recall_json(found: Recall) -> dict[str, Any]:
    return {
        "profile": [recalled_json(recalled) for recalled in found.profile],
        "memories": [recalled_json(recalled) for recalled in found.memories],
        "stage": found.stage,
        "degraded": list(found.degraded),
        "timings_ms": dict(found.timings_ms),
    }


def recalled_turn_json(recalled: RecalledTurn) -> dict[str, Any]:
    """Return a turn that was found; its score compares within one recall only."""
    turn = recalled.turn
    return {
        "turn_id": turn.id,
        "conversation_id": recalled.conversation_id,
        "role": turn.role,
        "said_at": turn.created_at,
        "text": turn.text,
        "score": recalled.score,
    }


def dialogue_json(dialogue: Dialogue) -> dict[str, Any]:
    """Return a conversation with all its turns, as it is shown and exported."""
    turns = [asdict(turn) for turn in dialogue.turns]
    return asdict(dialogue.conversation) | {"turns": turns}


def remembers_json(remembers: bool, scope: Scope) -> dict[str, Any]:
    """Return whether anything is remembered of the scope's principal."""
    return {"remembers": remembers, "scope": scope_json(scope)}


def personal_json(personal: Personal) -> dict[str, Any]:
    """Return all that is kept of a person: memories with their history, conversations."""
    return {
        "memories": [
            story_json(MemoryStory(memory=memory, versions=versions))
            for memory, versions in personal.memories
        ],
        "conversations": [
            dialogue_json(Dialogue(conversation=conversation, turns=turns))
            for conversation, turns in personal.conversations
        ],
    }


def receipt_json(receipt: Receipt) -> dict[str, Any]:
    return asdict(receipt) | {"complete": receipt.complete}


def generation_json(record: GenerationRecord, progress: BuildProgress | None) -> dict[str, Any]:
    """Return a build of the index; `lacking` is how much one that is being built lacks, by kind."""
    return {
        "generation": record.generation.id,
        "state": record.state,
        "space": record.generation.space.name,
        "analyser": record.generation.analyser,
        "created_at": record.created_at,
        "switched_at": record.switched_at,
        "held": dict(progress.held) if progress else None,
        "lacking": dict(progress.lacking) if progress else None,
    }


def generation_text(record: GenerationRecord, progress: BuildProgress | None) -> str:
    """Return a build of the index in a line."""
    told = f"{record.generation.id} {record.state}, {record.generation.space.name}"
    if progress is None:
        return told
    held, lacking = progress.held["chunks"], progress.lacking["chunks"]
    return f"{told}: {held - lacking:,} of {held:,} chunks"


def key_json(key: ApiKey) -> dict[str, Any]:
    """Return a key without its secret, which is nowhere."""
    values = asdict(key)
    return values | {"scopes": sorted(values.pop("permissions"))}


def run_json(run: Run) -> dict[str, Any]:
    """Return an evaluation without its questions."""
    values = asdict(run)
    return values | {"metrics": values.pop("summaries")}


def evaluation_json(
    run: Run, results: Sequence[Result], gates: Sequence[CheckedGate] = ()
) -> dict[str, Any]:
    """Return an evaluation with its questions, its refusal curve, and what its gates found."""
    found = refusal(results, REFUSE_BELOW)
    return run_json(run) | {
        "refusal": asdict(found) if found else None,
        "gates": [{"gate": str(one.gate), "found": one.found, "holds": one.holds} for one in gates],
        "results": [asdict(result) for result in results],
    }


def calibration_json(one: Calibration, why_stale: str) -> dict[str, Any]:
    """Return what was fitted to a collection; `stale` tells why it is not gone by, null where it
    is."""
    return asdict(one) | {"stale": why_stale or None}


def calibrated_json(done: "Calibrated") -> dict[str, Any]:
    """Return what a calibration came to, with what was reached on the held half."""
    values = asdict(done)
    tried = values.pop("weights")
    return values | {
        "tried": [{"dense_weight": weight, "ndcg@10": score} for weight, score in tried.items()]
    }


def comparison_json(found: Comparison) -> dict[str, Any]:
    """Return what changed between two evaluations, the question that changed most first."""
    return {
        "changes": [_change_json(change) for change in found.changes],
        "questions": [asdict(moved) for moved in found.moved],
        "versions": {
            name: {"before": before, "after": after}
            for name, (before, after) in found.versions.items()
        },
        "only_before": list(found.only_before),
        "only_after": list(found.only_after),
    }


def _change_json(change: Change) -> dict[str, Any]:
    told = {"more_than_noise": change.more_than_noise, "better": change.better}
    return asdict(change) | told
