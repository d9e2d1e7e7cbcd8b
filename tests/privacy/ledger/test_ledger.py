from __future__ import annotations

import copy
import json
import os
import pickle
import sqlite3
import subprocess
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from tacit.errors import BadInput, BudgetRefused, GuaranteeError, LedgerError, MissingExtra
from tacit.privacy.guarantee import RECORD, Budget, Guarantee
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger.chain import sha256
from tacit.privacy.ledger.store import Database
from tacit.privacy.release import Payment, Release, digest
from tacit.privacy.units import SAME_RECORDS

HALF = Guarantee(Budget.pure(0.5), assumptions=("the bounds are public",))


@pytest.fixture
def ledger(ledger_url: str) -> Ledger:
    return Ledger.open(ledger_url, "icu", Budget.pure(1.0), description="ICU stays")


def run(url: str, *statements: str) -> None:
    """Change a ledger's database behind its back."""
    store = Database(url)
    with store.writing() as connection:
        for statement in statements:
            connection.execute(sa.text(statement))
    store.close()


def test_a_charge_is_debited_and_named_by_its_payment(ledger: Ledger) -> None:
    payment = ledger.charge(HALF, "mean length of stay")
    entry = ledger.pays(payment)
    assert (payment.ledger, payment.name, payment.entry, payment.hash) == (ledger.id, "icu", 1, entry.hash)
    assert (entry.kind, entry.purpose, entry.guarantee) == ("charge", "mean length of stay", HALF)
    assert ledger.remaining() == Budget.pure(0.5)
    assert ledger.payment(1) == payment
    ledger.verify()


def test_no_time_is_kept_to_the_microsecond(ledger: Ledger) -> None:
    """How long a draw takes tells of the size of its noise, by microseconds; the ledger notes its beginning and end."""
    ledger.settle(ledger.charge(HALF, "mean length of stay"), "0" * 64)
    assert all(len(e.time) == len("2026-01-01T00:00:00.000+00:00") for e in ledger.entries())


def test_a_charge_over_budget_is_refused_and_nothing_is_written(ledger: Ledger) -> None:
    ledger.charge(Guarantee(Budget.pure(0.7)))
    with pytest.raises(BudgetRefused) as refusal:
        ledger.charge(HALF)
    assert str(refusal.value) == (
        "This release needs epsilon 0.5; ledger 'icu' has 0.3 of 1 left, enough for a pool at epsilon 0.3. "
        "Nothing was released."
    )
    assert [e.kind for e in ledger.entries()] == ["charge"]
    assert not ledger.can_afford(HALF)
    assert ledger.can_afford(Guarantee(Budget.pure(0.3)))
    assert ledger.remaining().amount == pytest.approx(0.3)


@pytest.mark.parametrize(
    ("terms", "charge", "words"),
    [
        ({"budget": Budget.approximate(1, 1e-6)}, Budget.gdp(1), "epsilon 4.89 at delta 1e-06; ledger 'x' has 1 of 1"),
        ({"budget": Budget.zcdp(0.5)}, Budget.gdp(2), "rho 2; ledger 'x' has 0.5 of 0.5"),
        ({"budget": Budget.gdp(0.5)}, Budget.gdp(0.50001), "mu 0.50001; ledger 'x' has 0.5 of 0.5"),
        (
            {"budget": Budget.approximate(1, 1e-6), "composition": "basic"},
            Budget.approximate(0.5, 1e-5),
            "delta 1e-05; ledger 'x' has 1e-06 of 1e-06",
        ),
        (
            {"budget": Budget.approximate(1, 1e-6), "reserve": 1e-7},
            Budget.approximate(0.1, 2e-7),
            "delta 2e-07; ledger 'x' has 1e-07 of 1e-07",
        ),
    ],
)
def test_a_refusal_speaks_the_ledgers_own_notion(tmp_path: Path, terms: dict, charge: Budget, words: str) -> None:
    ledger = Ledger.open(tmp_path / "l.db", "x", **terms)
    with pytest.raises(BudgetRefused, match="This release needs " + words.replace("+", r"\+")):
        ledger.charge(Guarantee(charge))


