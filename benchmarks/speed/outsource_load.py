"""The curator's service under load on loopback, and a table of a million rows published and fetched.

The service is a process of its own (`tacit curator serve`, SQLite state); modelers are threads of this one, each with a
connection and a token of its own. They speak plain HTTP from the standard library: a third of a millisecond of
processor time for a query, against a millisecond and more of a full client, which would measure itself. Every answer
is checked against the truth, and the log against what was asked. 3,000 queries a repeat; the whole takes four minutes.
"""

from __future__ import annotations

import http.client
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path

import numpy as np

from benchmarks import Figure, Missing
from tacit.outsource.curator.state import State
from tacit.outsource.curator.tokens import Tokens

TITLE = "The curator's service: 50 modelers at once; a table of 1,000,000 x 10"
LONG = True
REPEATS = 1

MODELERS, QUERIES = 50, 60
TABLES, COLUMNS = (50_000, 1_000_000), 10
TACIT = [sys.executable, "-c", "from tacit.cli import main; main()"]


def run(repeats: int) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        figures = load(Path(folder), min(repeats, 3))
    for n in TABLES:
        with tempfile.TemporaryDirectory() as folder:
            figures += table(Path(folder), n)
    few, many = (next(f.value for f in figures if f.name == f"{_size(n)}: memory that publishing took") for n in TABLES)
    name = f"{_size(TABLES[1])}: memory that publishing took, over that of {_size(TABLES[0])}"
    figures.append(Figure(name, many / few, "x", against="goal 1.1", goal=1.1, better="less"))
    return figures


def load(folder: Path, repeats: int) -> list[Figure]:
    import pandas as pd

    rng = np.random.default_rng(0)
    n = MODELERS * QUERIES * repeats
    values = rng.normal(size=n)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "answer": values})
    frame.to_csv(folder / "rows.csv", index=False, float_format="%.17g")
    state = folder / "state"
    tokens = Tokens(state, environment="")
    held = [tokens.grant(f"modeler-{i}") for i in range(MODELERS)]
    words = ["--evaluate", "answer", "--epsilon", "3", "--delta", "1e-6", "--state", str(state), "--port", "0"]
    words += ["--queries", str(n), "--rate-limit", "100000", "--scale", "1"]
    service = subprocess.Popen(
        [*TACIT, "curator", "serve", str(folder / "rows.csv"), *words],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        assert service.stdout is not None
        url = service.stdout.readline().strip()
        if not url:
            raise Missing("the curator's service did not start: pip install 'tacit[service]'")
        speeds, waits, wrong = [], [], 0
        for turn in range(repeats):
            seconds, each, bad = _round(url, held, values, turn)
            speeds.append(MODELERS * QUERIES / seconds)
            waits += each
            wrong += bad
    finally:
        service.terminate()
        service.wait(30)
    log, _ = State(state, "study", hold=False).load()
    doubled = len(log) - len({e.row for e in log})
    median, worst = 1e3 * statistics.median(waits), 1e3 * float(np.quantile(waits, 0.99))
    return [
        Figure(f"{MODELERS} modelers at once", statistics.median(speeds), "queries/s", min(speeds), max(speeds),
               note=f"{len(waits)} queries, each committed to disk before it is told"),
        Figure("wait for an answer, 99th percentile", worst, "ms", note=f"median {median:.0f} ms"),
        Figure("answers that were wrong or lost", wrong + n - len(log), "", against="goal 0"),
        Figure("rows answered or logged twice", doubled, "", against="goal 0"),
    ]  # fmt: skip


def _round(url: str, held: list[str], values: np.ndarray, turn: int) -> tuple[float, list[float], int]:
    waits: list[float] = []
    wrong: list[int] = []
    gate = threading.Barrier(len(held) + 1)

    def ask(number: int, token: str) -> None:
        connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=60)
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        connection.connect()
        gate.wait()
        first = (turn * len(held) + number) * QUERIES
        for row in range(first, first + QUERIES):
            start = time.perf_counter()
            connection.request(
                "POST", "/v1/queries", json.dumps({"request": str(uuid.uuid4()), "rows": [row]}), headers
            )
            answer = connection.getresponse()
            told = json.loads(answer.read())
            waits.append(time.perf_counter() - start)
            if answer.status != 200 or told["answers"] != [{"row": row, "value": values[row]}]:
                wrong.append(row)
        connection.close()

    threads = [threading.Thread(target=ask, args=pair) for pair in enumerate(held)]
    for thread in threads:
        thread.start()
    gate.wait()
    start = time.perf_counter()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start, waits, len(wrong)


