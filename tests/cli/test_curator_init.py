"""`tacit curator init`: made once, for the owner alone, harmless to repeat, and what it prints works."""

from __future__ import annotations

import os
import pty
import ssl
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from shell_parts import Said
from shell_parts import tacit as run

from tacit.cli import main
from tacit.outsource.curator.tokens import Tokens

INIT = ["curator", "init", "rows.csv", "--evaluate", "y", "--scale", "2,3", "--modeler", "alice", "--yes"]


@pytest.fixture(autouse=True)
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    a = np.random.default_rng(0).normal(size=(60, 2))
    Path("rows.csv").write_text("a,b,y\n" + "".join(f"{x:.3f},{z:.3f},{x + z:.3f}\n" for x, z in a))
    return tmp_path


def terms(folder: str = "curator") -> dict[str, Any]:
    read: dict[str, Any] = tomllib.loads(Path(folder, "tacit.toml").read_text())["curator"]
    return read


def modes(folder: str = "curator") -> set[int]:
    return {p.stat().st_mode & 0o777 for p in Path(folder).rglob("*")} | {Path(folder).stat().st_mode & 0o777}


def contents() -> dict[str, bytes]:
    made = Path("curator")
    return {
        str(p): p.read_bytes() for p in made.rglob("*") if p.is_file() and p.suffix != ".db" and "db-" not in p.name
    }


def test_everything_is_made_for_its_owner_alone_and_nothing_is_published() -> None:
    before = os.umask(0)
    try:
        said = run(*INIT)
    finally:
        os.umask(before)
    assert said.code == 0, said.err
    assert modes() == {0o700, 0o600}
    assert "   tacit --config curator/tacit.toml curator serve\n" in said.out
    line = "tacit modeler run https://localhost:8733 --token-file alice.token --authority certificate.pem --trials 50"
    assert f"   {line}\n" in said.out
    assert "noise on each number of the table (standard deviation): a ±" in said.err
    token = Path("curator/for-alice/alice.token").read_text().strip()
    with Tokens("curator") as known:
        assert known.who(token) == "alice"
    assert token not in said.out + said.err
    shown = run("ledger", "show", "rows", "--ledger", "curator/ledger.db").out
    assert "spent     nothing" in shown
    assert "nothing was published" in run("--config", "curator/tacit.toml", "curator", "status").err
    assert terms()["serve"]["delta"] == 1e-6  # min(1e-6, 1/(10 n))
    assert terms()["serve"]["scale"] == "2,3"


def test_run_again_it_changes_nothing_and_says_the_same() -> None:
    first = run(*INIT)
    before = contents()
    second = run(*INIT)
    assert second.code == 0, second.err
    assert contents() == before
    assert second.out.partition("\n\n")[2] == first.out.partition("\n\n")[2]
    assert second.out.startswith("Kept:   certificate and key for localhost, ledger 'rows'")
    assert "Made:" not in second.out


def test_whoever_makes_it_at_once_makes_one(tmp_path: Path) -> None:
    program = [sys.executable, "-c", "from tacit.cli import main; main()", *INIT, "--quiet"]
    several = [subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(4)]
    for one in several:
        _, said = one.communicate()
        assert one.returncode == 0, said
    folder = Path("curator")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")  # which fit together
    assert (folder / "for-alice/certificate.pem").read_bytes() == (folder / "certificate.pem").read_bytes()
    with Tokens(folder) as tokens:
        assert tokens.who((folder / "for-alice/alice.token").read_text().strip()) == "alice"


def test_a_token_goes_to_a_file_of_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        said = run("curator", "grant", "bob", "--state", "state", "--out", "bob.token")
    finally:
        os.umask(before)
    assert said.out.startswith("token of bob in bob.token, good until 20")
    token = Path("bob.token").read_text().strip()
    assert Path("bob.token").stat().st_mode & 0o777 == 0o600
    assert token not in said.out + said.err
    for words in (["--out", "bob.token"], ["--out", "absent/bob.token"]):  # nothing is overwritten, nor granted
        said = run("curator", "grant", "bob", "--state", "state", *words)
        assert (said.code, said.out) == (2, "")
        assert "Nothing was granted" in said.err
    assert run("curator", "grant", "b o b", "--state", "state", "--out", "new.token").code == 2
    assert not Path("new.token").exists()
    with Tokens("state") as tokens:
        assert tokens.who(token) == "bob"


def test_other_terms_are_refused_and_nothing_is_overwritten() -> None:
    run(*INIT)
    before = contents()
    said = run(*INIT, "--epsilon", "1")
    assert (said.code, said.out) == (2, "")
    assert "It says epsilon = 3.0, you said epsilon = 1.0" in said.err
    assert contents() == before
    assert run(*INIT, "--epsilon", "1", "--folder", "second").code == 0


