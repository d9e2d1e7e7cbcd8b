"""The parts of the curator's page: no exact answer and no secret, unless asked for by whoever may see them."""

from __future__ import annotations

import re
from pathlib import Path

from report_parts import curator

import tacit
from tacit.outsource.curator import page as curator_page
from tacit.outsource.curator.rows import PrivateAnswers
from tacit.outsource.curator.tokens import Tokens


def test_a_curators_page_holds_no_exact_answer_and_no_secret(tmp_path: Path) -> None:
    text = curator_page.study_page(curator_page.StudyStatus.of_folder(curator(tmp_path))).html()
    exact = {f"{0.4711 + k / 1000:.4g}" for k in range(40)} | {"0.4711"}
    assert not any(value in text for value in exact)
    with Tokens(tmp_path, environment="") as tokens:
        grants = tokens.grants()
    assert grants
    assert not any(grant.hash in text for grant in grants)
    assert "s content and no exact answer is on this page" in text
    for shown in ("7 of 20 queries answered", "alice", "revoked 20", "unconditional", "conditional", "standard"):
        assert shown in text
    assert [int(n) for n in re.findall(r"<td>(\d+)</td><td>20", text)] == [7, 6, 5, 4, 3, 2, 1]


def test_a_private_page_says_so_first_and_shows_the_answers(tmp_path: Path) -> None:
    text = curator_page.study_page(curator_page.StudyStatus.of_folder(curator(tmp_path)), private=True).html()
    assert "PRIVATE: this page shows exact answers" in text
    assert text.index("PRIVATE:") < text.index("What was published")
    assert "0.4741" in text  # row 3


def test_noisy_answers_are_shown_as_the_modelers_were_told_them(tmp_path: Path) -> None:
    text = curator_page.study_page(
        curator_page.StudyStatus.of_folder(curator(tmp_path, answers=PrivateAnswers((0.0, 1.0), tacit.Budget.gdp(0.5))))
    ).html()
    assert "Answers carry their noise" in text
    assert "<svg" in text
    assert "exact answers" not in text