def test_refusals_are_recorded_if_wanted(ledger_url: str) -> None:
    ledger = Ledger.open(ledger_url, "icu", Budget.pure(0.4), record_refusals=True)
    with pytest.raises(BudgetRefused):
        ledger.charge(HALF, "too much")
    (entry,) = ledger.entries()
    assert (entry.kind, entry.status, entry.purpose, entry.guarantee) == ("refusal", "refused", "too much", HALF)
    assert ledger.unit is None, "a refusal does not set the unit"
    ledger.charge(Guarantee(Budget.pure(0.4), unit="one patient replaced"))
    assert ledger.unit == "one patient replaced"
    ledger.verify()


def test_no_guarantee_is_not_charged(ledger: Ledger) -> None:
    with pytest.raises(GuaranteeError, match="without a guarantee"):
        ledger.charge(Guarantee.none("simulated"))
    with pytest.raises(GuaranteeError, match="composes by basic"):
        ledger.charge(Guarantee(Budget.gdp(0.1)))
    assert ledger.entries() == []


def test_spent_states_the_sum_and_every_assumption(ledger: Ledger) -> None:
    assert ledger.spent().budget == Budget("pure", 0.0)
    ledger.charge(HALF)
    ledger.charge(Guarantee(Budget.pure(0.25), assumptions=("the labels are public", "the bounds are public")))
    spent = ledger.spent()
    assert spent.budget == Budget.pure(0.75)
    assert spent.assumptions == ("the bounds are public", "the labels are public")


def test_one_release_over_an_epsilon_and_delta_is_what_it_says_of_itself(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "l.db", "l", Budget.approximate(3.0, 1e-6))
    one = Guarantee(Budget.gdp(0.2))
    ledger.charge(one)
    assert ledger.spent().budget == Budget.approximate(one.epsilon(1e-6), 1e-6)
    assert ledger.filter.to_budget(ledger.entries()[-1].spent).amount > one.epsilon(1e-6)
    ledger.charge(one)
    assert ledger.spent().budget == ledger.filter.to_budget(ledger.entries()[-1].spent)


@pytest.mark.parametrize(("given", "kept"), [("record", SAME_RECORDS), ("one patient", "one patient"), (None, RECORD)])
def test_a_unit_is_kept_by_its_full_name(given: str | None, kept: str, tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "l.db", "l", Budget.pure(1.0), unit=given)
    ledger.charge(Guarantee(Budget.pure(0.5), unit="one patient" if given == "one patient" else RECORD))
    assert ledger.spent().unit == kept


def test_a_certificate_of_a_ledger_that_was_edited_is_refused(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "l.db", "l", Budget.pure(1.0))
    payment = ledger.charge(HALF)
    ledger.settle(payment, digest(1.0))
    document = Release(1.0, HALF, payment).certificate()
    whole = ledger.verify_certificate(document)
    assert whole.paid
    assert ("chain", True, "2 entries, unbroken") in whole.checks
    assert whole.checks[-1] == ("drawn", True, "entry 2 records this value")
    other = ledger.charge(HALF)
    open_one = ledger.verify_certificate(Release(1.0, HALF, other).certificate())
    assert (open_one.paid, open_one.checks[-1][:2]) == (False, ("drawn", False))
    run(f"sqlite:///{tmp_path / 'l.db'}", "UPDATE tacit_entries SET purpose = 'edited' WHERE number = 3")
    edited = ledger.verify_certificate(document)
    assert not edited.paid
    assert [name for name, ok, _ in edited.checks if not ok] == ["chain"]


def test_a_certificate_has_the_premises_of_its_charge(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "l.db", "l", Budget.pure(1.0))
    charged = Guarantee(Budget.pure(0.5), premises=("one is so",))
    payment = ledger.charge(charged)
    ledger.settle(payment, digest(1.0))
    assert ledger.verify_certificate(Release(1.0, charged, payment).certificate()).paid
    for other in ((), ("another is so",)):
        stated = Guarantee(Budget.pure(0.5), premises=other)
        verdict = ledger.verify_certificate(Release(1.0, stated, payment).certificate())
        assert [why for _, good, why in verdict.checks if not good] == [
            "has the amounts that were charged, and assumes something else than the charge says"
        ]
    less = ledger.verify_certificate(Release(1.0, Guarantee(Budget.pure(0.4)), payment).certificate())
    assert [why for _, good, why in less.checks if not good] == ["is not what was charged"]
    with_more = Guarantee(Budget.pure(0.5), premises=("one is so", "and more"), assumptions=("it rains",))
    assert not ledger.verify_certificate(Release(1.0, with_more, payment).certificate()).paid


