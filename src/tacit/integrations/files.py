"""Where scripts that earlier releases wrote find ``read_table``."""

from tacit.data.files import read_table

__all__ = ["read_table"]
