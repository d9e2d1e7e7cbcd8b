"""The command `tacit`: parse, call, print; one file per verb."""

from tacit.cli.main import app, main

__all__ = ["app", "main"]