def test_a_guarantee_is_stated_in_the_words_of_its_charge_where_it_has_its_amounts(ledger: Ledger) -> None:
    charged = Guarantee(Budget.pure(0.1), assumptions=("old",), source="old", premises=("old",))
    payment = ledger.charge(charged)
    again = Guarantee(Budget.pure(0.1), assumptions=("new",), source="new", premises=("new",))
    assert ledger.restate(payment, again).to_json() == charged.to_json()
    for other in (Guarantee(Budget.pure(0.2)), Guarantee(Budget.pure(0.1), unit="one ward replaced"), again.at(1e-9)):
        assert ledger.restate(payment, other) is other


def test_a_charge_is_settled_once(ledger: Ledger) -> None:
    payment = ledger.charge(HALF)
    assert ledger.entries()[0].status == "debited, not drawn"
    ledger.settle(payment, digest(1.5))
    ledger.settle(payment, digest(1.5))
    with pytest.raises(LedgerError, match="does not pay for a second one"):
        ledger.settle(payment, digest(1.6))
    charge, draw = ledger.entries()
    assert (charge.status, charge.drawn) == ("drawn", 2)
    assert (draw.kind, draw.settles, draw.digest, draw.spent) == ("drawn", 1, digest(1.5), charge.spent)
    with pytest.raises(LedgerError, match="has no charge 2"):
        ledger.settle(Payment(ledger.id, "icu", 2, draw.hash), digest(1))
    with pytest.raises(LedgerError, match="is not a charge"):
        ledger.payment(2)
    with pytest.raises(BadInput, match="64 hex digits"):
        ledger.settle(payment, "1.5")
    ledger.verify()


def test_a_ledger_counts_one_unit_of_privacy(ledger_url: str) -> None:
    patient = Guarantee(Budget.pure(0.1), unit="one patient replaced")
    first = Ledger.open(ledger_url, "first charge decides", Budget.pure(1.0))
    asked = Ledger.open(ledger_url, "first charge decides", unit=patient.unit)
    with pytest.raises(
        LedgerError, match="counts 'one patient replaced', and this release is for 'one record replaced'"
    ):
        asked.charge(HALF)
    first.charge(patient)
    fixed = Ledger.open(ledger_url, "fixed", Budget.pure(1.0), unit=patient.unit)
    for ledger in (first, fixed):
        assert ledger.unit == patient.unit
        for use in (ledger.charge, ledger.can_afford):
            with pytest.raises(LedgerError, match="counts 'one patient replaced'"):
                use(HALF)
        with pytest.raises(LedgerError, match="another unit of privacy"):
            Ledger.open(ledger_url, ledger.name, unit="one hospital replaced")


def test_opening_again_needs_the_same_terms(ledger_url: str) -> None:
    budget = Budget.approximate(1.0, 1e-6)
    made = Ledger.open(ledger_url, "icu", budget, composition="zcdp", reserve=1e-8, description="first")
    again = Ledger.open(ledger_url, "icu", budget, composition="zcdp", reserve=1e-8, description="second")
    assert (again.id, again.filter, again.description) == (made.id, made.filter, "first")
    assert Ledger.open(ledger_url, "icu").id == made.id
    for other, words in [
        ({"budget": Budget.approximate(2.0, 1e-6), "composition": "zcdp", "reserve": 1e-8}, "epsilon = 2"),
        ({"budget": budget, "reserve": 1e-8}, "by gdp"),
        ({"budget": budget, "composition": "zcdp"}, "by zcdp"),
    ]:
        with pytest.raises(LedgerError, match=rf"exists with budget epsilon = 1.*by zcdp.*asked for.*{words}"):
            Ledger.open(ledger_url, "icu", **other)
    with pytest.raises(BadInput, match="belong to a budget"):
        Ledger.open(ledger_url, "icu", composition="zcdp")


