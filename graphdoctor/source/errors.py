"""What is wrong with a source file, in one line for the user."""

from __future__ import annotations


class SourceError(Exception):
    """A file that cannot be analysed; the text is one line for the user."""
