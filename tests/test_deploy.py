"""Files of examples/deploy: the command understands them, and real proxies with them keep out whom they should."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import socket
import ssl
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from shell_parts import leaves
from shell_parts import tacit as run

from tacit.outsource.curator.tokens import CURATOR, Tokens
from tacit.outsource.modeler import Modeler
from tacit.outsource.modeler.client import Client

ROOT = Path(__file__).parents[1]
DEPLOY = ROOT / "examples" / "deploy"
TACIT = [sys.executable, "-c", "from tacit.cli import main; main()"]
VERBS = dict(leaves())
EXACT = ["/curator", "/v1/curator/status", "/v1/curator/page"]  # what only the curator may see
PATHS = [
    *EXACT,
    "/curator/",
    "//curator",
    "/./v1/curator/status",
    "/v1/curator%2Fstatus",
    "/%63urator",
    "/V1/curator/status",
]


def check_words(words: list[str]) -> None:
    """The words of a service are a verb and options that exist."""
    assert words[:2] == ["--config", words[1]]
    assert Path(words[1]).is_absolute()
    verb = " ".join(words[2:4])
    known = {option for p in VERBS[verb].params for option in p.opts}
    assert set(words[4:]) <= known


def test_the_unit_starts_the_command_as_a_user_of_its_own() -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[method-assign, assignment]
    unit.read(DEPLOY / "tacit-curator.service")
    service = unit["Service"]
    program, *words = shlex.split(service["ExecStart"])
    assert Path(program).name == "tacit"
    check_words(words)
    assert "--quiet" in words  # or the journal holds the token of the curator's page
    assert service["User"] not in ("root", "")
    assert (service["UMask"], service["LimitCORE"], service["StateDirectoryMode"]) == ("0077", "0", "0700")
    assert service["RestartPreventExitStatus"].split() == ["2", "3"]
    readme = (DEPLOY / "README.md").read_text()
    extras = re.findall(r"tacit\[(.*?)\]", readme)
    assert extras
    check_extras(*extras)
    # what the unit counts on, the lines of the page make: its user, its program, its folder, with the table in it
    for line in (
        f"useradd --system --home-dir {service['WorkingDirectory']} {service['User']}",
        f"python3 -m venv {Path(program).parents[1]}",
        f"install -d -o {service['User']} -g {service['Group']} -m 0700 {service['WorkingDirectory']}",
        f"sudo -u {service['User']} {program} curator init {service['WorkingDirectory']}/",
        f"--folder {Path(words[1]).parent} --yes",
    ):
        assert line in readme


def check_extras(*listed: str) -> None:
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {name for names in listed for name in names.split(",")} <= set(known)


def instructions() -> dict[str, list[str]]:
    """The container file, by instruction; lines that go on are joined."""
    text = re.sub(r"\\\n\s*", "", (DEPLOY / "Dockerfile").read_text())
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            assert word in {
                *("FROM", "RUN", "COPY", "USER", "WORKDIR", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK"),
                *("ENTRYPOINT", "CMD"),
            }
            found.setdefault(word, []).append(rest)
    return found


def test_the_container_starts_the_command_as_a_user_of_its_own() -> None:
    told = instructions()
    assert next(iter(told)) == "FROM"
    assert told["USER"][-1] != "root"
    assert json.loads(told["ENTRYPOINT"][0]) == ["tacit"]
    check_words(json.loads(told["CMD"][0]))
    check_extras(*re.findall(r"/tmp/tacit\[(.*?)\]", told["RUN"][-1]))
    compile(json.loads(told["HEALTHCHECK"][0].partition("CMD ")[2])[2], "healthcheck", "exec")
    kept = (DEPLOY / "Dockerfile.dockerignore").read_text().split()
    assert kept[0] == "*"  # nothing of the folder but what is named
    for name in (word[1:] for word in kept if word.startswith("!")):
        assert (ROOT / name).exists()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A curator behind a proxy, as `curator init --behind-proxy` sets it up; its port."""
    monkeypatch.chdir(tmp_path)
    Path("rows.csv").write_text("a,b,y\n" + "".join(f"{i % 9},{i * 7 % 11},{i}\n" for i in range(60)))
    port = free_port()
    words = ["rows.csv", "--evaluate", "y", "--scale", "1", "--modeler", "alice", "--behind-proxy", "--yes"]
    assert run("curator", "init", *words, "--host", "curator.example", "--port", str(port)).code == 0
    words = ["--config", "curator/tacit.toml", "curator", "serve"]
    with subprocess.Popen([*TACIT, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == f"http://127.0.0.1:{port}"
        yield port
        process.terminate()


def change(name: str, changes: dict[str, str]) -> str:
    """A file of the examples with paths and ports of this test; every change must be possible."""
    text = (DEPLOY / name).read_text()
    for old, new in changes.items():
        assert old in text, (name, old)
        text = text.replace(old, new)
    return text


def proxy_command(kind: str, folder: Path, port: int, upstream: int, certificate: Path, key: Path) -> list[str]:
    """The proxy with the file of the examples, its paths and ports replaced by those of this test."""
    common = {"127.0.0.1:8733": f"127.0.0.1:{upstream}"}
    common |= {"/etc/tacit/certificate.pem": str(certificate), "/etc/tacit/key.pem": str(key)}
    if kind == "nginx":
        server = change("nginx.conf", {**common, "listen 443 ssl": f"listen 127.0.0.1:{port} ssl"})
        places = "".join(f"{p}_temp_path {folder}/{p};\n" for p in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        user = "user root;\n" if sys.platform == "linux" and Path("/root").exists() and _is_root() else ""
        text = f"{user}daemon off;\npid {folder}/pid;\nerror_log {folder}/error.log;\nevents {{}}\n"
        (folder / "nginx.conf").write_text(text + f"http {{\naccess_log off;\n{places}{server}}}\n")
        return ["nginx", "-p", str(folder), "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"]
    quiet = "admin off\n\tauto_https disable_redirects\n\tskip_install_trust"
    changes = {**common, "curator.example {": f"https://127.0.0.1:{port} {{\n\tbind 127.0.0.1", "admin off": quiet}
    (folder / "Caddyfile").write_text(change("Caddyfile", changes))
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


def _is_root() -> bool:
    import os

    return os.geteuid() == 0


@pytest.mark.parametrize("kind", ["nginx", "caddy"])
def test_a_proxy_serves_modelers_and_keeps_the_curators_page_to_its_machine(
    kind: str, service: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which(kind) is None:
        pytest.skip(f"needs {kind} (Debian: apt-get install {kind})")
    from tacit.outsource.curator.certificate import make_certificate

    folder = tmp_path / "proxy"
    folder.mkdir()
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    certificate, key, port = folder / "certificate.pem", folder / "key.pem", free_port()
    make_certificate("curator.example", certificate, key)
    command = proxy_command(kind, folder, port, service, certificate, key)
    token = Path("curator/for-alice/alice.token").read_text().strip()
    with Tokens("curator") as known:
        mine = known.grant(CURATOR)
    with (folder / "said").open("w") as said, subprocess.Popen(command, stdout=said, stderr=said) as proxy:
        try:
            url = f"https://127.0.0.1:{port}"
            with httpx.Client(base_url=url, verify=ssl.create_default_context(cafile=str(certificate))) as anybody:
                wait_for(anybody, proxy, folder)
                with Client(url, token=token, authority=certificate) as client:
                    assert Modeler(client).run(8).trials == 8
                curators = {"Authorization": f"Bearer {mine}"}
                lies = [{}, {"X-Forwarded-For": "127.0.0.1"}, {"Forwarded": "for=127.0.0.1"}, {"X-Real-IP": "::1"}]
                for lie in lies:
                    for path in PATHS:
                        answer = anybody.get(path, headers={**curators, **lie})
                        assert answer.status_code in ((404,) if path in EXACT else (401, 404, 429)), (path, lie)
                        assert "alice" not in answer.text
                    assert (
                        anybody.post("/v1/curator/stop", headers=curators | lie, json={"stopped": True}).status_code
                        == 404
                    )
                # past the proxy, on the port that it forwards to, the page is not there either
                assert httpx.get(f"http://127.0.0.1:{service}/v1/curator/status", headers=curators).status_code == 404
                large = anybody.post("/v1/queries", headers={"Authorization": f"Bearer {token}"}, content=b"x" * 70_000)
                assert large.status_code == 413
                # whoever guesses is slowed down, whatever addresses it claims
                tried = [
                    anybody.get("/v1/study", headers={"Authorization": "Bearer no", "X-Forwarded-For": f"192.0.2.{i}"})
                    for i in range(40)
                ]
                assert {answer.status_code for answer in tried} == {401, 429}
        finally:
            proxy.terminate()


def wait_for(anybody: httpx.Client, proxy: subprocess.Popen[bytes], folder: Path) -> None:
    while proxy.poll() is None:
        try:
            assert anybody.get("/healthz").status_code == 200
            return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError((folder / "said").read_text())
