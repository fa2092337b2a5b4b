"""The error for source files that cannot be analysed."""

from __future__ import annotations


class SourceError(Exception):
    """A file that cannot be analysed; the text is one line for the user."""
