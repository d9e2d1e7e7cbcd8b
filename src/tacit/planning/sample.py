"""When a random part of the records is enough: its noise and its sampling error against what settings differ by."""

from __future__ import annotations

import math

from tacit.methods.forecast import PlanInput

SHARE = 500  # noise and sampling error together are at most the spread over this
WORTH = 10  # times cheaper, or nothing is said


def find_sample(case: PlanInput) -> int | None:
    """The least power of ten of records that is enough, if all of them are at least ten times as many.

    A mean over m records is off by at most w / (2 sqrt(m)), a standard deviation, and carries the noise of m records.
    Nothing is said of pure budgets, under which no observation with Gaussian noise can be made.

    >>> from tacit.privacy.guarantee import Budget
    >>> find_sample(PlanInput(10**9, 50, 2, Budget.approximate(1.0, 1e-9), 0.1))
    10000000
    """
    if case.budget.notion == "pure":
        return None
    size = 10
    while size * WORTH <= case.records:
        if math.hypot(*errors_of(case, size)) <= case.spread / SHARE:
            return size
        size *= 10
    return None


def errors_of(case: PlanInput, records: int) -> tuple[float, float]:
    """Standard deviations of one observation over so many records: of its noise, and of which records they are."""
    return case.with_records(records).terms().mechanism().scale, case.width / (2 * math.sqrt(records))


def describe_sample(case: PlanInput) -> list[str]:
    """In words, if a sample is enough."""
    size = find_sample(case)
    if size is None:
        return []
    (noise, error), (all_noise, all_error) = errors_of(case, size), errors_of(case, case.records)
    share = 100 * size / case.records
    return [
        f"a random {size:,} of the {case.records:,} records are enough, at {share:.2g}% of the cost: noise {noise:.1g} "
        f"and a sampling error of at most {error:.1g} an evaluation, against {all_noise:.1g} and {all_error:.1g} with "
        f"all of them and settings that differ by {case.spread:.2g}. Draw them by a public seed; the guarantee is the "
        "same"
    ]
