"""The public name of ``tacit.data.schema``, which models and scripts of earlier releases import."""

from tacit.data.schema import Column, Schema

__all__ = ["Column", "Schema"]
