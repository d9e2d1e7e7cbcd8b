"""What every store of claims obeys. A suite inherits ``ClaimsLaws`` and says by a fixture which kind it is."""

from __future__ import annotations

import json
import pickle
import shutil
import signal
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from claims_stores import (
    PIECE,
    STEPS,
    Dying,
    Kind,
    T,
    draw_and_die,
    draw_given,
    draw_in_a_process,
    draw_pickled,
    fork,
    is_taken,
    run_child,
    whole_draws,
)

from tacit.errors import BadInput, BudgetRefused, LedgerError
from tacit.privacy.claims import Claims
from tacit.privacy.release import Release, digest

PAYING = pytest.mark.parametrize("paying", [True, False], ids=["ledger", "no ledger"])


class ClaimsLaws:
    """Each test takes ``kind``, a kind of store at a fresh place."""

    # Pay, claim, draw

    def test_the_debit_and_the_claim_are_there_before_the_draw(self, kind: Kind) -> None:
        seen = []
        with kind.ledger() as ledger:
            claims, note = kind.open(ledger), kind.note

            def look(total: int) -> float:
                seen.append((len(ledger.entries()), claims.store.count_claims()))
                return note(total)

            kind.note = look  # type: ignore[method-assign]
            assert len(kind.draw_all(claims, 3)) == 3
        hidden = claims.store.hidden  # such a store is claimed when it holds the value, which nobody saw before
        assert seen == [(1, i + (not hidden)) for i in range(3)]

    def test_nothing_is_drawn_when_the_debit_fails(self, kind: Kind) -> None:
        with kind.ledger(mu=0.1) as poor, pytest.raises(BudgetRefused, match="Nothing was released"):
            kind.open(poor)
        with kind.ledger(name="shared") as ledger:
            claims = kind.open(ledger)
            while ledger.can_afford(claims.promise.guarantee):
                ledger.charge(claims.promise.guarantee, "others")
            with pytest.raises(BudgetRefused, match="Nothing was released"):
                kind.draw(claims)
            assert (kind.drawn, claims.store.count_claims()) == (0, 0)

    def test_an_evaluation_that_fails_costs_and_claims_nothing(self, kind: Kind) -> None:
        def fails() -> int:
            raise ZeroDivisionError

        with kind.ledger() as ledger:
            claims = kind.open(ledger)
            with pytest.raises(ZeroDivisionError):
                claims.draw(kind.key(claims, 0), fails, kind.note)
            assert (ledger.entries(), claims.store.count_claims(), kind.drawn) == ([], 0, 0)

    def test_samplers_are_loaded_before_a_claim(self, kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
        def stops() -> None:
            raise KeyboardInterrupt

        with kind.ledger() as ledger:
            claims = kind.open(ledger)
            with monkeypatch.context() as slow:
                slow.setattr("tacit.privacy.claims.load_samplers", stops)
                with pytest.raises(KeyboardInterrupt):
                    kind.draw(claims)
            assert (ledger.entries(), claims.store.count_claims(), kind.drawn) == ([], 0, 0)
            assert len(kind.draw_all(claims)[:T]) == T

    @PAYING
    def test_no_more_is_drawn_than_was_promised_and_nothing_twice(self, paying: bool, kind: Kind) -> None:
        claims = kind.open(kind.ledger() if paying else None)
        first = kind.draw_all(claims, T)
        assert len(set(first)) == kind.drawn == T == claims.store.count_claims()
        again = kind.draw_all(claims, T)
        assert kind.drawn == T
        assert again == ([] if claims.store.shared else first)
        if paying:
            assert kind.charges() == 1

    # Resume

    @PAYING
    def test_a_resumed_run_has_the_same_values_and_pays_once(self, paying: bool, kind: Kind) -> None:
        made: list[Any] = []
        for _ in range(T):
            claims = kind.open(kind.ledger() if paying else None)
            if not claims.store.shared:
                assert kind.draw_all(claims, len(made)) == made
            made.append(kind.draw(claims, len(made)))
            kind.close(claims.store)
        assert kind.drawn == T
        claims = kind.open(kind.ledger() if paying else None)
        assert claims.store.count_claims() == T
        if claims.store.shared:
            with pytest.raises(BudgetRefused, match="4 observations were paid for and all are used"):
                kind.draw(claims, T)
            assert [t.value for t in claims.store.study.trials if t.value is not None] == made  # type: ignore[attr-defined]
        if paying:
            assert kind.charges() == 1

    def test_a_ledger_that_is_named_later_is_charged_for_what_was_drawn(self, kind: Kind) -> None:
        claims = kind.open()
        kind.draw_all(claims, 2)
        kind.close(claims.store)
        kind.close(kind.open(kind.ledger()).store)
        assert kind.charges() == 1
        claims = kind.open(kind.ledger())
        kind.draw_all(claims, T)
        assert (kind.drawn, kind.charges()) == (T, 1)

    def test_a_run_states_what_was_charged_though_words_have_changed_since(
        self, kind: Kind, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        old, new = (replace(PIECE, assumptions=(w,), source=w, premises=(w,)) for w in ("old words", "new words"))
        monkeypatch.setattr("claims_stores.PIECE", old)
        claims = kind.open(kind.ledger())
        assert claims.guarantee.source == "old words"
        kind.draw(claims)
        if kind.durable:
            kind.close(claims.store)
            monkeypatch.setattr("claims_stores.PIECE", new)
            claims = kind.open(kind.ledger())
            kind.draw(claims, 1)
        payment = claims.payment
        assert payment is not None
        if claims.store.hidden and kind.draws == 1:
            return
        claims.settle(digest(1.0))
        certificate = Release(1.0, claims.guarantee, payment).certificate()
        assert certificate["guarantee"] == json.loads(json.dumps(old.to_json()))
        with kind.ledger() as ledger:
            assert ledger.verify_certificate(certificate).paid

    def test_other_terms_and_another_ledger_are_refused(self, kind: Kind) -> None:
        with kind.ledger() as first, kind.ledger(name="second") as second:
            claims = kind.open(first)
            kind.draw(claims)
            if claims.store.hidden:  # a curator's terms are compared by its state, and each ledger pays for all
                return
            with pytest.raises(BadInput, match=r"begun under other terms: draws was 4, now 7.*new study"):
                kind.open(first, terms={"draws": 7})
            with pytest.raises(LedgerError, match="that payment is of ledger 'l'"):
                kind.open(second)
            assert (kind.drawn, second.entries()) == (1, [])

    def test_a_run_that_was_paid_for_draws_nothing_without_its_ledger(self, kind: Kind) -> None:
        beside = kind.open() if kind.shared else None  # begun before anybody pays
        if beside is not None:
            kind.draw(beside, 0)
        claims = kind.open(kind.ledger())
        kind.draw(claims, 1)
        made = kind.drawn
        kind.close(claims.store)
        if claims.store.hidden:  # a curator without a ledger is another curator
            return
        for other in (beside, kind.open()):
            with pytest.raises(LedgerError, match=r"was paid for by ledger 'l'.*Give that ledger.*Nothing was drawn"):
                kind.draw(other, 2)  # type: ignore[arg-type]
        assert kind.drawn == made

    # Kill -9

    @pytest.mark.parametrize("step", STEPS)
    def test_a_killed_run_goes_on_without_paying_or_drawing_twice(self, step: str, kind: Kind) -> None:
        if not kind.durable:
            return
        ended = run_child(draw_and_die, kind, step)
        claims = kind.open(kind.ledger())
        assert ended == (-signal.SIGKILL if is_taken(step, hidden=claims.store.hidden) else 0)
        self.goes_on(kind, claims, step)

    def goes_on(self, kind: Kind, claims: Claims, step: str) -> None:
        """After what happened at the step, the run draws what is left of it and no more, for one payment."""
        made, lost = whole_draws(step), claims.store.count_claims() - whole_draws(step)
        assert 0 <= lost <= 1
        before = kind.drawn
        assert before in (made, made + 1)
        kind.draw_all(claims, T)
        redrawn = before == made + 1 and lost == 0  # only what nobody saw may be drawn again
        assert redrawn <= claims.store.hidden
        assert kind.drawn <= T + redrawn
        assert claims.store.count_claims() >= T  # those that were refused are claimed too
        assert kind.charges() == 1

    def test_a_first_draw_that_is_unlike_the_others_is_not_made_twice(self, kind: Kind) -> None:
        if not kind.durable:
            return
        with kind.ledger() as ledger:
            claims = kind.open(ledger)
            claims.begin()  # paid for; a copy from before that is a new run, which pays for itself
            kind.close(claims.store)
            saved = kind.save()
            claims = kind.open(ledger)
            claims.draw(kind.key(claims, 0), lambda: 0, kind.note, first=True)
            kind.close(claims.store)
            kind.put_back(saved)
            if claims.store.hidden:
                return
            claims = kind.open(ledger)
            with pytest.raises(LedgerError, match="an older copy was put back"):
                claims.draw(kind.key(claims, 0), lambda: 0, kind.note, first=True)
        assert kind.drawn == 1

    # Threads, processes, forks

    @PAYING
    def test_threads_draw_no_more_than_was_promised(self, paying: bool, kind: Kind) -> None:
        if not kind.shared:
            return
        claims, start = kind.open(kind.ledger() if paying else None), threading.Barrier(6)

        def work() -> None:
            start.wait(120)
            kind.draw_all(claims)

        threads = [threading.Thread(target=work) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        named = not claims.store.shared
        assert kind.drawn <= T + 2 * named  # draw_all asks for two names more
        assert kind.drawn >= T
        if paying:
            assert kind.charges() == 1

    @PAYING
    def test_processes_that_start_together_draw_no_more_than_was_promised_and_pay_once(
        self, paying: bool, kind: Kind
    ) -> None:
        if not kind.durable:
            return
        start = fork.Barrier(3)
        children = [fork.Process(target=draw_in_a_process, args=(kind, paying, start)) for _ in range(3)]
        for child in children:
            child.start()
        for child in children:
            child.join()
        assert [child.exitcode for child in children] == [0, 0, 0]
        assert kind.drawn <= T + 2 * (kind.draws is None)
        if paying:
            assert kind.drawn >= 1
            assert kind.charges() == 1

    @PAYING
    def test_forks_draw_no_more_than_was_promised(self, paying: bool, kind: Kind) -> None:
        claims = kind.open(kind.ledger() if paying else None)
        kind.draw(claims, 0)
        for _ in range(3):
            if kind.forks:
                assert run_child(draw_given, kind, claims) == 0
            if not kind.durable:
                assert kind.drawn == 1
        kind.draw_all(claims, T)
        assert kind.drawn <= T + 2 * (kind.draws is None)

    # Copies

    @PAYING
    def test_a_pickled_run_draws_no_more_than_was_promised(self, paying: bool, kind: Kind) -> None:
        if not kind.pickles:
            return
        claims = kind.open(kind.ledger() if paying else None)
        kind.draw(claims, 0)
        pickled = pickle.dumps(claims)
        for _ in range(4):
            kind.draw_all(pickle.loads(pickled), 3)
        assert run_child(draw_pickled, kind, pickled) == 0
        if not kind.durable:
            assert kind.drawn == 1  # the copies drew nothing, and said why
            with pytest.raises(BadInput, match=r"is a copy.*belongs in a database.*Nothing was drawn"):
                kind.draw(pickle.loads(pickled), 1)
        kind.draw_all(claims, T)
        assert kind.drawn <= T + 2 * (kind.draws is None)

    @PAYING
    def test_a_copied_run_draws_nothing(self, paying: bool, kind: Kind, tmp_path: Path) -> None:
        if not kind.copies:
            return
        claims = kind.open(kind.ledger() if paying else None)
        kind.draw_all(claims, 2)
        kind.close(claims.store)
        for i in range(5):
            (tmp_path / str(i)).mkdir()
            copy = kind.copy(tmp_path / str(i))
            if paying or not claims.store.hidden:  # without a ledger a curator's copy is a second curator
                with pytest.raises(BadInput, match=r"copy.*Nothing was drawn"):
                    copy.draw(copy.open(kind.ledger() if paying else None), 3)
                assert copy.drawn == 0
        claims = kind.open(kind.ledger() if paying else None)
        kind.draw_all(claims, T)
        assert kind.drawn == T

    @PAYING
    def test_a_run_that_was_moved_goes_on_with_its_ledger(self, paying: bool, kind: Kind, tmp_path: Path) -> None:
        if not kind.durable or kind.url:
            return
        claims = kind.open(kind.ledger() if paying else None)
        kind.draw_all(claims, 2)
        kind.close(claims.store)
        shutil.move(kind.folder, tmp_path / "moved")
        moved = type(kind)(tmp_path / "moved")
        claims = moved.open(moved.ledger() if paying else None)
        if not paying and not claims.store.hidden:
            with pytest.raises(BadInput, match="goes on with the ledger that paid for it"):
                moved.draw(claims, 2)
            return
        moved.draw_all(claims, T)
        assert moved.drawn == T

    def test_a_moved_run_goes_on_though_another_has_taken_its_place(self, kind: Kind, tmp_path: Path) -> None:
        if not kind.durable or kind.url:
            return
        ledger = kind.ledger(name="elsewhere")
        claims = kind.open(ledger)
        kind.draw_all(claims, 2)
        kind.close(claims.store)
        for name in [p.name for p in kind.folder.iterdir() if "ledger" not in p.name]:
            (tmp_path / "moved").mkdir(exist_ok=True)
            shutil.move(kind.folder / name, tmp_path / "moved" / name)
        other = kind.open()
        kind.draw(other, 0)
        moved = type(kind)(tmp_path / "moved")
        moved.draw_all(moved.open(ledger), T)
        assert moved.drawn == T

    def test_an_older_copy_that_is_put_back_draws_nothing_that_was_drawn(self, kind: Kind) -> None:
        if not kind.durable:
            return
        with kind.ledger() as ledger:
            claims = kind.open(ledger)
            kind.draw_all(claims, 2)
            kind.close(claims.store)
            saved = kind.save()
            claims = kind.open(ledger)
            kind.draw(claims, 2)
            kind.close(claims.store)
            made = kind.drawn
            kind.put_back(saved)
            claims = kind.open(ledger) if claims.store.shared else self.refused(kind)
            if claims is not None:
                kind.draw_all(claims, T + 2)
                assert kind.drawn == T  # what was forgotten is lost
            else:
                assert kind.drawn == made
            assert kind.charges() == 1

    def refused(self, kind: Kind) -> None:
        """A run whose draws have names is refused: which ones it forgot is not known."""
        with pytest.raises(LedgerError, match="an older copy was put back"):
            kind.draw(kind.open(kind.ledger()), 3)

    def test_an_older_copy_of_a_released_run_is_refused(self, kind: Kind) -> None:
        if not kind.durable:
            return
        with kind.ledger() as ledger:
            claims = kind.open(ledger)
            kind.draw_all(claims, 2)
            kind.close(claims.store)
            saved = kind.save()
            claims = kind.open(ledger)
            kind.draw_all(claims, T)
            claims.settle("0" * 64)
            kind.close(claims.store)
            made = kind.drawn
            kind.put_back(saved)
            with pytest.raises(LedgerError, match="an older copy was put back"):
                kind.draw(kind.open(ledger), 3)
            assert kind.drawn == made

    # What the suite itself does

    def test_a_store_that_forgets_a_claim_is_found_out(self, kind: Kind) -> None:
        """The suite can fail: without the claim, a shared run draws more than was promised."""

        class Forgetful(Dying):
            def claim(self, key: Any, most: int | None) -> None: ...

        if kind.draws is None:
            return
        claims = kind.open()
        claims.store = Forgetful(claims.store, "")
        kind.draw_all(claims, T + 2)
        assert kind.drawn > T
