"""Results that a notebook draws as their pages do."""

from __future__ import annotations

import importlib


class DrawnInNotebooks:
    """A notebook asks for HTML; the drawing is looked up by name, since pages stand above what they show."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        return str(importlib.import_module("tacit.report.notebook").draw(self))
