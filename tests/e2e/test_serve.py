"""Does the server start, serve, stop and refuse as a person expects?"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from vademecum.testing.openai_server import OpenAIServer, Reply

START = "from vademecum.cli.main import run; run()"
RULES = "# Cameras\n\nCameras with a lens of at most 200 mm are allowed in Hall Norte.\n"


@dataclass(frozen=True, kw_only=True)
class Server:
    """A running `vade serve`."""

    process: subprocess.Popen[str]
    url: str
    home: Path

    def client(self, key: str | None = None) -> httpx.Client:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return httpx.Client(base_url=self.url, headers=headers, timeout=60)

    @property
    def admin_key(self) -> str:
        return (self.home / "admin.key").read_text().strip()

    def stop(self, seconds: float = 40) -> str:
        """Stop it as a service manager does, and return what it wrote to stderr."""
        self.process.send_signal(signal.SIGTERM)
        _, told = self.process.communicate(timeout=seconds)
        return told


@contextmanager
def serving(home: Path, *arguments: str, **environment: str) -> Iterator[Server]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("VADE_", "DATABASE_", "OPENAI_"))
    }
    process = subprocess.Popen(
        [sys.executable, "-c", START, "serve", "--port", "0", "--json", *arguments],
        env=inherited | {"VADE_HOME": str(home)} | environment,
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, process.stderr.read() if process.stderr else ""
        yield Server(process=process, url=json.loads(line)["url"], home=home)
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()


def test_it_starts_makes_one_key_serves_and_stops(vade: Any) -> None:
    with serving(vade.home) as server:
        assert (vade.home / "admin.key").stat().st_mode & 0o777 == 0o600
        key = server.admin_key
        with server.client(key) as client:
            assert client.get("/health/live").json() == {"live": True}
            assert client.get("/health/ready").json()["ready"] is True
            brought = client.post(
                "/api/v1/documents", json={"uri": "rules.md", "text": RULES, "wait": True}
            )
            assert brought.json()["documents"][0]["status"] == "ready"
            answer = client.post("/api/v1/ask", json={"question": "Which cameras are allowed?"})
            assert "200 mm" in answer.json()["answer"]
        told = server.stop()
    assert server.process.returncode == 0
    assert key not in told
    assert "Traceback" not in told
    with serving(vade.home) as again:
        assert again.admin_key == key, "one key, however often it starts"
        with again.client(key) as client:
            assert client.get("/api/v1/me").json()["scope"]["operator"] is True


def test_keys_from_the_command_line(vade: Any) -> None:
    made = vade.json("keys", "create", "--principal", "reader", "--label", "group:staff")
    listed = vade.json("keys", "list")["keys"]
    assert made["key"].startswith("vade_")
    assert next(k for k in listed if k["id"] == made["id"])["scopes"] == ["memory", "read"]
    with serving(vade.home) as server, server.client(made["key"]) as client:
        me = client.get("/api/v1/me").json()
        assert me["scope"]["labels"] == ["group:staff", "tenant", "user:reader"]
        assert vade.json("keys", "revoke", made["id"])["revoked_at"]
        assert client.get("/api/v1/me").status_code == 401, "at once, in a process that runs"
    vade.fails("keys", "revoke", "x", status=2, code="usage")
    unknown = made["id"][:-1] + ("1" if made["id"].endswith("0") else "0")
    vade.fails("keys", "revoke", unknown, status=3, code="key-not-found")
    vade.fails("keys", "create", "--principal", "x", "--scope", "root", status=2, code="usage")


def test_an_open_address_without_a_key_is_refused(empty_vade: Any, prepared: Path) -> None:
    (empty_vade.home / "models").symlink_to(prepared)
    result = empty_vade("serve", "--host", "0.0.0.0", "--port", "0")
    assert result.returncode == 4
    last = result.stderr.strip().splitlines()[-1]
    assert last.endswith("[forbidden]")
    assert "vade keys create" in last
    assert not (empty_vade.home / "admin.key").exists()


@pytest.mark.slow
def test_a_port_that_is_taken_is_said(vade: Any) -> None:
    with serving(vade.home) as server:
        port = server.url.rpartition(":")[2]
        line = vade.fails("serve", "--port", port, status=5, code="service-away")
    assert port in line


def test_a_stop_gives_every_stream_its_end(vade: Any) -> None:
    """L13: within the grace an answer ends by itself, or with an error of its own."""
    pieces = ("Cameras with a lens of at most 200 mm are allowed in Hall Norte [1]. ", "And ")
    asked = {"question": "Which cameras are allowed in Hall Norte?", "stream": True}
    with OpenAIServer([Reply(pieces=pieces * 50, stall=0.5)]) as provider:
        environment = {
            "VADE_MODELS__LANGUAGE": "openai:a-model",
            "OPENAI_BASE_URL": provider.base_url,
            "OPENAI_API_KEY": "sk-canary",
            "VADE_SERVER__GRACE_SECONDS": "1",
        }
        with serving(vade.home, **environment) as server:
            lines: list[str] = []
            begun = threading.Event()

            def read() -> None:
                with (
                    server.client(server.admin_key) as client,
                    client.stream("POST", "/api/v1/ask", json=asked) as answer,
                ):
                    for line in answer.iter_lines():
                        lines.append(line)
                        begun.set()

            reading = threading.Thread(target=read)
            reading.start()
            assert begun.wait(20)
            told = server.stop()
            reading.join(10)
    assert server.process.returncode == 0
    names = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
    assert names[-1] in ("done", "error")
    assert sum(name in ("done", "error") for name in names) == 1
    assert "sk-canary" not in told


def test_a_large_upload_holds_up_nobody(vade: Any, tmp_path: Path) -> None:
    """SE-04: health is quick, and a search goes on, while 50 MB are taken in and parsed."""
    line = "Locker {n} of hall {h} stands at gate {g}, and opens with code {c}.\n"
    text = "".join(
        line.format(n=n, h=n % 7, g=n % 11, c=(n * 7919) % 9973) for n in range(60_000)
    ).encode()
    # Text is read up to its limit; what matters here is that bytes and parsing hold up nobody.
    content = (text * (50 * 2**20 // len(text) + 1))[: 50 * 2**20]
    with serving(vade.home) as server, server.client(server.admin_key) as client:
        idle = [_timed(client) for _ in range(20)]
        done = threading.Event()
        status: list[int] = []

        def upload() -> None:
            with server.client(server.admin_key) as other:
                files = {"file": ("lockers.txt", content)}
                answer = other.post("/api/v1/uploads", files=files, data={"wait": "false"})
                status.append(answer.status_code)
            done.set()

        thread = threading.Thread(target=upload)
        thread.start()
        busy = []
        deadline = time.monotonic() + 20
        while not done.is_set() or time.monotonic() < deadline - 12:
            busy.append(_timed(client))
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
        thread.join(60)
        assert status == [202]
        found = client.post("/api/v1/search", json={"query": "cameras"})
        assert found.status_code == 200
    busy.sort()
    print(f"health: idle {max(idle):.3f} s at most, busy p99 {busy[int(len(busy) * 0.99)]:.3f} s")
    # A machine that others use gives no sharp bound: a loop that is held up shows in seconds.
    assert busy[int(len(busy) * 0.9)] < 1.0


def _timed(client: httpx.Client) -> float:
    began = time.monotonic()
    assert client.get("/health/live").status_code == 200
    return time.monotonic() - began


@pytest.mark.slow
def test_without_a_worker_nothing_is_worked_on(vade: Any) -> None:
    with serving(vade.home, "--no-worker") as server, server.client(server.admin_key) as client:
        brought = client.post("/api/v1/documents", json={"uri": "w.md", "text": "A lift."}).json()
        one = f"/api/v1/documents/{brought['documents'][0]['id']}"
        time.sleep(3)
        assert client.get(one).json()["status"] == "accepted"
        server.process.kill()  # as hard as that: the next one takes it up
        server.process.communicate()
    with serving(vade.home) as server, server.client(server.admin_key) as client:
        for _ in range(100):
            if client.get(one).json()["status"] == "ready":
                break
            time.sleep(0.2)
        assert client.get(one).json()["status"] == "ready"


def test_the_weekend_assistant(vade: Any, tmp_path: Path) -> None:
    """The example in under a hundred lines: bring, chat with feedback, report."""
    script = Path(__file__).parents[2] / "examples" / "weekend" / "assistant.py"
    assert len(script.read_text().splitlines()) < 100
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "hall.md").write_text("# Hall Leste\n\nHall Leste opens at 19:30.\n")
    with serving(vade.home) as server:

        def run(*words: str, said: str = "") -> str:
            ended = subprocess.run(
                [sys.executable, str(script), *words],
                env=dict(os.environ)
                | {"VADE_URL": server.url, "VADE_KEY": server.admin_key}
                | {"METRICS": str(tmp_path / "metrics.jsonl")},
                input=said,
                capture_output=True,
                text=True,
                check=True,
                timeout=120,
            )
            return ended.stdout

        assert "ready  hall.md" in run("bring", str(folder))
        told = run("chat", said="When does Hall Leste open?\n+\nWho won the world cup?\n-\n")
        assert "Hall Leste opens at 19:30." in told
        assert "[1] Hall Leste: Hall Leste opens at 19:30." in told
        report = run("report")
    assert "2 answers, 1 without one in the documents" in report
    assert "thumbs: 1 up, 1 down" in report


def test_se_05_it_starts_without_a_network(empty_vade: Any) -> None:
    """SE-05: no route out, over an empty data folder and then over a filled one."""
    allowed = subprocess.run(["unshare", "--net", "true"], capture_output=True, check=False)
    if allowed.returncode:
        pytest.skip("this machine allows no network of one's own")
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("VADE_", "DATABASE_", "OPENAI_"))
    }
    for most_seconds in (60, 20):
        ended = subprocess.run(
            ["unshare", "--net", sys.executable, str(Path(__file__).parent / "offline.py"),
             str(empty_vade.home)],
            env=inherited | {"VADE_HOME": str(empty_vade.home)},
            capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        assert ended.returncode == 0, ended.stderr
        told = json.loads(ended.stdout)
        assert told["started"], told["told"]
        assert told["routes"] == 0
        assert told["brought"] in ("ready", "unchanged")
        assert "Lift 4" in told["answer"]
        assert (told["page"], told["status"]) == (200, 0)
        assert told["seconds"] < most_seconds
