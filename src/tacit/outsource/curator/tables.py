"""The tables of a curator's state, schema version 2, and what brings those of version 1 up to it.

A query number is a row of its own, unique in its study: there are as many as the study allows, so two curators cannot
answer more, whatever either believes. What was told is sealed (see seal). ``owner`` names the curator that has claimed
a query and not answered it yet.
"""

from __future__ import annotations

import hashlib
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from tacit.privacy.ledger.tables import meta, qualify, schema_of

SCHEMA = "2"
READABLE = ("1", SCHEMA)

tables = sa.MetaData()
studies = sa.Table(
    "tacit_outsource_study",
    tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("schema", sa.Text, nullable=False),
    sa.Column("study", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.Text, nullable=False),
    sa.Column("terms", sa.Text),  # None until the table is published
    sa.Column("created", sa.Text, nullable=False),
    sa.Column("stopped", sa.Text),
    sa.Column("seal", sa.Text),  # of the terms; None: written by an earlier release
    sa.Column("draft", sa.Text),  # the name under which the published table's parts are kept; None: that of the study
)
parts = sa.Table(
    "tacit_outsource_part",
    tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("rows", sa.Integer, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
)
answers = sa.Table(
    "tacit_outsource_answer",
    tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("row", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("value", sa.Double),
    sa.Column("charge", sa.Integer),
    sa.Column("time", sa.Text, nullable=False),
    sa.Column("seal", sa.Text),
)
exchanges = sa.Table(
    "tacit_outsource_exchange",
    tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("modeler", sa.Text, primary_key=True),
    sa.Column("request", sa.Text, primary_key=True),
    sa.Column("position", sa.Integer, primary_key=True),
    sa.Column("row", sa.BigInteger, nullable=False),
    sa.Column("number", sa.Integer, nullable=False),
    sa.Column("time", sa.Text, nullable=False),
    sa.Column("owner", sa.Text),  # None: answered
    sa.Column("seal", sa.Text),
)
tokens = sa.Table(
    "tacit_outsource_token",
    tables,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("holder", sa.Text, primary_key=True),
    sa.Column("hash", sa.Text, nullable=False),
    sa.Column("granted", sa.Text, nullable=False),
    sa.Column("expires", sa.Text),  # None: never
    sa.Column("revoked", sa.Text),
)
audit = sa.Table(
    "tacit_outsource_audit",
    tables,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("name", sa.Text, nullable=False, index=True),
    sa.Column("time", sa.Text, nullable=False),
    sa.Column("line", sa.Text, nullable=False),
    sa.Column("kind", sa.Text),  # "count" of a line that counts requests; None: it tells of one
)
numbers = sa.Index("tacit_outsource_number", exchanges.c.name, exchanges.c.number, unique=True)
CHECKED = (studies.name, answers.name, exchanges.name, tokens.name)  # at every opening, however large the table is
ADDED = (studies.c.draft, exchanges.c.owner, studies.c.seal, answers.c.seal, exchanges.c.seal, audit.c.kind)


def seal(*values: Any) -> str:
    """What is kept beside values that were told, or stand for a limit, so that a changed bit is noticed.

    No index holds them, so a database that looks itself through does not notice. Who means to edit can seal anew.
    """
    return hashlib.sha256(repr(values).encode()).hexdigest()[:16]


def seal_of_exchange(line: Any) -> str:
    return seal(line["modeler"], line["request"], int(line["position"]), int(line["row"]), int(line["number"]))


def prepare(connection: Connection) -> None:
    """Make what is missing. Columns are only added, and an earlier tacit writes them as it should: empty."""
    tables.create_all(connection)
    meta.create(connection, checkfirst=True)
    look, schema = sa.inspect(connection), schema_of(connection)
    for column in ADDED:
        if column.name not in {c["name"] for c in look.get_columns(column.table.name, schema)}:
            table = qualify(column.table.name, schema)
            connection.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN {column.name} TEXT"))
    numbers.create(connection, checkfirst=True)
