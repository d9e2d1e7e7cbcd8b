"""Build the wheel, or take the one that is named, install it in an empty environment, and follow the quickstart there.

python .ci/wheel.py [WHEEL]
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FENCE = re.compile(r"^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="tacit-wheel-"))
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    if len(sys.argv) > 1:
        wheel = Path(sys.argv[1]).resolve()
    else:
        subprocess.run([python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT], check=True)
        wheel = next(folder.glob("*.whl"))
    subprocess.run([python, "-m", "pip", "install", "-q", f"{wheel}[sklearn]"], check=True)
    work = folder / "empty"
    work.mkdir()
    for page in ("quickstart.md", "quickstart-table.md"):
        follow(ROOT / "docs" / page, work, python)
    print(f"{wheel.name}: both quickstarts ran on {sys.version.split()[0]}")


def follow(page: Path, work: Path, python: Path) -> None:
    """Paste every block in order: Python into one session, shell lines into a shell of this environment."""
    session = ""
    for kind, body in FENCE.findall(page.read_text(encoding="utf-8")):
        if kind == "python":
            session += body
        else:
            if session:
                subprocess.run([python, "-c", session], cwd=work, check=True)
                session = ""
            path = f"{python.parent}:/usr/bin:/bin"
            lines = "\n".join(line for line in body.splitlines() if not line.startswith("pip install"))
            subprocess.run(["bash", "-ec", lines], cwd=work, check=True, env={"PATH": path, "HOME": str(work)})
    if session:
        subprocess.run([python, "-c", session], cwd=work, check=True)


if __name__ == "__main__":
    main()