def test_opening_what_is_not_there_names_what_is(ledger_url: str) -> None:
    Ledger.open(ledger_url, "icu", Budget.pure(1.0))
    Ledger.open(ledger_url, "er", Budget.pure(1.0))
    assert Ledger.names(ledger_url) == ["er", "icu"]
    with pytest.raises(LedgerError, match=r"no ledger 'ICU' at .*: it has 'er', 'icu'. To make it, give its budget"):
        Ledger.open(ledger_url, "ICU")


def test_looking_for_a_ledger_makes_nothing(tmp_path: Path, postgres_url: str) -> None:
    with pytest.raises(LedgerError, match="there is no such file"):
        Ledger.open(tmp_path / "absent.db", "icu")
    with pytest.raises(LedgerError, match="unable to open"):
        Ledger.names(tmp_path / "absent.db")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(LedgerError, match="it has none"):
        Ledger.open(postgres_url, "icu")
    store = Database(postgres_url)
    with store.reading() as connection:
        assert sa.inspect(connection).get_table_names() == []


def test_a_ledger_file_that_vanishes_is_not_made_anew(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "l.db", "icu", Budget.pure(1.0))
    (tmp_path / "l.db").unlink()
    with pytest.raises(LedgerError, match="Nothing was released"):
        ledger.charge(HALF)
    assert "remaining unknown" in repr(ledger)
    assert [path.name for path in tmp_path.iterdir()] == ["l.db.made"]


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (":memory:", "not kept in memory"),
        ("sqlite://", "not kept in memory"),
        ("sqlite:///file?mode=memory&uri=true", "not kept in memory"),
        ("", "not kept in memory"),
        ("mysql://host/db", "SQLite or PostgreSQL, got mysql"),
        ("postgresql+asyncpg://host/db", r"got postgresql\+asyncpg"),
        ("://", "not a URL"),
        (7, "a path or a URL, got an int"),
    ],
)
def test_a_bad_url_is_refused_in_words(url: str, words: str) -> None:
    with pytest.raises(LedgerError, match=words):
        Ledger.open(url, "icu", Budget.pure(1.0))


def test_paths_and_urls_name_the_same_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    strange = "a b?c#d%20.db"
    made = Ledger.open(strange, "icu", Budget.pure(1.0))
    assert (tmp_path / strange).exists()
    assert Ledger.open(tmp_path / strange, "icu").id == pickle.loads(pickle.dumps(made)).id == made.id
    plain = Ledger.open("sqlite:///plain.db", "icu", Budget.pure(1.0))
    monkeypatch.chdir("/")
    plain.charge(HALF)
    assert Ledger.open(f"sqlite:///{tmp_path}/plain.db", "icu").remaining() == Budget.pure(0.5)


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a ledger, but rather important " * 100)
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="not a database"):
        Ledger.open(path, "icu", Budget.pure(1.0))
    assert path.read_bytes() == before


def test_text_that_a_database_cannot_keep_is_refused(ledger: Ledger, ledger_url: str) -> None:
    for bad in ("a\0b", "half \ud800"):
        with pytest.raises(BadInput, match="purpose must be text"):
            ledger.charge(HALF, bad)
    with pytest.raises(BadInput, match="name must be text"):
        Ledger.open(ledger_url, " ", Budget.pure(1.0))
    odd = Guarantee(Budget.pure(0.1), assumptions=("a\0b", "half \ud800"), source="Rényi — ∞ 🙂")
    ledger.charge(odd, "Länge der Aufenthalte — 平均 🙂")
    assert ledger.entries()[0].purpose == "Länge der Aufenthalte — 平均 🙂"
    assert ledger.entries()[0].guarantee == odd
    ledger.verify()


def test_a_password_is_never_shown(postgres_url: str) -> None:
    for url in ("postgresql://u:s3cret@127.0.0.1:1/db", "postgresql://u@127.0.0.1:1/db?password=s3cret"):
        with pytest.raises(
            LedgerError, match=r"cannot be read: .*[Cc]onnection.*check that the server runs"
        ) as failure:
            Ledger.open(url, "icu", Budget.pure(1.0))
        assert "s3cret" not in "".join(traceback.format_exception(failure.value))
        assert "127.0.0.1:1/db" in str(failure.value)


