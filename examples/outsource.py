"""Two parties: a bank that may not show its applicants, and a consultancy that finds the best of them.

The bank (curator) publishes a noisy table once and answers for single rows; the consultancy (modeler) sees the table
and the answers. Here both are in one script, with a real local service between them. Made-up applicants stand in.
"""

import socket
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import uvicorn

import tacit
from tacit.outsource.curator.app import create_app
from tacit.outsource.curator.tokens import Tokens
from tacit.outsource.modeler import Prior
from tacit.outsource.modeler.client import Client

rng = np.random.default_rng(0)
applicants = np.column_stack([rng.uniform(1, 35, 2000), rng.uniform(5, 25, 2000)])  # amount in thousands, rate in %
returns = np.exp(-0.5 * (((applicants[:, 0] - 22) / 5) ** 2 + ((applicants[:, 1] - 18) / 2.5) ** 2))


def bank(folder: Path, ledger: tacit.Ledger) -> tuple[tacit.Curator, str, str]:
    """The curator: publishes under epsilon 2, serves on this machine, gives the consultancy a token."""
    curator = tacit.Curator(
        applicants,
        returns,
        epsilon=2.0,
        delta=1e-5,
        scale=(1.0, 0.5),
        queries=40,
        state=folder / "state",
        ledger=ledger,
    )
    tokens = Tokens(folder / "state")
    token = tokens.grant("consultancy")
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    app = create_app(curator, tokens)
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True).start()
    while not server.started:
        time.sleep(0.01)
    return curator, f"http://127.0.0.1:{listening.getsockname()[1]}", token


def consultancy(url: str, token: str) -> None:
    """The modeler: knows the address, its token, and how quickly returns change (6 scaled units)."""
    with Client(url, token=token) as client:
        terms = client.published()
        print(f"The consultancy got {terms.rows} rows, each number with noise of {terms.noise:.2f}.")
        found = tacit.Modeler(client, prior=Prior(lengthscale=6.0, variance=0.1)).run(40)
    best, at_random = returns.max(), np.mean([rng.choice(returns, 40).max() for _ in range(1000)])
    print(f"Best of {found.trials} asked: applicant {found.row} with {found.value:.3f} of {best:.3f} possible;")
    print(f"the best of 40 at random has {at_random:.3f} on average.")
    print(f"What the consultancy saw: {found.guarantee}")


def main() -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        ledger = tacit.Ledger.open(folder / "ledger.db", "applicants", tacit.Budget.approximate(2.0, 1e-5))
        curator, url, token = bank(folder, ledger)
        print(f"The bank published: {curator.published().guarantee}")
        consultancy(url, token)
        used = curator.status()
        print(f"The bank answered {used['used']} queries, {used['left']} left; budget left: {used['budget_left']}.")
        curator.close()


if __name__ == "__main__":
    main()
