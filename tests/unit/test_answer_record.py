"""Does a trace hold every number that explains an answer, and no text of a document?"""

import json
from dataclasses import replace
from uuid import UUID

from vademecum.answer.cite import citation
from vademecum.answer.record import answer_record, retrieval_record
from vademecum.model.answer import Answer, Sentence, Usage
from vademecum.model.filter_json import parse_filter
from vademecum.model.ids import ConversationId, TraceId, TurnId
from vademecum.model.passage import Abstention, Passage, Retrieval, Signals
from vademecum.testing.passages import make_passage

TEXT = "The canary sentence of the document. It is quoted."
SIGNALS = Signals(
    dense=0.8, dense_rank=1, keyword=3.5, keyword_rank=2, keyword_share=0.4, fused=0.9, final=0.9
)


def passage() -> Passage:
    return replace(make_passage(TEXT, uri="rules.md", at=100), signals=SIGNALS)


def retrieval() -> Retrieval:
    return Retrieval(
        query="what is quoted?",
        passages=(passage(),),
        abstention=Abstention(would=False, reason="", confidence=0.75),
        degraded=("dense: provider-away",),
        timings_ms={"dense": 1.5},
        plan="exact",
        fusion={"mode": "hybrid", "method": "upper_bound"},
    )


def test_a_search_by_id_with_every_signal() -> None:
    source = passage().source
    assert retrieval_record(retrieval()) == {
        "query": "what is quoted?",
        "candidates": [
            {
                "rank": 1,
                "chunk_id": str(source.chunk.id),
                "document_id": str(source.document_id),
                "uri": "rules.md",
                "signals": {
                    "dense": 0.8,
                    "dense_rank": 1,
                    "keyword": 3.5,
                    "keyword_rank": 2,
                    "keyword_share": 0.4,
                    "ngram_share": None,
                    "fused": 0.9,
                    "maxsim": None,
                    "reranked": None,
                    "final": 0.9,
                },
            }
        ],
        "abstain": {"would": False, "reason": "", "confidence": 0.75, "signals": {}},
        "degraded": ["dense: provider-away"],
        "timings_ms": {"dense": 1.5},
        "plan": "exact",
        "fusion": {"mode": "hybrid", "method": "upper_bound"},
        "filter": None,
    }


def test_which_filter_a_search_had() -> None:
    wanted = {"and": [{"eq": ["venue", "arena"]}, {"not": {"gte": ["season", 2025]}}]}
    filtered = replace(retrieval(), filter=parse_filter(wanted))
    assert retrieval_record(filtered)["filter"] == wanted


def test_an_answer_with_its_searches_and_places_but_no_words_of_its_sources() -> None:
    cited = citation(1, passage(), 37, 50, support="supported")
    answer = Answer(
        question="what is quoted?",
        text="It is quoted. [1]",
        abstained=False,
        mode="generated",
        sentences=(Sentence(text="It is quoted.", markers=(1,), support="supported"),),
        citations=(cited,),
        passages=(passage(),),
        degraded=("language_model: cut short",),
        usage=Usage(prompt_tokens=120, completion_tokens=7),
        timings_ms={"total": 12.5},
        conversation_id=ConversationId(UUID(int=1)),
        turn_id=TurnId(UUID(int=2)),
        trace_id=TraceId(UUID(int=3)),
        asked_turn_id=TurnId(UUID(int=4)),
    )
    rewrite = {"how": "typed", "text": "what is quoted?"}
    versions = {"space": "s", "language_model": "m"}
    record = answer_record(answer, [retrieval()], versions, rewrite=rewrite)
    assert record["searches"] == [retrieval_record(retrieval())]
    assert record["sentences"] == [
        {"markers": [1], "support": "supported", "why": "", "letters": 13}
    ]
    assert record["citations"] == [
        {
            "marker": 1,
            "chunk_id": str(cited.chunk_id),
            "document_id": str(cited.document_id),
            "start": 137,
            "end": 150,
            "support": "supported",
        }
    ]
    rest = {key: record[key] for key in record.keys() - {"searches", "sentences", "citations"}}
    assert rest == {
        "question": "what is quoted?",
        "given_before": None,
        "conflicts": [],
        "rewrite": {"how": "typed", "text": "what is quoted?"},
        "mode": "generated",
        "abstained": False,
        "memories": [],
        "removed": [],
        "usage": {"prompt_tokens": 120, "completion_tokens": 7},
        "degraded": ["language_model: cut short"],
        "timings_ms": {"total": 12.5},
        "versions": {"space": "s", "language_model": "m"},
    }
    written = json.dumps(record)
    assert "canary" not in written
    assert "It is quoted" not in written
