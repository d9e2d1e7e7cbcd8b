"""A ledger behind a real PgBouncer: no charge rests on what is set, planned or locked for a session."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import sqlalchemy as sa
from pgbouncer_server import Pooler, binary
from postgres_server import Server

from tacit.errors import BudgetRefused, LedgerError, StateError
from tacit.outsource.curator.state import State
from tacit.privacy.guarantee import Budget, Guarantee
from tacit.privacy.ledger import Ledger

pytestmark = pytest.mark.postgres
PIECE = Guarantee(Budget.pure(0.01))


@pytest.fixture(params=["transaction", "session"])
def pooled(request: pytest.FixtureRequest, postgres: Server, postgres_url: str) -> Iterator[str]:
    yield from through(postgres, postgres_url, request.param)


@pytest.fixture
def shared(postgres: Server, postgres_url: str) -> Iterator[str]:
    yield from through(postgres, postgres_url, "transaction")


def through(server: Server, url: str, mode: str, **options: Any) -> Iterator[str]:
    if binary() is None:
        pytest.skip("needs pgbouncer (Debian: apt install pgbouncer)")
    pooler = Pooler(server, mode, **options)
    try:
        yield pooler.url(url)
    finally:
        pooler.remove()


def spend_all(url: str) -> int:
    """Charge until the budget is used up; how many charges were acknowledged."""
    done = 0
    with Ledger.open(url, "icu") as ledger:
        while True:
            try:
                ledger.charge(PIECE)
            except BudgetRefused:
                return done
            done += 1


def test_more_clients_than_connections_spend_a_budget_once(shared: str, postgres_url: str) -> None:
    Ledger.open(shared, "icu", Budget.pure(1.0)).close()
    with ThreadPoolExecutor(8) as lanes:
        done = sum(lanes.map(spend_all, [shared] * 7 + [postgres_url]))
    with Ledger.open(postgres_url, "icu") as ledger:
        assert done == len(ledger.entries()) == 100
        ledger.verify()


def test_every_verb_of_a_ledger_works_through_it(pooled: str, postgres_url: str) -> None:
    with Ledger.open(pooled, "icu", Budget.pure(1.0)) as ledger:
        payment = ledger.charge(PIECE, "a 'quoted' purpose: 100% {of} it \\ \u00e9", key="a key")
        assert ledger.charge(PIECE, key="a key") == payment
        draws = ledger.draws(payment)
        draws.open("here", {})
        draws.name({"row 1": "a" * 64}, 1, dict)
        ledger.settle(payment, "b" * 64)
        ledger.verify()
        with Ledger.open(postgres_url, "icu") as direct:
            assert direct.export() == ledger.export()


def test_nothing_is_left_for_whoever_has_the_connection_next(shared: str) -> None:
    asked = (
        "SELECT current_setting('synchronous_commit'), current_setting('lock_timeout'), "
        "current_setting('enable_seqscan'), (SELECT count(*) FROM pg_prepared_statements), "
        "(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory')"
    )
    with Ledger.open(shared, "icu", Budget.pure(1.0)) as ledger:
        ledger.charge(PIECE)
        State(shared, "s").close()
    other = sa.create_engine(shared.replace("postgresql:", "postgresql+psycopg:"), poolclass=sa.NullPool)
    for _ in range(3):
        with other.connect() as connection:
            assert connection.exec_driver_sql(asked).one() == ("on", "0", "on", 0, 0)


def test_one_curator_holds_a_study_and_leaves_it_when_it_ends(pooled: str) -> None:
    for _ in range(3):  # a session's lock would be left with the connection, or had twice by it
        state = State(pooled, "s")
        with pytest.raises(StateError, match="another curator holds study 's'"):
            State(pooled, "s")
        state.close()


def test_a_pooler_that_ends_every_statement_is_refused_in_words(postgres: Server, postgres_url: str) -> None:
    for url in through(postgres, postgres_url, "statement"):
        with pytest.raises(LedgerError, match=r"statement pooling mode.*pool_mode = transaction or session"):
            Ledger.open(url, "icu", Budget.pure(1.0))