def test_a_missing_driver_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"pip install 'tacit\[postgres\]'"):
        Ledger.open("postgresql://u@localhost/db", "icu")


def test_a_schema_from_the_future_is_refused(ledger_url: str) -> None:
    ledger = Ledger.open(ledger_url, "icu", Budget.pure(1.0))
    run(ledger_url, "UPDATE tacit_meta SET value = '7' WHERE key = 'schema'")
    for attempt in (
        lambda: Ledger.open(ledger_url, "icu"),
        lambda: Ledger.open(ledger_url, "new", Budget.pure(1.0)),
        lambda: Ledger.names(ledger_url),
    ):
        with pytest.raises(LedgerError, match=r"schema version 7, this tacit reads version 2.*pip install --upgrade"):
            attempt()
    run(ledger_url, "UPDATE tacit_meta SET value = '1' WHERE key = 'schema'")
    assert Ledger.names(ledger_url) == [ledger.name]


def test_a_guarantee_whose_assumptions_are_a_list_is_charged(ledger: Ledger) -> None:
    ledger.charge(Guarantee(Budget.pure(0.25), assumptions=["a"], premises=["b"]))  # type: ignore[arg-type]
    ledger.charge(Guarantee(Budget.pure(0.25), assumptions=("a",), premises=("c",)))
    told = [e.guarantee for e in ledger.entries()]
    assert [g.premises for g in told if g] == [("b",), ("c",)]  # equal guarantees, and yet two statements


@pytest.mark.parametrize("how", ["renamed over", "removed and made"])
def test_a_ledger_stays_with_the_name_of_its_file_and_not_with_the_file(tmp_path: Path, how: str) -> None:
    """Connections are kept; what one wrote to a file that another has replaced would be lost."""
    path, copy = tmp_path / "l.db", tmp_path / "copy.db"
    ledger = Ledger.open(path, "icu", Budget.pure(1.0))
    ledger.charge(HALF, "a")
    copy.write_bytes(path.read_bytes())
    if how == "removed and made":
        path.unlink()
        path.write_bytes(copy.read_bytes())
    else:
        copy.replace(path)
    ledger.charge(Guarantee(Budget.pure(0.25)), "b")
    assert [e.purpose for e in Ledger.open(path, "icu").entries()] == ["a", "b"]


def test_sqlite_writes_are_made_to_last(tmp_path: Path) -> None:
    ledger = Ledger.open(tmp_path / "l.db", "icu", Budget.pure(1.0))
    with ledger._store.writing() as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 3
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "delete"
        other = sqlite3.connect(tmp_path / "l.db", timeout=0)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")


@pytest.mark.postgres
@pytest.mark.parametrize(("default", "used"), [("off", "on"), ("local", "on"), ("remote_apply", "remote_apply")])
def test_postgres_writes_are_made_to_last(postgres_url: str, default: str, used: str) -> None:
    name = postgres_url.split("/@/")[-1].split("@/")[-1].split("?")[0]
    run(
        postgres_url,
        f"ALTER DATABASE {name} SET synchronous_commit = {default}",
        f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'",
        f"ALTER DATABASE {name} SET extra_float_digits = -10",
    )
    ledger = Ledger.open(postgres_url, "icu", Budget.pure(1.0))
    with ledger._store.writing() as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "off"  # waited for after the commit
        connection.exec_driver_sql("UPDATE tacit_meta SET value = value")
        written = connection.exec_driver_sql("SELECT pg_current_wal_insert_lsn()::text").scalar()
        assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "read committed"
        assert connection.exec_driver_sql("SHOW lock_timeout").scalar() == "1min"
    with ledger._store.reading() as connection:
        on_disk = f"SELECT pg_current_wal_flush_lsn() > '{written}'::pg_lsn"  # its commit came after that
        assert connection.exec_driver_sql(on_disk).scalar()
        connection.exec_driver_sql("EXECUTE tacit_wait")
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == used
    ledger.charge(Guarantee(Budget.pure(1 / 3)))
    ledger.charge(Guarantee(Budget.pure(0.1)))
    ledger.verify()


