"""Samplers for studies of Optuna."""

from tacit.integrations.samplers import KnownNoiseSampler
from tacit.pareto.sampler import DParetoSampler

__all__ = ["DParetoSampler", "KnownNoiseSampler"]
