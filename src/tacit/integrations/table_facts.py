"""What may be said of a table before anything is spent: by its training rows, its names and its size alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from tacit.errors import BadInput
from tacit.schema.cells import distinct, read_cells, read_numbers

FEW, MANY = 10, 30  # distinct whole numbers: as many are classes, more are amounts; between them it is not clear


class TaskUnclear(BadInput):
    """The target may be classes or amounts: somebody has to say which."""


def judge_task(target: str, answers: Any) -> str:
    """classification or regression, by how many distinct values the target has in training rows and of which kind.

    Words are classes, unless there are as many as rows. Whole numbers are classes up to 10, amounts from 31. Numbers
    with fractions are amounts, unless there are few.

    >>> judge_task("price", [float(i) for i in range(100)]), judge_task("sick", ["no", "yes"] * 50)
    ('regression', 'classification')
    """
    cells = read_cells(answers)
    numbers, strange = read_numbers(cells)
    if strange.any():
        many = len(set(map(str, distinct(cells)[0].tolist())))
        if many > max(MANY, len(cells) // 5):
            raise TaskUnclear(_ask(target, f"{many} distinct words in {len(cells)} training rows"))
        return "classification"
    values = np.unique(numbers)
    whole, many = bool((values % 1 == 0).all()), len(values)
    if whole and many <= FEW:
        return "classification"
    if many > MANY:
        return "regression"
    raise TaskUnclear(_ask(target, f"{many} distinct {'whole ' * whole}numbers in {len(cells)} training rows"))


def _ask(target: str, seen: str) -> str:
    return (
        f"{target!r} has {seen}: are these classes or amounts? Give task='classification' or 'regression' (--task). "
        "Nothing was spent"
    )