WATCH = """
import threading, time
def anonymous():
    with open("/proc/self/status") as f:
        return next(int(line.split()[1]) for line in f if line.startswith("RssAnon")) / 1024
peak = [0.0]
def watch():
    while True:
        peak[0] = max(peak[0], anonymous()); time.sleep(0.02)
threading.Thread(target=watch, daemon=True).start()
"""

SERVE = (
    WATCH
    + """
import sys, numpy as np
from tacit.outsource.curator import Curator
from tacit.outsource.curator.server import serve
from tacit.outsource.curator.tokens import Tokens
from tacit.privacy.noise import EXACT
EXACT.gaussian(np.zeros(10), 1.0)  # whatever the table
folder = sys.argv[1]
rows = np.load(folder + "/rows.npy", mmap_mode="r")
answers = np.zeros(len(rows))
tokens = Tokens(folder + "/tokens", environment="")
before, start = anonymous(), time.perf_counter()
curator = Curator(rows, answers, epsilon=3.0, delta=1e-7, state=folder + "/state")
print(time.perf_counter() - start, peak[0] - before, flush=True)
before = peak[0] = anonymous()
serve(curator, tokens, port=0, ready=lambda url, page: print(url, flush=True))
print(peak[0] - before, flush=True)
"""
)

FETCH = (
    WATCH
    + """
import sys, numpy as np
from tacit.outsource.modeler.client import Client
folder, url, token = sys.argv[1:]
client = Client(url, token=token, file=folder + "/table.npy")
client.published()
before, start = anonymous(), time.perf_counter()
table = client.table()
print(time.perf_counter() - start, peak[0] - before, len(table))
"""
)


def _size(n: int) -> str:
    return f"{n:,} x {COLUMNS}"


def table(folder: Path, n: int) -> list[Figure]:
    """Publish and fetch, each in a process that watches its own memory; rows and table are files mapped to memory."""
    rows = np.lib.format.open_memmap(folder / "rows.npy", "w+", dtype=np.float64, shape=(n, COLUMNS))
    rng = np.random.default_rng(0)
    for part in np.array_split(rows, 10):
        part[:] = rng.normal(size=part.shape)
    rows.flush()
    token = Tokens(folder, environment="").grant("modeler")
    curator = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(folder)], stdout=subprocess.PIPE, text=True, env=os.environ
    )
    assert curator.stdout is not None
    published, grew = map(float, curator.stdout.readline().split())
    url = curator.stdout.readline().strip()
    fetched = subprocess.run(
        [sys.executable, "-c", FETCH, str(folder), url, token], capture_output=True, text=True, check=True
    ).stdout.split()
    curator.terminate()
    served = float(curator.stdout.read().split()[-1])
    curator.wait(60)
    name = _size(n)
    size = f"the table has {n * COLUMNS * 4 / 1e6:.0f} MB, the rows {n * COLUMNS * 8 / 1e6:.0f} MB, both in files"
    return [
        Figure(f"{name}: published", published, "s", note="exact noise, one process"),
        Figure(f"{name}: memory that publishing took", grew, "MB", note=size),
        Figure(f"{name}: fetched on loopback", float(fetched[0]), "s", note=f"{fetched[2]} rows, checked"),
        Figure(f"{name}: memory that fetching took", float(fetched[1]), "MB"),
        Figure(f"{name}: memory that serving took", served, "MB"),
    ]
