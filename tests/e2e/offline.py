"""Serves, asks and stops where there is no network but this machine's own, and says how it went.

    unshare --net python offline.py HOME

Run inside a new network namespace: even the loopback is down there until it is told otherwise.
"""

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

import httpx

_START = "from vademecum.cli.main import run; run()"
_SIOCSIFFLAGS, _UP = 0x8914, 0x1


def main() -> None:
    home = Path(sys.argv[1])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
        fcntl.ioctl(control, _SIOCSIFFLAGS, struct.pack("16sH14x", b"lo", _UP))
    began = time.monotonic()
    server = subprocess.Popen(
        [sys.executable, "-c", _START, "serve", "--port", "0", "--json"],
        cwd=home, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdout is not None
    line = server.stdout.readline()
    if not line:
        print(json.dumps({"started": False, "told": server.communicate()[1]}))
        return
    started = time.monotonic() - began
    key = (home / "admin.key").read_text().strip()
    headers = {"Authorization": f"Bearer {key}"}
    with httpx.Client(base_url=json.loads(line)["url"], headers=headers, timeout=120) as client:
        body = {"uri": "lift.md", "text": "Lift 4 goes to sector C.", "wait": True}
        brought = client.post("/api/v1/documents", json=body).json()
        answer = client.post("/api/v1/ask", json={"question": "Which lift goes to sector C?"})
        page = client.get("/sign-in").status_code
    server.send_signal(signal.SIGTERM)
    _, told = server.communicate(timeout=60)
    print(
        json.dumps(
            {
                "started": True,
                "seconds": started,
                "brought": brought["documents"][0]["status"],
                "answer": answer.json()["answer"],
                "page": page,
                "status": server.returncode,
                "told": told,
                "routes": Path("/proc/net/route").read_text().count("\n") - 1,
                "pid": os.getpid(),
            }
        )
    )


if __name__ == "__main__":
    main()
