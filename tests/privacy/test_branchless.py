"""Choices without a branch."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tacit.privacy.branchless import flush

FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(FLOATS, min_size=1, max_size=9), st.floats(min_value=1e-300, allow_nan=False))
def test_what_is_nearer_to_zero_is_zero_and_the_rest_is_as_it_was(values: list[float], least: float) -> None:
    assert flush(np.array(values), least).tolist() == [v if abs(v) >= least else 0.0 for v in values]
