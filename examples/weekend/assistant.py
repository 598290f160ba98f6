"""The smallest assistant on the HTTP API: `assistant.py bring FOLDER`, `chat`, `report`."""

import json
import os
import statistics
import sys
import time
from pathlib import Path

import httpx

METRICS = Path(os.environ.get("METRICS", "metrics.jsonl"))


def client() -> httpx.Client:
    url = os.environ.get("VADE_URL", "http://127.0.0.1:8080")
    headers = {"Authorization": f"Bearer {os.environ['VADE_KEY']}"}
    return httpx.Client(base_url=url, headers=headers, timeout=120)


def bring(folder: Path) -> None:
    with client() as http:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            files = {"file": (path.name, path.read_bytes())}
            answer = http.post("/api/v1/uploads", files=files, data={"wait": "true"})
            answer.raise_for_status()
            for document in answer.json()["documents"]:
                print(f"{document['status']:>9}  {document['uri']}  {document['chunks']} chunks")


def chat() -> None:
    """The server keeps the conversation: the last turns, and a summary of those before."""
    conversation, trace = None, None
    with client() as http:
        for line in map(str.strip, sys.stdin):
            if line in ("+", "-") and trace:
                verdict = "up" if line == "+" else "down"
                http.post("/api/v1/feedback", json={"trace_id": trace, "verdict": verdict})
                note(feedback=verdict)
            elif line:
                conversation, trace = ask(http, line, conversation)


def ask(http: httpx.Client, question: str, conversation: str | None) -> tuple[str, str]:
    """Show each sentence as soon as it is checked, then where it comes from."""
    body = {"question": question, "conversation_id": conversation, "stream": True}
    began, first, event, answer = time.monotonic(), None, "", {}
    with http.stream("POST", "/api/v1/ask", json=body) as lines:
        for line in lines.iter_lines():
            name, _, value = line.partition(": ")
            if name == "event":
                event = value
            elif name == "data" and event == "sentence":
                first = first or time.monotonic() - began
                print(json.loads(value)["text"])
            elif name == "data" and event in ("done", "error"):
                answer = json.loads(value)
    if event != "done":
        sys.exit(f"error: {answer.get('message', 'the server gave no answer')}")
    if answer["abstained"]:
        print(answer["answer"])
    for cited in answer["citations"]:
        page = f", p. {cited['page_start']}" if cited["page_start"] else ""
        print(f"  [{cited['marker']}] {cited['title']}{page}: {cited['quote']}")
    note(abstained=answer["abstained"], citations=len(answer["citations"]), first=first,
         seconds=time.monotonic() - began)  # fmt: skip
    return answer["conversation_id"], answer["trace_id"]


def note(**values: object) -> None:
    with METRICS.open("a") as file:
        file.write(json.dumps({"at": time.time()} | values) + "\n")


def report() -> None:
    lines = [json.loads(line) for line in METRICS.read_text().splitlines()]
    answers = [line for line in lines if "seconds" in line]
    words = [line["feedback"] for line in lines if "feedback" in line]
    known = [line for line in answers if not line["abstained"]]
    print(f"{len(answers)} answers, {len(answers) - len(known)} without one in the documents")
    if answers:
        print(f"median {statistics.median(a['seconds'] for a in answers):.2f} s to the end")
    if known:
        print(f"{statistics.mean(a['citations'] for a in known):.1f} citations an answer")
    print(f"thumbs: {words.count('up')} up, {words.count('down')} down")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["bring", folder]:
            bring(Path(folder))
        case ["chat"]:
            chat()
        case ["report"]:
            report()
        case _:
            sys.exit(__doc__)