@pytest.mark.parametrize("missing", ["tacit.toml", "for-alice/alice.token", "for-alice", "ledger.db"])
def test_what_was_lost_half_way_is_made_up_for(missing: str) -> None:
    run(*INIT)
    target = Path("curator", missing)
    for path in [*target.rglob("*"), target]:
        path.rmdir() if path.is_dir() else path.unlink()
    said = run(*INIT)
    if missing == "ledger.db":  # a budget that is gone is no new budget
        assert said.code == 1
        assert "ledger" in said.err
        return
    assert said.code == 0, said.err
    with Tokens("curator") as known:
        assert known.who(Path("curator/for-alice/alice.token").read_text().strip()) == "alice"


def test_half_a_pair_of_keys_and_a_foreign_token_are_left_alone() -> None:
    run(*INIT)
    token = Path("curator/for-alice/alice.token")
    kept = token.read_text()
    token.write_text("of another study\n")
    said = run(*INIT)
    assert (said.code, "no token that alice could ask with now" in said.err) == (2, True)
    assert token.read_text() == "of another study\n"
    token.write_text(kept)
    Path("curator/key.pem").unlink()
    said = run(*INIT)
    assert (said.code, "key.pem is missing" in said.err) == (2, True)


def test_as_json_it_prints_one_document_and_the_lines_in_it() -> None:
    made = run(*INIT, "--json", "--host", "curator.example", "--port", "9000").json
    assert made["serve"] == "tacit --config curator/tacit.toml curator serve"
    assert made["modeler"].startswith("tacit modeler run https://curator.example:9000 --token-file alice.token")
    assert len(made["fingerprint"]) == 64
    assert terms()["serve"]["host"] == "0.0.0.0"
    assert terms()["try"] == {
        **{k: terms()["serve"][k] for k in ("rows", "columns", "scale", "epsilon", "delta")},
        "queries": 50,
    }


def test_private_answers_are_in_the_terms_and_the_ledger_covers_them() -> None:
    from tacit.outsource.curator import Curator
    from tacit.outsource.curator.preview import private_answers
    from tacit.outsource.curator.rows import read
    from tacit.privacy.ledger import Ledger

    said = run(*INIT, "--bounds", "-3", "3", "--answer-mu", "2", "--queries", "4")
    assert said.code == 0, said.err
    assert "noise on each answer: ±3, 0.5 times the width of its bounds" in said.err
    serve = terms()["serve"]
    assert (serve["bounds"], serve["answer-mu"], serve["charged"]) == ([-3.0, 3.0], 2.0, "each")
    assert "yes" not in serve
    with Ledger.open("curator/ledger.db", "rows") as ledger:
        answers = private_answers((-3.0, 3.0), 2.0, "each")
        price = {"epsilon": serve["epsilon"], "delta": serve["delta"], "scale": [2.0, 3.0]}
        with Curator(read("rows.csv"), "y", **price, answers=answers, queries=4, ledger=ledger) as curator:
            assert len(curator.ask([0, 1, 2, 3])) == 4


def test_a_certificate_that_exists_or_a_proxy_needs_no_authority() -> None:
    run(*INIT)
    mine = ["--tls-certificate", "curator/certificate.pem", "--tls-key", "curator/key.pem", "--folder", "second"]
    assert "--authority" not in run(*INIT, *mine).out
    assert not Path("second/key.pem").exists()
    said = run(*INIT, "--behind-proxy", "--folder", "third", "--host", "curator.example")
    assert "tacit modeler run https://curator.example --token-file alice.token --trials 50" in said.out
    assert (terms("third")["serve"]["host"], terms("third")["serve"]["proxy"]) == ("127.0.0.1", "127.0.0.1,::1")
    assert "certificate" not in terms("third")["serve"]


