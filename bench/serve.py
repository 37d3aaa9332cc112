"""A soak of `nbtext serve`: clients, corrections, promoted models and a kill meanwhile.

    python bench/serve.py [--seconds 120] [--clients 50]

It ends with status 1 if a request failed, a confirmed correction is lost, a line of the file is not whole, a promoted model
was not used within a second, or the memory grew. It needs the corpus of this repository only.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
DESK = REPOSITORY / "corpora" / "service-desk"
WARM_UP_SECONDS = 20.0
MAX_GROWTH_MIB = 24.0


class Connection(http.client.HTTPConnection):
    """A connection to the socket of the service."""

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(60)
        self.sock.connect("socket")


class Soak:
    """What the clients count."""

    def __init__(self, texts: list[bytes]) -> None:
        self.texts = texts
        self.may_ask = threading.Event()
        self.has_ended = threading.Event()
        self.idle = threading.Semaphore(0)
        self.failures: list[str] = []
        self.seconds: list[float] = []
        self.confirmed: set[str] = set()
        self.n_cut = 0

    def run_client(self, number: int) -> None:
        """Send requests until the end; after a kill, wait until the service is there again."""
        turn = number
        while not self.has_ended.is_set():
            self.may_ask.wait()
            turn += 1
            try:
                self.ask(number, turn)
            except (OSError, http.client.HTTPException) as problem:
                if self.may_ask.is_set() and not self.has_ended.is_set():
                    self.failures.append(repr(problem))
                else:
                    self.n_cut += 1

    def ask(self, number: int, turn: int) -> None:
        text = self.texts[turn % len(self.texts)]
        name = f"{number}-{turn}"
        path, body, kind = "/classify", text, "text/plain"
        if turn % 5 == 0:
            path = "/filter"
        elif turn % 7 == 0:
            path = "/explain"
        elif turn % 4 == 0:
            record = {"id": name, "text": text.decode(), "label": "waste-collection"}
            path, body, kind = "/correct", json.dumps(record).encode(), "application/json"
        connection = Connection("localhost")
        start = time.perf_counter()
        try:
            connection.request("POST", path, body, {"Content-Type": kind})
            reply = connection.getresponse()
            content = reply.read()
        finally:
            connection.close()
        self.seconds.append(time.perf_counter() - start)
        if reply.status != 200 or (path == "/filter" and b"reason=error" in content):
            self.failures.append(f"{path} {reply.status} {content[:80]!r}")
        elif path == "/correct":
            self.confirmed.add(name)


def start(log: Path) -> subprocess.Popen[bytes]:
    """Start the service, and wait until it listens."""
    with log.open("ab") as file:
        service = subprocess.Popen(
            [sys.executable, "-m", "nbtext", "serve", "--socket", "socket", "-m", "model", "--corrections", "corrections"],
            stderr=file,
        )  # fmt: skip
    n_before = log.read_bytes().count(b"listening")
    while log.read_bytes().count(b"listening") == n_before and service.poll() is None:
        time.sleep(0.01)
    return service


def measure_memory(process: int) -> float:
    """Return the resident memory of a process in MiB."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def promote(name: str) -> float:
    """Promote a copy of a model, and return the seconds until the service uses it."""
    shutil.copy(name, "new")
    wanted = subprocess.run(
        [sys.executable, "-c", "import sys; from nbtext import TextClassifier; print(TextClassifier.load(sys.argv[1]).fitted.fingerprint)", name],
        check=True, capture_output=True, text=True,
    ).stdout.strip()  # fmt: skip
    subprocess.run([sys.executable, "-m", "nbtext", "promote", "new", "-m", "model"], check=True)
    start_time = time.perf_counter()
    while time.perf_counter() - start_time < 60:
        connection = Connection("localhost")
        connection.request("GET", "/health")
        model = json.loads(connection.getresponse().read())["model"]
        connection.close()
        if model == wanted:
            break
        time.sleep(0.02)
    return time.perf_counter() - start_time


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--seconds", type=float, default=120)
    arguments.add_argument("--clients", type=int, default=50)
    options = arguments.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="nbtext-soak-"))
    os.environ["PYTHONPATH"] = str(REPOSITORY)
    os.chdir(folder)
    for name, further in (("first", []), ("second", ["--ngrams", "2"])):
        train = [sys.executable, "-m", "nbtext", "train", DESK / "train", "-q", "-m", name]
        subprocess.run([*train, *further], check=True)
    shutil.copy("first", "model")
    soak = Soak(
        [path.read_bytes() for path in sorted((DESK / "test").rglob("*")) if path.is_file()]
    )
    service = start(folder / "log")
    soak.may_ask.set()
    clients = [
        threading.Thread(target=soak.run_client, args=(number,), daemon=True)
        for number in range(options.clients)
    ]
    for client in clients:
        client.start()
    begin = time.monotonic()
    promotions, memory, kills = [], [], 0
    while (passed := time.monotonic() - begin) < options.seconds:
        time.sleep(5)
        promotions.append(promote("second" if len(promotions) % 2 == 0 else "first"))
        if (
            passed > WARM_UP_SECONDS
            and passed < options.seconds / 2 + WARM_UP_SECONDS
            and kills == 0
        ):
            soak.may_ask.clear()
            service.send_signal(signal.SIGKILL)
            service.wait()
            kills += 1
            service = start(folder / "log")
            warm_at = time.monotonic() - begin + WARM_UP_SECONDS
            soak.may_ask.set()
        elif kills and passed > warm_at:
            memory.append(measure_memory(service.pid))
    soak.has_ended.set()
    for client in clients:
        client.join()
    service.terminate()
    status = service.wait()
    lines = (folder / "corrections").read_bytes().splitlines()
    stored = {json.loads(line)["id"] for line in lines}
    lost = soak.confirmed - stored
    growth = memory[-1] - memory[0] if memory else 0.0
    log = (folder / "log").read_text(encoding="utf-8")
    print(
        f"{len(soak.seconds):,} requests by {options.clients} clients in {options.seconds:.0f} s, "
        f"median {1000 * statistics.median(soak.seconds):.0f} ms; failures {len(soak.failures)}, cut off by the kill {soak.n_cut}; "
        f"corrections {len(soak.confirmed):,} confirmed, {len(lost)} lost; {len(promotions)} promotions, "
        f"the slowest used after {max(promotions):.2f} s; memory {memory[0] if memory else 0:.0f} MiB, grown by {growth:.1f} MiB ({', '.join(f'{each:.0f}' for each in memory)}); "
        f"exit status {status}"
    )
    for failure in soak.failures[:5]:
        print(failure)
    is_prompt = max(promotions) < 1
    is_good = (
        is_prompt and not soak.failures and not lost and status == 0 and "Traceback" not in log
    )
    shutil.rmtree(folder)
    return 0 if is_good and growth < MAX_GROWTH_MIB else 1


if __name__ == "__main__":
    sys.exit(main())
