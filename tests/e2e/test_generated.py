"""Does an answer that a model writes reach a person only as far as the sources bear it out?"""

import json
from pathlib import Path
from typing import Any

import pytest

from vademecum.testing.openai_server import OpenAIServer, Reply

NOTICE = "NOTICE\n\nError ZX-31 means that the turnstile is offline. Call 0800 555 010.\n"


@pytest.fixture(scope="module")
def ready(vade: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    notice = tmp_path_factory.mktemp("documents") / "notice.txt"
    notice.write_text(NOTICE, encoding="utf-8")
    vade.json("ingest", str(notice))
    return vade


def _asking(server: OpenAIServer) -> dict[str, str]:
    return {
        "VADE_MODELS__LANGUAGE": "openai:a-model",
        "OPENAI_BASE_URL": server.base_url,
        "OPENAI_API_KEY": "sk-canary",
    }


def test_an_invented_number_is_not_shown(ready: Any) -> None:
    pieces = ("The turnstile is off", "line [", "1]. Repairs cost 99 euros [1]", ".")
    with OpenAIServer([Reply(pieces=pieces)]) as server:
        answer = ready.json("ask", "What does error ZX-31 mean?", **_asking(server))
        request = server.received[-1]
    assert answer["mode"] == "generated"
    assert answer["answer"] == "The turnstile is offline. [1]"
    assert [c["quote"] for c in answer["citations"]] == [
        "Error ZX-31 means that the turnstile is offline."
    ]
    assert answer["usage"] == {"prompt_tokens": 11, "completion_tokens": 7}
    system, user = request.body["messages"]
    assert "ZX-31" not in json.dumps(system)
    assert "turnstile" in json.dumps(user)


def test_a_model_that_is_away_leaves_a_quotation(ready: Any) -> None:
    with OpenAIServer([Reply(status=500, message="sk-canary is broken")]) as server:
        result = ready("ask", "What does error ZX-31 mean?", "--json", **_asking(server))
    answer = json.loads(result.stdout)
    assert answer["mode"] == "extractive"
    assert "the turnstile is offline" in answer["answer"]
    assert answer["degraded"] == ["language_model: provider-away"]
    assert "sk-canary" not in result.stdout + result.stderr


def test_an_unknown_provider_is_said(ready: Any, tmp_path: Path) -> None:
    line = ready.fails(
        "ask", "anything", status=2, code="setting-invalid", VADE_MODELS__LANGUAGE="oracle:x"
    )
    assert "oracle" in line


def test_a_remote_embedder_is_another_space(ready: Any) -> None:
    with OpenAIServer() as server:
        line = ready.fails(
            "search",
            "turnstile",
            status=1,
            code="space-mismatch",
            VADE_MODELS__EMBEDDING="openai:vectors",
            OPENAI_BASE_URL=server.base_url,
        )
    assert "multilingual-e5-small" in line
    assert "openai:vectors" in line