WRONG = {
    "no scale": (["curator", "init", "rows.csv", "--evaluate", "y", "--yes"], "nobody can be asked for --scale here"),
    "no table": (["curator", "init", "--yes"], "nobody can be asked for ROWS here"),
    "a scale too many": ([*INIT, "--scale", "1,2,3"], "or one for each of the 2 columns, got an ndarray of shape (3,)"),
    "a scale of zero": ([*INIT, "--scale", "0"], "scale must be a positive number"),
    "no such column": ([*INIT, "--columns", "a,c"], "there is no column 'c'"),
    "the answer as an input": ([*INIT, "--columns", "a,y"], "'y' is the answer"),
    "no such answer": ([*INIT, "--evaluate", "z"], "there is no column 'z'; there are a, b, y"),
    "a port": ([*INIT, "--port", "99999"], "less than or equal to 65535"),
    "a host": ([*INIT, "--host", "https://here"], "a machine is named like"),
    "the curator as a modeler": ([*INIT, "--modeler", "curator"], "is not curator"),
    "a folder as a modeler": ([*INIT, "--modeler", "../x"], "letters, digits, dots and dashes"),
    "half a pair": ([*INIT, "--tls-key", "k.pem"], "got only one of them"),
    "mu without bounds": ([*INIT, "--answer-mu", "1"], "give both, or neither"),
    "a password": ([*INIT, "--state", "postgresql://a:hunter2@db/x"], "holds a secret in clear"),
    "a span of time": ([*INIT, "--for", "soon"], "such as 30d"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_refused_in_a_line(what: str) -> None:
    words, message = WRONG[what]
    said = run(*words)
    assert (said.code, said.out) == (2, ""), said
    assert message in said.err
    assert "hunter2" not in said.err
    assert not Path("curator").exists()


def test_answers_that_are_noise_are_refused_before_anything_is_made() -> None:
    words = [word for word in INIT if word != "--yes"]
    given = ["--columns", "-", "--epsilon", "3"]
    noisy = ["--bounds", "0", "10000", "--answer-mu", "0.1", "--charged", "each"]
    said = run(*words, *given, *noisy)
    assert (said.code, "noise of standard deviation 1e+05" in said.err) == (2, True)
    assert not Path("curator").exists()


@pytest.mark.postgres
def test_with_postgresql_tokens_and_ledger_are_in_the_database(postgres_url: str) -> None:
    plain = postgres_url.replace("postgresql+psycopg://", "postgresql://")
    said = run(*INIT, "--state", plain, "--ledger", plain)
    assert said.code == 0, said.err
    assert terms()["grant"] == {"state": plain}
    token = run("--config", "curator/tacit.toml", "curator", "grant", "bob").out.strip()
    with Tokens(plain) as known:
        assert {known.who(token), known.who(Path("curator/for-alice/alice.token").read_text().strip())} == {
            "alice",
            "bob",
        }
    assert "bob may ask no more" in run("--config", "curator/tacit.toml", "curator", "revoke", "bob").out
    assert not Path("curator/curator.db").exists()
    assert run(*INIT, "--state", plain, "--ledger", plain).out.startswith("Kept:")


def at_terminal(words: list[str], answers: list[str]) -> tuple[int, str]:
    """The command with a person at the keyboard, who types these lines."""
    pid, terminal = pty.fork()
    if not pid:
        os.dup2(os.open("out", os.O_WRONLY | os.O_CREAT), 1)
        code = 99
        try:
            sys.argv = ["tacit", *words]
            sys.stdin, sys.stdout, sys.stderr = os.fdopen(0), os.fdopen(1, "w"), os.fdopen(2, "w")
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            sys.stdout.flush()
            os._exit(code)
    os.write(terminal, ("\n".join(answers) + "\n").encode())
    shown = b""
    while True:
        try:
            shown += os.read(terminal, 4096)
        except OSError:
            break
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), shown.decode()


def test_a_person_is_asked_one_thing_at_a_time_and_again_after_a_typo() -> None:
    typed = ["row.csv", "rows.csv", "x", "y", "2;3", "2,3", "none", ""]
    code, shown = at_terminal(["curator", "init", "--modeler", "alice"], typed)
    assert code == 0, shown
    for told in (
        "row.csv cannot be read",
        "there is no column 'x'",
        "numbers with commas between",
        "a number is wanted",
    ):
        assert told in shown
    assert shown.count("Once more:") == 4
    assert "Epsilon of the table [3.0]: " in shown
    assert (terms()["serve"]["epsilon"], terms()["serve"]["delta"]) == (3.0, 1e-6)
    assert "tacit modeler run https://localhost:8733 --token-file alice.token" in Path("out").read_text()


def test_serving_without_a_scale_asks_a_person_and_refuses_otherwise() -> None:
    words = ["curator", "serve", "rows.csv", "--evaluate", "y", "--epsilon", "1", "--delta", "1e-3", "--port", "0"]
    said: Said = run(*words)
    assert (said.code, said.out) == (2, "")
    assert "no --scale is given" in said.err.splitlines()[-1]
    assert "noise on each number of the table (standard deviation): a ±2.57, b ±2.57" in said.err
    assert not Path("curator/curator.db").exists()
    loud = run(*words, "--scale", "1", "--bounds", "0", "10000", "--answer-mu", "0.1")
    assert (loud.code, "±1e+05, 10 times the width of its bounds" in loud.err) == (2, True)
    assert "--answer-mu, the privacy of one answer" in run(*words, "--scale", "1", "--bounds", "0", "1").err
    assert not Path("curator/curator.db").exists()
    code, shown = at_terminal(words, ["no"])
    assert (code, "Publish all the same, yes or no [no]: " in shown) == (2, True)
    assert not Path("curator/curator.db").exists()


def test_the_certificate_is_the_one_that_is_handed_over() -> None:
    run(*INIT)
    assert Path("curator/for-alice/certificate.pem").read_bytes() == Path("curator/certificate.pem").read_bytes()
    ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain("curator/certificate.pem", "curator/key.pem")
