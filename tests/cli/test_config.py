"""Options from a file: what beats what, and how a mistake in it is told."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer.main
from shell_parts import leaves
from shell_parts import tacit as run

from tacit.cli import app
from tacit.cli import config as configuration

LEDGER = '[ledger.open]\nname = "icu"\nledger = "here.db"\nepsilon = 1.0\ndelta = 1e-6\ndescription = "stays"\n'


@pytest.fixture(autouse=True)
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("TACIT_LEDGER", "TACIT_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def write(text: str, name: str = "tacit.toml") -> None:
    Path(name).write_text(text)


# What beats what


def test_a_bare_verb_takes_arguments_and_options_from_the_file_here() -> None:
    write(LEDGER)
    said = run("ledger", "open", "--json")
    assert said.err == ""  # a pipe hears nothing of the file
    assert (said.json["name"], said.json["description"]) == ("icu", "stays")
    assert said.json["budget"]["parameters"] == {"epsilon": 1.0, "delta": 1e-6}
    assert Path("here.db").exists()


def test_the_command_line_beats_the_environment_which_beats_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    write(LEDGER)
    monkeypatch.setenv("TACIT_LEDGER", "there.db")
    assert run("ledger", "open", "other").code == 0
    assert (Path("there.db").exists(), Path("here.db").exists()) == (True, False)
    said = run("ledger", "open", "--ledger", "third.db", "--epsilon", "2", "--json")
    assert said.json["budget"]["parameters"] == {"epsilon": 2.0, "delta": 1e-6}
    assert Path("third.db").exists()


def test_a_budget_on_the_command_line_replaces_that_of_the_file_whatever_its_kind() -> None:
    write(LEDGER)
    assert run("ledger", "open", "--mu", "0.5", "--json").json["budget"]["parameters"] == {"mu": 0.5}
    plan = ["plan", "--records", "9000", "--dimensions", "1", "--json"]
    write("[plan]\nepsilon = 1.0\npure = true\n")
    assert run(*plan, "--mu", "0.5").json["budget"]["parameters"] == {"mu": 0.5}
    write("[plan]\nepsilon = 1.0\ndelta = 1e-6\n")
    assert run(*plan, "--pure").json["budget"]["notion"] == "pure"


def test_another_file_is_named_before_the_verb_or_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    write("[nonsense]\n")
    write(LEDGER, "other.toml")
    assert run("--config", "other.toml", "ledger", "open", "--json").json["name"] == "icu"
    monkeypatch.setenv("TACIT_CONFIG", "other.toml")
    assert run("ledger", "open", "--json").json["name"] == "icu"
    assert run("--config", "/dev/null", "ledger", "open").code == 2  # nothing is taken from anywhere


def test_help_init_and_version_do_not_read_the_file() -> None:
    write("[nonsense]\n")
    for words in (["tune", "--help"], ["--help"], ["--version"], ["ledger", "show", "--help"]):
        assert run(*words).code == 0
    assert "tacit.toml is there already" in run("init", "--yes").err


def test_a_space_and_the_options_of_a_method_may_be_tables_of_the_file() -> None:
    write(
        "[tune]\nbounds = [0, 1]\n[tune.space]\nx = {low = 0.0, high = 1.0}\n[tune.option]\nconstants = 'icml'\nk = 3\n"
    )
    made = configuration.read(Path("tacit.toml"), typer.main.get_command(app))
    assert made["tune"] == {
        "bounds": (0.0, 1.0),
        "space": "tacit.toml#tune.space",
        "option": ['constants="icml"', "k=3"],
    }


def test_an_objective_on_the_command_line_beats_a_table_of_the_file() -> None:
    write('[tune]\ntable = "none.csv"\ntarget = "y"\n')
    assert (
        "no objective 'nowhere:f'"
        in run("tune", "nowhere:f", "--space", "s", "--records", "9", "--bounds", "0", "1").err
    )
    write('[tune]\nobjective = "nowhere:f"\n')
    assert "none.csv cannot be read" in run("tune", "--table", "none.csv", "--target", "y").err
    write('[pareto]\nalgorithm = "logistic_sgd"\ntable = "none.csv"\ntarget = "y"\n')
    assert "no algorithm 'nowhere:f'" in run("pareto", "nowhere:f").err
    write('[pareto]\nalgorithm = "nowhere:g"\n')
    assert "no algorithm 'nowhere:g'" in run("pareto").err


def test_every_option_of_every_verb_has_its_key() -> None:
    for verb, command in leaves():
        keys = [key for p in command.params for key in configuration._keys(p)]
        assert all(keys), verb
        twice = {key for key in keys if keys.count(key) > 1}
        assert twice <= ({"algorithm"} if verb == "pareto" else set()), verb


# Mistakes


WRONG = {
    "not TOML": ("x = {", "the configuration tacit.toml is not TOML: "),
    "a verb that is not there": ("[tun]\n", "[tun] is no verb; did you mean 'tune'?"),
    "a verb far from any": ("[zzz]\n", "[zzz] is no verb; there are audit, curator"),
    "a verb of a group": ("[curator.server]\n", "[curator.server] is no verb; did you mean 'serve'?"),
    "an option above the tables": ("epsilon = 1\n", "epsilon] is no verb"),
    "an option of a group": ("[ledger]\nname = 'x'\n", "[ledger.name] is no verb"),
    "a verb that is no table": ("tune = 3\n", "tune must be a table, [tune], got 3"),
    "init": ("[init]\ngoal = 'tune'\n", "[init] is no verb"),
    "an option that is not there": ("[tune]\nepsilom = 1\n", "[tune] epsilom is no option; did you mean 'epsilon'?"),
    "an option of another verb": ("[tune]\nrepeats = 2\n", "[tune] repeats is no option; "),
    "text for a number": ("[tune]\nepsilon = '1'\n", "[tune] epsilon must be a number, got text"),
    "a fraction for a whole number": ("[tune]\ntrials = 1.5\n", "[tune] trials must be a whole number, got 1.5"),
    "true for a number": ("[tune]\ntrials = true\n", "[tune] trials must be a whole number, got true or false"),
    "a number for a flag": ("[tune]\nyes = 1\n", "[tune] yes must be true or false, got 1"),
    "a number for a path": ("[tune]\nout = 1\n", "[tune] out must be text, got 1"),
    "one bound": ("[tune]\nbounds = [1]\n", "[tune] bounds must be a list of 2 numbers, got a list"),
    "bounds of words": ("[tune]\nbounds = ['a', 'b']\n", "[tune] bounds must be a number, got text"),
    "two spellings": ("[tune]\nledger-name = 'a'\nledger_name = 'b'\n", "[tune] ledger_name is given twice"),
    "two budgets": (
        "[ledger.open]\nepsilon = 1\nrho = 1\n",
        "[ledger.open] gives epsilon and rho; a budget is of one kind",
    ),
    "a stray delta": ("[ledger.open]\nmu = 1\ndelta = 1e-6\n", "[ledger.open] delta goes with epsilon, not with mu"),
    "a token": ("[modeler.run]\ntoken = 'abc123'\n", "[modeler.run] token: secrets are not read from this file."),
    "a password": ("[tune]\nledger = 'postgresql://a:hunter2@db/x'\n", "[tune] ledger holds a secret in clear"),
    "a key": ("[curator.serve]\nkey = '-----BEGIN PRIVATE KEY-----'\n", "[curator.serve] key holds a secret in clear"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_mistake_names_the_file_the_key_and_the_remedy(what: str) -> None:
    text, message = WRONG[what]
    write(text)
    said = run("ledger", "show")
    assert (said.code, said.out) == (2, "")
    assert said.err.startswith("tacit: ")
    assert "tacit.toml" in said.err
    assert message in said.err
    assert said.err.count("\n") == 1
    assert "hunter2" not in said.err
    assert "abc123" not in said.err


def test_a_file_that_cannot_be_read_is_told() -> None:
    assert "the configuration no.toml cannot be read: No such file" in run("--config", "no.toml", "audit").err
    Path("bytes.toml").write_bytes(b"\xff\xfe")
    assert "bytes.toml is not text in UTF-8" in run("--config", "bytes.toml", "audit").err


def test_the_file_in_the_documentation_is_accepted() -> None:
    page = (Path(__file__).parents[2] / "docs" / "shell.md").read_text()
    text = page.partition("```toml\n")[2].partition("```")[0]
    made = configuration.parse(Path("tacit.toml"), text, typer.main.get_command(app))
    assert set(made) == {"tune", "ledger", "pareto", "curator", "modeler"}
