"""Ask every address that the pages name, and report. `make links` runs this; it never fails, and needs a network.

Addresses of examples (curator.example, host) are left out.
"""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[2]
ADDRESS = re.compile(r"https?://[^\s)>\]`\"']+")
MADE_UP = re.compile(r"https?://(curator\.example|localhost|127\.0\.0\.1|host)\b")


def addresses() -> dict[str, list[str]]:
    """Address -> pages that name it."""
    found: dict[str, list[str]] = {}
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for address in ADDRESS.findall(page.read_text(encoding="utf-8")):
            if not MADE_UP.match(address):
                found.setdefault(address.rstrip(".,;:"), []).append(str(page.relative_to(ROOT)))
    return found


def asked(address: str) -> str:
    """ "" if somebody answers, or what went wrong."""
    try:
        answer = httpx.get(address, follow_redirects=True, timeout=20.0, headers={"User-Agent": "Mozilla/5.0"})
    except httpx.HTTPError as error:
        return type(error).__name__
    return "" if answer.status_code < 400 else f"status {answer.status_code}"


def main() -> None:
    pages = addresses()
    with ThreadPoolExecutor(8) as pool:
        answers = dict(zip(pages, pool.map(asked, pages), strict=True))
    wrong = {address: why for address, why in answers.items() if why}
    for address, why in wrong.items():
        print(f"{why:14} {address}   in {', '.join(sorted(set(pages[address])))}")
    print(f"{len(answers) - len(wrong)} of {len(answers)} addresses answer")


if __name__ == "__main__":
    main()
