"""What a kept connection saves: the time to the first token and the time of a whole turn, over TLS on this machine.

Prints the median milliseconds of many calls of one model, first with a new connection for each call, as it was before
connections were kept, then with one that is kept. The host runs in another process. A round trip on this machine takes
almost no time; with a real host, a new connection costs two or three more of them.
"""

from __future__ import annotations

import multiprocessing
import ssl
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from loopback import Loopback, completion, cut, parts

from agentkit import Agent
from agentkit.core.messages import Chat
from agentkit.models import dialects
from agentkit.models.base import Request
from agentkit.models.openai import OpenAI
from agentkit.models.transport import clients

CALLS = 200
ASKED = Request(Chat.of("q"), dialects.get("native"))


def certificate(folder: str) -> tuple[str, str]:
    """Return the files of a new certificate for this machine, and of its key."""
    cert, key = f"{folder}/cert.pem", f"{folder}/key.pem"
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-keyout", key, "-out", cert]
    subprocess.run([*new, *names], check=True, capture_output=True)
    return cert, key


def serve(cert: str, key: str, told: Any) -> None:
    """Answer every request with a short stream, over TLS."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(cert, key)
    with Loopback([parts(cut(completion("some words"), 200))], keeps=True, tls=tls) as host:
        told.send(host.url)
        told.recv()
        told.send(host.connections)


def measure(url: str) -> tuple[float, float, float]:
    """Return the median milliseconds to the first chunk, of a whole call, and of a whole run with one turn."""
    model, first, whole, turns = OpenAI("m", base_url=url), [], [], []
    agent = Agent(model, journal=None)
    for _ in range(CALLS):
        began = time.perf_counter()
        chunks = iter(model(ASKED))
        next(chunks)
        first.append(time.perf_counter() - began)
        for _ in chunks:
            pass
        whole.append(time.perf_counter() - began)
    for _ in range(CALLS):
        began = time.perf_counter()
        assert agent.run("q").answer == "some words"
        turns.append(time.perf_counter() - began)
    return tuple(statistics.median(times) * 1000 for times in (first, whole, turns))  # type: ignore[return-value]


def main() -> None:
    own = clients.shared_settings
    with tempfile.TemporaryDirectory() as folder:
        cert, key = certificate(folder)
        trusting = ssl.create_default_context(cafile=cert)
        clients.shared_settings = lambda: {**own(), "verify": trusting}  # this machine has no certificate of its own
        print(f"median of {CALLS} calls, in milliseconds   first token   whole call   run of one turn   connections")
        for name, kept in (("a connection for each call", 0), ("kept connections", clients.MAX_KEPT)):
            clients.close_kept()
            clients.MAX_KEPT = kept
            told, other = multiprocessing.Pipe()
            host = multiprocessing.get_context("fork").Process(target=serve, args=(cert, key, other), daemon=True)
            host.start()
            first, whole, turn = measure(told.recv())
            told.send("done")
            print(f"{name:<38} {first:14.2f} {whole:12.2f} {turn:17.2f} {told.recv():13}")


if __name__ == "__main__":
    main()