def test_a_number_that_is_equal_to_another_is_written_alike(tmp_path: Path) -> None:
    """A database gives back 1.0 for 1, and 0.0 for -0.0: another text, so another hash, so a ledger that was edited."""
    ledger = Ledger.open(tmp_path / "l.db", "icu", Budget("approximate", 30, 1e-6), composition="gdp", reserve=-0.0)
    ledger.charge(Guarantee(Budget("pure", 1, -0.0)))
    assert (ledger.budget.to_json(), repr(ledger.filter.reserve)) == (Budget.approximate(30.0, 1e-6).to_json(), "0.0")
    document = ledger.export()["entries"][0]
    assert [type(document["cost"][part]) for part in ("amount", "delta")] == [float, float]
    code = "import sys; from tacit.privacy.ledger import Ledger; Ledger.open(sys.argv[1], 'icu').verify()"
    subprocess.run([sys.executable, "-c", code, tmp_path / "l.db"], check=True)


def test_an_export_can_be_checked_by_anyone(ledger: Ledger) -> None:
    payment = ledger.charge(HALF, "a")
    ledger.settle(payment, digest([1, 2]))
    ledger.charge(Guarantee(Budget.pure(0.1)), "b")
    document = json.loads(json.dumps(ledger.export()))
    header = ("format", "id", "name", "description", "created", "budget", "composition", "reserve", "unit")
    previous = sha256({k: document[k] for k in header})
    assert previous == document["genesis"]
    for entry in document["entries"]:
        assert entry["previous"] == previous
        previous = sha256({k: v for k, v in entry.items() if k not in ("hash", "status")})
        assert entry["hash"] == previous
    assert document["head"] == previous
    assert [e["status"] for e in document["entries"]] == ["drawn", "drawn", "debited, not drawn"]
    assert document["remaining"]["parameters"]["epsilon"] == pytest.approx(0.4)
    ledger.verify(head=document["head"])


def test_threads_share_a_ledger(ledger_url: str) -> None:
    ledger = Ledger.open(ledger_url, "icu", Budget.pure(1.0))
    eighth = Guarantee(Budget.pure(0.125))

    def attempt(_: int) -> bool:
        try:
            ledger.charge(eighth)
        except BudgetRefused:
            return False
        return True

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(attempt, range(12))) == 8
    ledger.verify()


def test_closing_lets_go_and_says_so(ledger_url: str) -> None:
    with Ledger.open(ledger_url, "icu", Budget.pure(1.0)) as ledger:
        assert repr(ledger) == "<Ledger 'icu': budget epsilon = 1; remaining epsilon = 1>"
    with pytest.raises(LedgerError, match="was closed"):
        ledger.charge(HALF)


def test_a_release_is_certified_end_to_end(ledger: Ledger) -> None:
    payment = ledger.charge(HALF)
    release = Release({"mean": 3.25, "bound": float("inf")}, HALF, payment)
    ledger.settle(payment, digest(release.value))
    verdict = ledger.verify_certificate(json.loads(json.dumps(release.certificate())))
    assert verdict.paid, str(verdict)
    assert str(verdict).endswith("Paid for by this ledger.")


@pytest.mark.postgres
def test_the_password_of_a_ledger_is_not_in_its_pickle(postgres_url, monkeypatch):
    url = sa.make_url(postgres_url).set(password="hunter2-secret").render_as_string(hide_password=False)
    monkeypatch.delenv("TACIT_LEDGER", raising=False)
    with Ledger.open(url, "icu", Budget.pure(1.0)) as made:
        kept = pickle.dumps(made)
        assert b"hunter2" not in kept
        assert "hunter2" not in repr(made) + str(made.__reduce__())
        with pickle.loads(kept) as again, copy.deepcopy(made) as third:
            assert again.id == third.id == made.id
    code = "import pickle, sys; sys.stdout.write(pickle.loads(sys.stdin.buffer.read()).id)"
    for told in ({"TACIT_LEDGER": url}, {"PGPASSWORD": "hunter2-secret"}):
        done = subprocess.run([sys.executable, "-c", code], input=kept, capture_output=True, env={**os.environ, **told})
        assert done.stdout.decode() == made.id, done.stderr.decode()
