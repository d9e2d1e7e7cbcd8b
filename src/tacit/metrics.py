"""Metrics by name; ``tacit.metrics`` is the public name of ``tacit.data.metrics``."""

from tacit.data.metrics import *  # noqa: F403
from tacit.data.metrics import __all__ as __all__
